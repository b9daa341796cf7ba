import type { ApiParameter, JsonSchema } from '../../schemas/openapi.ts';

const text: JsonSchema = { type: 'string' };
const seconds: JsonSchema = { type: 'integer', minimum: 0 };

const header = (description: string, schema: JsonSchema = text) => ({ description, schema });

const ofService = header(
  "this header field of the service's answer; `response_headers` of the intent names further ones. Each has at most 1 KB, all together 4 KB",
);

export const responseHeaders = {
  'X-Request-Id': header('identifies this request in the logs; equals `details.request_id` of an error'),
  ETag: header('the revision of the content, for `If-None-Match` and `If-Match`'),
  Link: header('`next` and `prev` pages (RFC 8288)'),
  Location: header('address of the new record'),
  'Retry-After': header('seconds to wait before trying again', seconds),
  RateLimit: header(
    'an item for each applicable limit, the scarcest first; `r`: remaining calls of this kind, `t`: seconds until there are more, absent if never (draft-ietf-httpapi-ratelimit-headers)',
  ),
  'RateLimit-Policy': header(
    'an item for each applicable limit; `q`: the quota in calls of this kind, `w`: the length of the window in seconds',
  ),
  'Budget-Warning': header(
    'an item for each budget of which at least 80 % is used: the amounts `used` and `budget`, in the currency `unit`',
  ),
  'Answer-Issues': header(
    "JSON pointers, separated by commas, to the places in the service's answer that do not match `output_parameters`; the call was executed",
  ),
  'Answer-Cut': header(
    'only if the answer was truncated to `max_bytes`; `at`: JSON pointer to the first omitted item or member, or to the truncated string, `total`: total number of items, members or characters',
  ),
  'Upstream-Status': header("the status of the service's answer", { type: 'integer' }),
  'Upstream-Location': ofService,
  'Upstream-Link': ofService,
  'Upstream-ETag': ofService,
  'Upstream-Operation-Location': ofService,
  'Upstream-Cut': header('names of header fields that were left out, or shortened in the case of `Link`, because they are too long'),
  'Execution-Id': header('identifies this execution, for the agent and for the operators of the upstream'),
  'Execution-Receipt': header(
    'a receipt for the execution, from gates that issue receipts: a compact JWS, added to the log at `/log` within five minutes',
  ),
  'Execution-Receipt-Salts': header(
    'the salts of `parameters_digest` and `answer_digest` in the receipt, in base64url, separated by a dot',
  ),
  'Idempotent-Replayed': header('`true` if this is the response to an earlier request with the same `Idempotency-Key`'),
  'WWW-Authenticate': header('the required credential (RFC 6750); API Gateway renames this header to `x-amzn-Remapped-WWW-Authenticate`'),
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
  'If-None-Match': parameter('If-None-Match', 'the `ETag` of your copy: 304 if it is still current'),
  'If-Match': parameter(
    'If-Match',
    'the `ETag` that you read, or the `digest` of an intent in quotation marks: 409 if the record has changed since',
  ),
  'Idempotency-Key': parameter(
    'Idempotency-Key',
    'a string of your choice, unique to this request. If the request is repeated with the same key within 24 hours, the response is the same, and nothing is executed twice; if the endpoint answered 429, the request is executed now.',
    { type: 'string', minLength: 1, maxLength: 255, pattern: '^[\\x21-\\x7e]+$' },
  ),
  Prefer: parameter(
    'Prefer',
    '`respond-async` (RFC 7240): answer 202 immediately and make the call in the background, where it may take ten minutes; needs an `Idempotency-Key`',
  ),
  DPoP: parameter('DPoP', 'a proof of possession of the agent key (RFC 9449); a PAT that was issued with a proof must be used with one'),
  traceparent: parameter('traceparent', 'your position in a trace (W3C Trace Context), which is logged and propagated to the endpoint'),
  tracestate: parameter('tracestate', 'forwarded with `traceparent`'),
};

export type RequestHeader = keyof typeof requestHeaders;
