import { randomUUID } from 'node:crypto';
import * as z from 'zod';
import { executionIdOf, type PendingExecution } from '../../schemas/deferred.ts';
import { executionRequest } from '../../schemas/execution.ts';
import { intentDigest } from '../../schemas/intent-digest.ts';
import { briefPage } from '../../schemas/intent-pages.ts';
import { patRequest } from '../../schemas/pat.ts';
import { searchQuery } from '../../schemas/search.ts';
import { idempotencyKey } from '../core/execution/idempotency-key.ts';
import { unauthorized } from '../core/http/bearer.ts';
import { innerRequest } from '../core/http/inner-request.ts';
import type { ApiRequest } from '../core/http/request.ts';
import type { Action } from '../core/http/serve.ts';
import { signInPath } from '../core/http/sign-in-address.ts';
import { type JsonObject, type JsonValue, parse, parseJson } from '../core/json/json.ts';
import type { FindPolicy } from '../core/policy/policy.ts';
import { ApiError, invalidParameter } from '../core/runtime/api-error.ts';
import { type ClientCapabilities, isLegacyTask } from './client-capabilities.ts';
import { explainPolicy } from './explain-policy.ts';
import { fitHits } from './fit-hits.ts';
import { RpcError } from './json-rpc.ts';
import { remarksOn } from './result.ts';
import type { Tool, ToolAnnotations, ToolOutput } from './tool.ts';

/** The endpoints that implement the tools. */
export interface Endpoints {
  searchIntents: Action;
  getIntent: Action;
  issuePat: Action;
  executeIntent: Action;
  getExecution: Action;
}

/** Models fill in every argument, with '', an empty list or, if schemas are strict, with null. */
const withoutEmpty = (args: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(args).filter(([, value]) => value !== null && value !== '' && !(Array.isArray(value) && value.length === 0)),
  );

/** Models send a list, or one as JSON text, where a text with commas is meant. */
function joinTags({ tags, ...args }: JsonObject): JsonObject {
  const given = typeof tags === 'string' && tags.trimStart().startsWith('[') ? readText(z.array(z.string()), tags) : tags;
  const isList = Array.isArray(given) && given.every((tag) => typeof tag === 'string' && !tag.includes(','));
  return given === undefined ? args : { ...args, tags: isList ? given.join(',') : given };
}

/**
 * Models also send objects, lists, numbers and booleans as JSON text. Such an argument is read as JSON if its schema accepts only that.
 * The parameters of intents are not read like this: their types are exact.
 */
const fromJsonText = ({ shape }: z.ZodObject, args: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(args).map(([name, value]) => [name, readText(shape[name] as z.ZodType | undefined, value)]));

function readText(schema: z.ZodType | undefined, value: JsonValue): JsonValue {
  if (typeof value !== 'string' || !schema || schema.safeParse(value).success) return value;
  try {
    const read = parseJson(value, { isExact: true });
    return schema.safeParse(read).success ? read : value;
  } catch {
    return value;
  }
}

interface ToolDefinition<T extends z.ZodObject> extends Omit<Tool, 'input' | 'run'> {
  input: T;
  /** mends arguments before they are validated */
  prepare?: (args: JsonObject) => JsonObject;
  run(args: z.output<T>, request: ApiRequest, client: ClientCapabilities): Promise<ToolOutput>;
}

const defineTool = <T extends z.ZodObject>({ run, prepare = (args) => args, ...tool }: ToolDefinition<T>): Tool => ({
  ...tool,
  run: async (args, request, client) =>
    run(parse(tool.input, fromJsonText(tool.input, prepare(withoutEmpty(args))), 'The arguments are not valid.'), request, client),
});

const readOnlyHints: ToolAnnotations = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };

/** The endpoints check its format, because their messages are clearer. */
const uidArgument = z.string().describe('the intent_uid, as search_intents gives it');

const { query, service_name, namespace, tags } = searchQuery.shape;

const patArgument = z
  .string()
  .regex(/^\s*([Bb]earer\s+)?[A-Za-z0-9._-]+\s*$/, 'must be the PAT that accept_policy returned, and nothing else')
  .transform((given) => given.trim().replace(/^bearer\s+/i, ''))
  .optional()
  .describe('the PAT that accept_policy returned; leave it out if the connection has a PAT of its own');

