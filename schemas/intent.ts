import * as z from 'zod';
import { answerHeaderName } from './header.ts';
import { digestIntent, intentDigest } from './intent-digest.ts';
import { intentUid, splitIntentUid } from './intent-uid.ts';
import { jsonPointer, jsonPointers } from './json-pointer.ts';
import { acceptedMediaTypes, bodyMediaType } from './media-type.ts';
import { parameterSummary, parameters, recordedParameter, summarizeParameter } from './parameter.ts';
import { description, name } from './text.ts';

export const methods = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH'] as const;

export const maxResponseHeaders = 50;

/** The target of an intent's calls. The URL may contain RFC 6570 expressions, `{name}` and `{?name}`. */
export const endpoint = z.strictObject({
  method: z.enum(methods),
  url: z.string().min(1).max(2048),
  content_type: bodyMediaType.default('application/json'),
  body: name(200)
    .nullable()
    .optional()
    .describe('the input parameter that forms the whole body, or null for no body; the other parameters then go into the query'),
  response_headers: z
    .array(answerHeaderName)
    .max(maxResponseHeaders)
    .optional()
    .describe(
      "header fields of the service's answer that agents get as Upstream-<name>, besides Location, Link, ETag and Operation-Location",
    ),
  optional_body: z.literal(true).optional().describe('without any parameter in the body, no body is sent, and none of them is required'),
  accept: acceptedMediaTypes.optional().describe('default: application/json, */*;q=0.1'),
  idempotency_key: z
    .strictObject({
      required: z.literal(true).optional().describe('calls without an Idempotency-Key are refused'),
      format: z.literal('uuid').optional().describe("the service gets a UUID (version 8) instead of the digest of the agent's key"),
    })
    .optional(),
  mcp: z
    .strictObject({
      tool: z.string().min(1).max(256),
      headers: z
        .record(
          z
            .string()
            .max(100)
            .regex(/^[\w!#$%&'*+.^`|~-]+$/),
          jsonPointer,
        )
        .optional()
        .describe('arguments that calls also carry in header fields: the name after Mcp-Param-, and the JSON pointer to the argument'),
    })
    .optional()
    .describe('the url is that of an MCP server, and the parameters are the arguments of this tool'),
});

export type IntentEndpoint = z.infer<typeof endpoint>;

/** An endpoint in requests; a URL alone means POST with application/json. */
const endpointInput = z.union([
  endpoint.shape.url.transform((url): IntentEndpoint => ({ url, method: 'POST', content_type: 'application/json' })),
  endpoint,
]);

export const maxTags = 50;

const tag = name(64).refine((text) => !text.includes(','), 'must not contain a comma, which separates tags in a search');

/** The body of create and update intent (endpoints 11 and 12). */
export const intentInput = z
  .strictObject({
    intent_uid: intentUid,
    intent_name: name(200),
    description,
    input_parameters: parameters,
    output_parameters: parameters,
    endpoint: endpointInput,
    tags: z.array(tag).max(maxTags, `must have at most ${maxTags} tags`).optional(),
    category: name(200).optional(),
    version: z
      .string()
      .max(200)
      .regex(/^v[0-9]+([.][0-9]+)*$/, 'must be v and numbers separated by dots, for example v1.2')
      .optional(),
    deprecated: z.boolean().optional(),
    fields: jsonPointers.optional().describe("JSON pointers to the members of the service's answer that agents may get; default: all"),
    strict: z
      .boolean()
      .optional()
      .describe(
        'true: an answer that does not match output_parameters is replaced by 502, although the call was executed; false: it is passed on',
      ),
    draft: z.boolean().optional().describe('true: hidden from agents, who cannot find, list or execute it'),
  })
  .superRefine((intent, context) => {
    if (intent.version !== undefined && intent.version !== splitIntentUid(intent.intent_uid).version) {
      context.addIssue({ code: 'custom', path: ['version'], message: 'must equal the version at the end of intent_uid, or be left out' });
    }
  })
  .meta({ id: 'IntentInput', description: 'The body that creates or replaces an intent.' });

export type IntentInput = z.infer<typeof intentInput>;

const terms = z.array(z.string()).describe('what the usage policy states about this intent in particular, in plain sentences');

const paused = z.literal(true).describe('present while an admin has paused the service: executions are refused (503)');

export const health = z
  .strictObject({
    calls: z.int().min(0).describe("calls of the intent's endpoint"),
    failures: z.int().min(0).describe('calls without an answer, or answered with 401, 403, 429 or 5xx'),
    p95_ms: z.int().optional().describe('95 % of the answers took at most this many milliseconds; absent if it is above 10,000'),
    since: z.iso.datetime(),
  })
  .describe('how calls of the last 24 hours have fared, with the setting `showHealth` and at least 20 calls by at least three agents')
  .meta({ id: 'IntentHealth' });

export type IntentHealth = z.infer<typeof health>;

/** The body that replaces an intent. Read-only members of the full view are accepted if they are unchanged. */
export const intentUpdate = intentInput
  .safeExtend({
    intent_id: z.string().optional().describe('must be the intent_uid'),
    service_id: z.string().optional().describe('must be that of the record'),
    service_name: z.string().optional().describe('must be that of the service'),
    digest: z.string().optional().describe('must be that of the current record'),
    terms: terms.optional().describe('ignored, because it comes from the policy'),
    paused: paused.optional().describe('ignored, because it comes from the service'),
    health: health.optional().describe('ignored, because it is measured'),
  })
  .meta({ id: 'IntentUpdate', description: 'The body that replaces an intent, as GET with `view=full` returns it.' });

/** A registered intent with its service. */
export interface Intent extends IntentInput {
  service_id: string;
}

/** What search and details return (endpoints 1 and 2). */
export const intentDetails = z
  .strictObject({
    intent_uid: intentUid,
    service_name: z.string(),
    intent_name: z.string(),
    description: z.string(),
    input_parameters: z.array(parameterSummary),
    output_parameters: z.array(parameterSummary),
    endpoint: z
      .string()
      .meta({ format: 'uri' })
      .describe('a URI: placeholders in the path are percent-encoded, those in the query omitted'),
    tags: z.array(z.string()),
    digest: intentDigest,
  })
  .meta({ id: 'Intent', description: 'An intent in search results and details.' });

export type IntentDetails = z.infer<typeof intentDetails>;

/** A URL template as a URI (RFC 3986), without braces: `/countries/{code}{?view}` is `/countries/%7Bcode%7D`. */
const toUri = (template: string): string =>
  template
    .replace(/\{[?&][^{}]*\}/g, '')
    .replaceAll('{', '%7B')
    .replaceAll('}', '%7D');

/** @param digest - of the intent, if known */
export const toIntentDetails = (intent: IntentInput, serviceName: string, digest = digestIntent(intent)): IntentDetails => ({
  intent_uid: intent.intent_uid,
  service_name: serviceName,
  intent_name: intent.intent_name,
  description: intent.description,
  input_parameters: intent.input_parameters.map(summarizeParameter),
  output_parameters: intent.output_parameters.map(summarizeParameter),
  endpoint: toUri(intent.endpoint.url),
  tags: intent.tags ?? [],
  digest,
});

/** The response of `GET /api/intents/{intent_uid}`. */
export const describedDetails = intentDetails
  .extend({ terms: terms.optional(), paused: paused.optional(), health: health.optional() })
  .meta({ id: 'IntentWithTerms', description: 'An intent, the terms of the policy for it, and whether its service is paused.' });

export const viewQuery = z.object({
  view: z.enum(['full', 'details']).default('details').describe('full adds constraints, method, category, version, deprecated and draft'),
});

/** The full intent schema: `GET /api/intents/{intent_uid}?view=full`. */
export const fullIntent = intentDetails
  .extend({
    terms: terms.optional(),
    paused: paused.optional(),
    health: health.optional(),
    intent_id: intentUid,
    service_id: z.string(),
    input_parameters: z.array(recordedParameter),
    output_parameters: z.array(recordedParameter),
    endpoint,
    category: z.string().optional(),
    version: z.string(),
    deprecated: z.boolean(),
    fields: jsonPointers.optional(),
    strict: z.boolean().optional(),
    draft: z.boolean(),
  })
  .meta({ id: 'FullIntent', description: 'The complete record of an intent.' });

export type FullIntent = z.infer<typeof fullIntent>;

export const toFullIntent = (intent: Intent, serviceName: string): FullIntent => ({
  ...toIntentDetails(intent, serviceName),
  intent_id: intent.intent_uid,
  service_id: intent.service_id,
  input_parameters: intent.input_parameters,
  output_parameters: intent.output_parameters,
  endpoint: intent.endpoint,
  ...(intent.category !== undefined && { category: intent.category }),
  version: splitIntentUid(intent.intent_uid).version,
  deprecated: intent.deprecated ?? false,
  ...(intent.fields !== undefined && { fields: intent.fields }),
  ...(intent.strict && { strict: true }),
  draft: intent.draft ?? false,
});

/** The response of create and update (endpoints 11 and 12). */
export const savedIntent = z
  .strictObject({ intent_id: intentUid, intent_uid: intentUid, intent_name: z.string(), description: z.string() })
  .meta({ id: 'SavedIntent' });

export const toSavedIntent = (intent: Pick<IntentInput, 'intent_uid' | 'intent_name' | 'description'>): z.infer<typeof savedIntent> => ({
  intent_id: intent.intent_uid,
  intent_uid: intent.intent_uid,
  intent_name: intent.intent_name,
  description: intent.description,
});
