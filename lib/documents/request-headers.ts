import type { ApiParameter, JsonSchema } from '../../schemas/openapi.ts';

const parameter = (name: string, description: string, schema: JsonSchema = { type: 'string' }): ApiParameter => ({
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
  'Import-Id': parameter('Import-Id', 'an id of your choice for all requests of one import: its changes are shown and undone together', {
    type: 'string',
    maxLength: 64,
    pattern: '^[\\w-]+$',
  }),
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