const searchArguments = z.strictObject({
  query,
  service_name,
  namespace,
  tags,
  permitted: z
    .boolean()
    .optional()
    .describe('true: omits intents that the policy does not permit to the holder of the PAT or, without one, to anybody'),
  pat: patArgument,
  page: z.int().min(1).optional().describe('page number, starting at 1'),
  page_size: z.int().min(1).max(20).default(5).describe('intents per page; default: 5'),
});

const acceptArguments = z.strictObject({
  agent_id: patRequest.shape.agent_id.optional().describe('your name, which stays bound to your key'),
  agent_public_key: patRequest.shape.agent_public_key
    .optional()
    .describe('your public key: a JWK, PEM, or base64 of either (RSA, P-256, P-384 or Ed25519)'),
  signed_policy: patRequest.shape.signed_policy
    .optional()
    .describe('your signature over the policy: a compact JWS, or a bare signature in base64 or hex'),
  agent_directory: patRequest.shape.agent_directory,
});

const executeArguments = executionRequest.extend({
  intent_uid: uidArgument,
  parameters: executionRequest.shape.parameters.describe('a value for each input parameter, by its name, as get_intent describes them'),
  max_bytes: executionRequest.shape.max_bytes
    .unwrap()
    .default(20_000)
    .describe('maximum size of the answer in bytes: a longer one is cut at an item or member, and cut says where; default: 20,000'),
  idempotency_key: z
    .string()
    .regex(idempotencyKey, 'must have 1 to 255 visible ASCII characters')
    .optional()
    .describe('up to 255 visible ASCII characters, new for each call: a call repeated with the same key is made only once'),
  respond_async: z
    .boolean()
    .optional()
    .describe('returns immediately instead of waiting, for an operation that may take minutes; the result says how to get the outcome'),
  digest: intentDigest
    .optional()
    .describe('the digest that get_intent returned: with it, the intent is executed only if it has not changed since'),
  pat: patArgument,
});

/** The most cautious hints: what an intent does is up to its service. */
const cautiousHints: ToolAnnotations = { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true };

export interface ToolOptions {
  findPolicy: FindPolicy;
  isFreshRequired: boolean;
  isSignInOffered: boolean;
}

