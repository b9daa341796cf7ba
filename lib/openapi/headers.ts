import type { ApiParameter, JsonSchema } from '../../schemas/openapi.ts';

const text: JsonSchema = { type: 'string' };
const seconds: JsonSchema = { type: 'integer', minimum: 0 };

const header = (description: string, schema: JsonSchema = text) => ({ description, schema });

/** Headers of answers, by name. */
export const responseHeaders = {
  'X-Request-Id': header('names this request in the logs; `details.request_id` of an error is the same'),
  ETag: header('the revision of what was answered, for `If-None-Match` and `If-Match`'),
  Link: header('`next` and `prev` pages (RFC 8288)'),
  Location: header('where the new record is'),
  'Retry-After': header('seconds to wait before trying again', seconds),
  RateLimit: header('`r`: what is left, `t`: seconds until all of it is back (draft-ietf-httpapi-ratelimit-headers)'),
  'RateLimit-Policy': header('`q`: how many, `w`: in any window of so many seconds'),
  'Execution-Id': header('names this execution, for the agent and for the operators of the upstream'),
  'Idempotent-Replayed': header('`true` where the answer is that of an earlier request under the same `Idempotency-Key`'),
  'WWW-Authenticate': header(
    'what credential is wanted (RFC 6750); the REST API of AWS sends it under the name `x-amzn-Remapped-WWW-Authenticate`',
  ),
};

export type ResponseHeader = keyof typeof responseHeaders;

const parameter = (name: string, description: string, schema: JsonSchema = text): ApiParameter => ({
  name,
  in: 'header',
  required: false,
  description,
  schema,
});

/** Headers of requests that are referred to among the components, by name. */
export const requestHeaders = {
  'If-None-Match': parameter('If-None-Match', 'the `ETag` of a copy that you hold: 304 where it is still good'),
  'If-Match': parameter('If-Match', 'the `ETag` that you read: 409 where the record has changed since'),
  'Idempotency-Key': parameter(
    'Idempotency-Key',
    'a text of your own for this one request. Sent again within 24 hours it is answered as before, and nothing is executed twice.',
    { type: 'string', minLength: 1, maxLength: 255, pattern: '^[\\x21-\\x7e]+$' },
  ),
  DPoP: parameter('DPoP', 'a proof of possession of the agent key (RFC 9449); a PAT that was issued with one is used with one'),
};

export type RequestHeader = keyof typeof requestHeaders;
