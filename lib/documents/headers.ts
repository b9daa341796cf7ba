import type { JsonSchema } from '../../schemas/openapi.ts';
import type { HeaderRow } from '../endpoints/endpoint.ts';
import { declarations } from '../features.ts';

const text: JsonSchema = { type: 'string' };
const seconds: JsonSchema = { type: 'integer', minimum: 0 };

const header = (description: string, schema: JsonSchema = text) => ({ description, schema });

const ofService = header(
  "this header field of the service's answer; `response_headers` of the intent names further ones. Each has at most 1 KB, all together 4 KB",
);

export const responseHeaders: Readonly<Record<string, HeaderRow>> = {
  ...Object.assign({}, ...declarations.map(({ responseHeaders: more }) => more)),
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
  'Answer-Missing': header("those of the requested `fields` at which the service's answer has nothing, separated by commas"),
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
  'Idempotent-Replayed': header('`true` if this is the response to an earlier request with the same `Idempotency-Key`'),
  'WWW-Authenticate': header('the required credential (RFC 6750); API Gateway renames this header to `x-amzn-Remapped-WWW-Authenticate`'),
};