export function openTools(endpoints: Endpoints, { findPolicy, isFreshRequired, isSignInOffered }: ToolOptions): Tool[] {
  const callEndpoint = async (action: Action, request: ApiRequest): Promise<object> => (await action(request)).body as object;

  return [
    defineTool({
      name: 'search_intents',
      title: 'Find an operation',
      description:
        'Finds intents: operations of web services that can be executed here. Describe in plain words what you want done. The best matches come first, as summaries; get_intent returns the details. Needs no PAT.',
      annotations: readOnlyHints,
      input: searchArguments,
      prepare: joinTags,
      run: async ({ pat, ...args }, request) => {
        const given = Object.entries(args).filter(([, value]) => value !== undefined && value !== false);
        const inner = innerRequest(request, {
          query: { ...Object.fromEntries(given.map(([name, value]) => [name, String(value)])), view: 'brief' },
          headers: readCredential(request, pat),
        });
        return { data: fitHits(briefPage.parse(await callEndpoint(endpoints.searchIntents, inner))) };
      },
    }),
    defineTool({
      name: 'get_intent',
      title: 'Read an operation',
      description: 'Describes one intent in full: every input parameter with its constraints, and its output. Needs no PAT.',
      annotations: readOnlyHints,
      input: z.strictObject({ intent_uid: uidArgument, pat: patArgument }),
      run: async ({ intent_uid, pat }, request) => {
        const inner = innerRequest(request, {
          pathParameters: { intent_uid },
          query: { view: 'full' },
          headers: readCredential(request, pat),
        });
        return { data: await callEndpoint(endpoints.getIntent, inner) };
      },
    }),
    defineTool({
      name: 'accept_policy',
      title: 'Accept the usage policy',
      description:
        'Without arguments: says what the usage policy demands, and what has to be signed to accept it. With agent_id, agent_public_key and signed_policy: accepts it, and returns the PAT (a bearer token) that execute_intent needs. Show the policy to the person you work for before you accept it.',
      annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
      input: acceptArguments,
      run: async (args, request) => {
        if (Object.values(args).every((value) => value === undefined)) {
          return explainPolicy(await findPolicy(request.baseUrl), request.baseUrl, isFreshRequired);
        }
        return { data: await callEndpoint(endpoints.issuePat, innerRequest(request, { body: args as JsonObject })) };
      },
    }),
    defineTool({
      name: 'execute_intent',
      title: 'Execute an operation',
      description:
        'Executes an intent with values for its parameters, and returns the response of its service. What the call does, and whether it can be undone, depends on that service. Needs a PAT: see accept_policy.',
      annotations: cautiousHints,
      input: executeArguments,
      isDeferrable: true,
      run: async ({ intent_uid, parameters, fields, max_bytes, idempotency_key, respond_async = false, digest, pat }, request, client) => {
        const hasOwnPat = request.headerValues('authorization').length > 0;
        const ofConnection = (reason: string) => ({ reason, ...(isSignInOffered && { sign_in: request.baseUrl + signInPath }) });
        const credential = readCredential(request, pat);
        if (!hasOwnPat && pat === undefined) throw patMissing.withDetails(ofConnection('pat_missing'));
        if (isLegacyTask(client) && pat !== undefined) throw patOfTask();
        const isAsync = respond_async || isLegacyTask(client);
        const inner = innerRequest(request, {
          body: { intent_uid, parameters: parameters as JsonObject, max_bytes, ...(fields && { fields }) },
          headers: {
            ...credential,
            'idempotency-key': idempotency_key,
            ...(isAsync && { prefer: 'respond-async' }),
            ...(digest && { 'if-match': `"${digest}"` }),
          },
        });
        try {
          const { status, body, headers } = await endpoints.executeIntent({
            ...inner,
            keyIfDeferred: { key: client.key, isFreedByAnswer: client.isKeyDerived },
            keyIfRequired: `mcp-${randomUUID()}`,
          });
          if (status !== 202) {
            if (isLegacyTask(client)) throw endedBefore();
            return { data: body as object, remarks: remarksOn(headers), headers };
          }
          const state = body as PendingExecution;
          const key = idempotency_key ?? (client.isKeyDerived ? undefined : client.key);
          return { data: state, pending: { executionId: executionIdOf(state), state, key, usesConnectionPat: hasOwnPat } };
        } catch (error) {
          if (!(error instanceof ApiError) || error.code !== 'UNAUTHORIZED' || !hasOwnPat) throw error;
          throw error.withDetails(ofConnection('pat_of_connection'));
        }
      },
    }),
  ];
}

/**
 * The PAT of a call, if it is an argument: a prompt injection must not make the call of one agent or person under the PAT of another.
 * @throws ApiError INVALID_PARAMETER if the connection has a PAT, too
 */
function readCredential(request: ApiRequest, pat: string | undefined): { authorization?: string } {
  if (pat === undefined) return {};
  if (request.headerValues('authorization').length > 0) throw twoPats();
  return { authorization: `Bearer ${pat}` };
}

export const patMissing = unauthorized('Executing an intent needs a PAT, and this call has none.');

const twoPats = () =>
  invalidParameter(
    [{ path: '/pat', problem: 'must be left out, because this connection has a PAT of its own' }],
    'The call has two PATs. Leave the argument pat out: the PAT of the connection is used.',
  );

/** A task cannot stand for a call that an earlier request made, because that call may have no id. */
const endedBefore = () =>
  new RpcError(
    'invalidParams',
    'The call with this idempotency_key has already ended. Call the tool without task to get its outcome, or with a new idempotency_key to make another call.',
  );

const patOfTask = () =>
  invalidParameter(
    [{ path: '/pat', problem: 'must be left out, because a task is read with the PAT of the connection' }],
    'This connection has no PAT to read the task with. Call the tool without task.',
  );
