import * as z from 'zod';
import type { Issue } from '../../../schemas/errors.ts';
import { escapeHiddenInJson } from '../../../schemas/text.ts';
import { ApiError } from '../api-error.ts';
import { logAnswer } from '../http/log-answer.ts';
import type { ApiRequest } from '../http/request.ts';
import { type ApiResponse, ok } from '../http/response.ts';
import { isObject, type JsonObject } from '../json.ts';
import { resourceMetadataPath, signInPath } from '../sign-in/metadata.ts';
import { continueTrace, readTrace } from '../trace.ts';
import { describeRpcError, RpcError, type RpcMessage, readMessage } from './json-rpc.ts';
import { nextCall } from './next-call.ts';
import { type Era, legacyRevisions, readEra, revisions } from './revision.ts';
import { inToolTerms } from './tool-terms.ts';
import type { Tool } from './tools.ts';

const capabilities = { tools: {} };
const instructions =
  'Find an operation with search_intents, read what it takes with get_intent, run it with execute_intent. Running needs a PAT: accept_policy says how to get one.';

/** Tools change only with deployments. */
const cacheable = { ttlMs: 3_600_000, cacheScope: 'public' };

const describeTool = ({ name, title, description, annotations, input }: Tool) => ({
  name,
  title,
  description,
  inputSchema: z.toJSONSchema(input, { io: 'input', override: allowAnything }),
  annotations: { title, ...annotations },
});

/** Hosts handle `true` better than the equivalent `{}`. */
function allowAnything({ jsonSchema }: { jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  const { additionalProperties: rest } = jsonSchema;
  if (typeof rest === 'object' && Object.keys(rest).length === 0) jsonSchema.additionalProperties = true;
}

type Method = (params: JsonObject, request: ApiRequest) => object | Promise<object>;

/**
 * Answers messages of the Model Context Protocol, without state. For these few methods the official server package would add 350 KB to the
 * bundle, execute batches, and echo parts of requests in its errors. The tests use the official client.
 * @param version - of the product
 */
export function openAnswers(tools: readonly Tool[], version: string): (request: ApiRequest) => Promise<ApiResponse> {
  const serverInfo = { name: 'intent-gate', title: 'Intent Gate', version };
  const toolByName = new Map(tools.map((tool) => [tool.name, tool]));
  const list = { tools: tools.map(describeTool) };

  const callTool: Method = async ({ name, arguments: args = {}, _meta: meta }, request) => {
    const trace = isObject(meta) ? readTrace(meta.traceparent, meta.tracestate) : undefined;
    if (trace) continueTrace(trace);
    const tool = typeof name === 'string' ? toolByName.get(name) : undefined;
    if (!tool) throw new RpcError('invalidParams', `Unknown tool. Available tools: ${[...toolByName.keys()].join(', ')}.`, { status: 200 });
    if (!isObject(args)) throw new RpcError('invalidParams', 'The arguments of a tool must be an object.', { status: 200 });
    return runTool(tool, args, request);
  };

  const methods: Record<Era, ReadonlyMap<string, Method>> = {
    modern: new Map<string, Method>([
      ['server/discover', () => ({ supportedVersions: revisions, capabilities, instructions, ...cacheable })],
      ['tools/list', () => ({ ...list, ...cacheable })],
      ['tools/call', callTool],
    ]),
    legacy: new Map<string, Method>([
      ['initialize', ({ protocolVersion }) => ({ protocolVersion: agreeOn(protocolVersion), capabilities, serverInfo, instructions })],
      ['ping', () => ({})],
      ['tools/list', () => list],
      ['tools/call', callTool],
    ]),
  };

  async function answer(message: RpcMessage, request: ApiRequest): Promise<object> {
    const era = readEra(message, request);
    const method = methods[era].get(message.method);
    if (!method) {
      throw new RpcError('methodNotFound', `Unknown method. Available methods: ${[...methods[era].keys()].join(', ')}.`, {
        status: era === 'modern' ? 404 : 200,
      });
    }
    const result = await method(message.params, request);
    return era === 'legacy' ? result : { resultType: 'complete', ...result, _meta: { 'io.modelcontextprotocol/serverInfo': serverInfo } };
  }

  return async (request) => {
    let id: RpcMessage['id'];
    try {
      const message = readMessage(readBody(request));
      id = message.id;
      if (id === undefined) return { status: 202 };
      return ok({ jsonrpc: '2.0', id, result: await answer(message, request) });
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      return { status: error.status, body: describeRpcError(error, id), headers: error.headers };
    }
  };
}

/** The requested revision if it is supported, else the newest (2025-11-25, "Version Negotiation"). */
const agreeOn = (asked: unknown): string | undefined => legacyRevisions.find((revision) => revision === asked) ?? legacyRevisions[0];

function readBody(request: ApiRequest) {
  try {
    return request.json();
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'INVALID_PARAMETER' || error.status !== 400) throw error;
    throw new RpcError('parseError', error.message, { data: error.details as JsonObject });
  }
}

