import type { ApiParameter, JsonSchema } from '../../schemas/openapi.ts';

const text: JsonSchema = { type: 'string' };
const seconds: JsonSchema = { type: 'integer', minimum: 0 };

const header = (description: string, schema: JsonSchema = text) => ({ description, schema });

export const responseHeaders = {
  'X-Request-Id': header('identifies this request in the logs; `details.request_id` of an error is the same'),
  ETag: header('the revision of the content, for `If-None-Match` and `If-Match`'),
  Link: header('`next` and `prev` pages (RFC 8288)'),
  Location: header('address of the new record'),
  'Retry-After': header('seconds to wait before trying again', seconds),
  RateLimit: header(
    'an item for each limit that applies, the scarcest first; `r`: how many more calls such as this one are possible, `t`: seconds until there are more, absent if never (draft-ietf-httpapi-ratelimit-headers)',
  ),
  'RateLimit-Policy': header(
    'an item for each limit that applies; `q`: the quota in calls such as this one, `w`: the length of the window in seconds',
  ),
  'Budget-Warning': header(
    'an item for each budget of which four fifths are used: how much is `used` of the `budget`, in units of the currency `unit`',
  ),
  'Answer-Issues': header(
    "JSON pointers, separated by commas, to what of the service's answer does not match `output_parameters`; the call was executed",
  ),
  'Answer-Cut': header(
    'only if the answer was cut to `max_bytes`; `at`: JSON pointer to the first item or member that was left out, or to the text that was cut, `total`: how many items, members or characters there are in all',
  ),
  'Execution-Id': header('identifies this execution, for the agent and for the operators of the upstream'),
  'Execution-Receipt': header('a receipt for the execution: a compact JWS, which goes into the log at `/log` within five minutes'),
  'Execution-Receipt-Salts': header(
    'the salts, in base64url and separated by a dot, of the digests of parameters and answer in the receipt',
  ),
  'Idempotent-Replayed': header('`true` if the answer is that of an earlier request with the same `Idempotency-Key`'),
  'WWW-Authenticate': header(
    'which credential is required (RFC 6750); the REST API of AWS sends it under the name `x-amzn-Remapped-WWW-Authenticate`',
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

export const requestHeaders = {
  'If-None-Match': parameter('If-None-Match', 'the `ETag` of a copy that you have: 304 if it is still current'),
  'If-Match': parameter(
    'If-Match',
    'the `ETag` that you read, or the `digest` of an intent in quotation marks: 409 if the record has changed since',
  ),
  'Idempotency-Key': parameter(
    'Idempotency-Key',
    'a text of your choice for this one request. If it is sent again within 24 hours, the answer is the same, and nothing is executed twice; if the endpoint answered 429, it is executed now.',
    { type: 'string', minLength: 1, maxLength: 255, pattern: '^[\\x21-\\x7e]+$' },
  ),
  Prefer: parameter(
    'Prefer',
    '`respond-async` (RFC 7240): answer 202 at once, and make the call, which may then take ten minutes; needs an `Idempotency-Key`',
  ),
  DPoP: parameter('DPoP', 'a proof of possession of the agent key (RFC 9449); a PAT that was issued with a proof must be used with one'),
  traceparent: parameter(
    'traceparent',
    'your position in a trace (W3C Trace Context), which is logged and continued in the call of the endpoint',
  ),
  tracestate: parameter('tracestate', 'passed on with `traceparent`'),
};

export type RequestHeader = keyof typeof requestHeaders;