/** Whether the connection has no PAT, an expired one, or one for an earlier policy. The host can fix that, but a model cannot. */
const isOfConnection = ({ details: { reason } }: ApiError, request: ApiRequest): boolean =>
  reason === 'pat_missing' ||
  reason === 'pat_of_connection' ||
  (reason === 'policy_changed' && request.header('authorization') !== undefined);

/** Whether a request came to the address for hosts that sign people in. `/mcp` itself never requires a sign-in. */
const isSigningIn = ({ path }: ApiRequest): boolean => path.replace(/\/$/, '') === signInPath;

/** Tells a host where to get a token (RFC 9728 section 5.1). */
const challengeHeaders = ({ headers }: ApiError, { baseUrl }: ApiRequest): Record<string, string> => ({
  'WWW-Authenticate': `${headers['WWW-Authenticate'] ?? 'Bearer realm="intent-gate"'}, resource_metadata="${baseUrl}${resourceMetadataPath}"`,
});

/**
 * Runs a tool. Refusals are results, so that a model can read them and act on them.
 * @throws RpcError with 401 at the address for hosts that sign people in, if the connection needs another PAT
 */
async function runTool(tool: Tool, args: JsonObject, request: ApiRequest): Promise<object> {
  const { requestId } = request;
  try {
    const { data, text = escapeHiddenInJson(JSON.stringify(data)), remarks = [] } = await tool.run(args, request);
    logAnswer('tool', { request_id: requestId, tool: tool.name }, undefined);
    const content = [text, ...remarks].map((one) => ({ type: 'text', text: one }));
    return { content, structuredContent: data, isError: false };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const { code } = error;
    logAnswer('tool', { request_id: requestId, tool: tool.name }, error);
    const message = inToolTerms(error.message, error.headers['Retry-After']);
    const details = { ...describeDetails(error), request_id: requestId };
    const next = nextCall(tool.name, error);
    if (isSigningIn(request) && isOfConnection(error, request)) {
      throw new RpcError(
        'unauthorized',
        `${message} Let the person whom you work for sign in: this host can ask them to. Otherwise: ${next}`,
        {
          status: 401,
          data: { error: { code, message, details }, next },
          headers: challengeHeaders(error, request),
        },
      );
    }
    const text = [`${code}: ${message}`, `Details: ${escapeHiddenInJson(JSON.stringify(details))}`, `Next: ${next}`].join('\n');
    return { content: [{ type: 'text', text }], structuredContent: { error: { code, message, details }, next }, isError: true };
  }
}

/** The details of a refusal, worded for tools. */
function describeDetails({ details }: ApiError): Record<string, unknown> {
  const { issues, ...others } = details as { issues?: Issue[] };
  return { ...(issues && { issues: issues.map(({ path, problem }) => ({ path, problem: inToolTerms(problem) })) }), ...others };
}
