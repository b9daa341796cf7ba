import { innerRequest } from '../core/http/inner-request.ts';
import { logAnswer } from '../core/http/log-answer.ts';
import type { ApiRequest } from '../core/http/request.ts';
import { type ApiResponse, ok } from '../core/http/response.ts';
import type { Action } from '../core/http/serve.ts';
import { isObject, type JsonObject, type JsonValue } from '../core/json/json.ts';
import { ApiError } from '../core/runtime/api-error.ts';
import { continueTrace, readTrace } from '../core/runtime/trace.ts';
import { type ClientCapabilities, isLegacyTask, readCapabilities, sessionHeaders, tasksExtension } from './client-capabilities.ts';
import { elicit, mayOpen, pageOf } from './elicit.ts';
import { describeInput } from './input-schema.ts';
import { describeRpcError, RpcError, type RpcId, type RpcMessage, readId, readMessage } from './json-rpc.ts';
import { describeOutput, describeRefusal, explainRefusal } from './result.ts';
import { type Era, legacyRevisions, readEra, revisions } from './revision.ts';
import { answerPending, findEnd, readTask, relatedTo } from './tasks.ts';
import type { Tool } from './tool.ts';
import { patMissing } from './tools.ts';

const capabilities: Record<Era, object> = {
  modern: { tools: {}, extensions: { [tasksExtension]: {} } },
  legacy: { tools: {}, tasks: { requests: { tools: { call: {} } } } },
};
const instructions =
  'Find an operation with search_intents, read its parameters with get_intent, run it with execute_intent. Running needs a PAT: accept_policy says how to get one.';

/** Tools change only with deployments. */
const cacheable = { ttlMs: 3_600_000, cacheScope: 'public' };

const describeTool = ({ name, title, description, annotations, input }: Tool) => ({
  name,
  title,
  description,
  inputSchema: describeInput(input),
  annotations: { title, ...annotations },
});

/** A legacy client may request a task only from tools that declare `taskSupport`. */
const describeLegacyTool = (tool: Tool) => ({
  ...describeTool(tool),
  ...(tool.isDeferrable && { execution: { taskSupport: 'optional' } }),
});

type Method = (params: JsonObject, request: ApiRequest) => object | Promise<object>;

/**
 * Answers messages of the Model Context Protocol statelessly. For these few methods, the official server package would add 350 KB to the
 * bundle, execute batches, and echo parts of requests in its errors. The tests use the official client.
 * @param version - of the product
 */
export function openAnswers(tools: readonly Tool[], getExecution: Action, version: string): Action {
  const serverInfo = { name: 'intent-gate', title: 'Intent Gate', version };
  const toolByName = new Map(tools.map((tool) => [tool.name, tool]));

  const callTool = async (era: Era, params: JsonObject, request: ApiRequest): Promise<object> => {
    const { name, _meta: meta } = params;
    const args = params.arguments ?? {};
    const trace = isObject(meta) ? readTrace(meta.traceparent, meta.tracestate) : undefined;
    if (trace) continueTrace(trace);
    const tool = typeof name === 'string' ? toolByName.get(name) : undefined;
    if (!tool) throw new RpcError('invalidParams', `Unknown tool. Available tools: ${[...toolByName.keys()].join(', ')}.`);
    if (!isObject(args)) throw new RpcError('invalidParams', 'The arguments of a tool must be an object.');
    const client = readCapabilities(era, params, request);
    if (isLegacyTask(client) && !tool.isDeferrable)
      throw new RpcError('methodNotFound', 'This tool cannot be called as a task. Call it without task.');
    return runTool(tool, args, request, client);
  };

  /** Reads the deferred call behind a task. */
  const readCall = async ({ taskId }: JsonObject, request: ApiRequest, dropsContent = false): Promise<ApiResponse & { taskId: string }> => {
    if (typeof taskId !== 'string') throw new RpcError('invalidParams', 'params.taskId must be the id of a task.');
    try {
      if (request.headerValues('authorization').length === 0) throw patMissing;
      return { taskId, ...(await getExecution({ ...innerRequest(request, { pathParameters: { id: taskId } }), dropsContent })) };
    } catch (error) {
      throw error instanceof ApiError ? asRpcError(error, request, 'tasks/get') : error;
    }
  };

  const getTask = async (era: Era, params: JsonObject, request: ApiRequest): Promise<object> => {
    const { taskId, ...answer } = await readCall(params, request);
    return readTask(era, taskId, answer, request.requestId);
  };

  /** Returns the result of a task that has ended. Does not wait for it: every waiting request would occupy an environment. */
  const readTaskResult: Method = async (params, request) => {
    const ended = findEnd(await readCall(params, request), request.requestId);
    if (!ended) throw new RpcError('internalError', notEnded);
    return withMeta(ended.result, relatedTo(String(params.taskId)));
  };

  /** Accepts a message without effect: a call needs no input from its client, and only admins can stop it. */
  const acknowledge: Method = async (params, request) => {
    await readCall(params, request, true);
    return {};
  };

  const initialize: Method = ({ protocolVersion }) => ({
    protocolVersion: negotiate(protocolVersion),
    capabilities: capabilities.legacy,
    serverInfo,
    instructions,
  });

  const methods: Record<Era, ReadonlyMap<string, Method>> = {
    modern: new Map<string, Method>([
      ['server/discover', () => ({ supportedVersions: revisions, capabilities: capabilities.modern, instructions, ...cacheable })],
      ['tools/list', ({ cursor }) => ({ tools: onePage(cursor, tools.map(describeTool)), ...cacheable })],
      ['tools/call', (...given) => callTool('modern', ...given)],
      ['tasks/get', (...given) => getTask('modern', ...given)],
      ['tasks/update', acknowledge],
      ['tasks/cancel', acknowledge],
    ]),
    legacy: new Map<string, Method>([
      ['initialize', initialize],
      ['ping', () => ({})],
      ['tools/list', ({ cursor }) => ({ tools: onePage(cursor, tools.map(describeLegacyTool)) })],
      ['tools/call', (...given) => callTool('legacy', ...given)],
      ['tasks/get', (...given) => getTask('legacy', ...given)],
      ['tasks/result', readTaskResult],
    ]),
  };

  async function answer(message: RpcMessage, request: ApiRequest): Promise<object> {
    const era = readEra(message, request);
    const method = methods[era].get(message.method);
    if (!method) {
      throw new RpcError('methodNotFound', `Unknown method. Available methods: ${[...methods[era].keys()].join(', ')}.`, {
        ...(era === 'modern' && { status: 404 }),
      });
    }
    const result = await method(message.params, request);
    if (era === 'legacy') return result;
    return withMeta({ resultType: 'complete', ...result }, { 'io.modelcontextprotocol/serverInfo': serverInfo });
  }

  return async (request) => {
    let id: RpcId | undefined;
    try {
      const body = readBody(request);
      id = readId(body);
      const message = readMessage(body);
      if (id === undefined) return { status: 202 };
      const result = await answer(message, request);
      return ok({ jsonrpc: '2.0', id, result }, message.method === 'initialize' ? sessionHeaders(message.params) : {});
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      return { status: error.status, body: describeRpcError(error, id) };
    }
  };
}

/** The gate gives no cursor, because all tools fit one page. @throws RpcError */
function onePage<T>(cursor: JsonValue | undefined, items: T): T {
  if (cursor === undefined || cursor === null || cursor === '') return items;
  throw new RpcError('invalidParams', 'Unknown cursor. Leave it out: the list has one page.');
}

const withMeta = (result: object, more: object) => ({
  ...result,
  _meta: { ...('_meta' in result && (result._meta as object)), ...more },
});

const notEnded =
  'The call has not ended yet. Poll tasks/get every few seconds; once the task is no longer working, call tasks/result again.';

/** The requested revision if it is supported, else the newest (2025-11-25, "Version Negotiation"). */
const negotiate = (asked: unknown): string | undefined => legacyRevisions.find((revision) => revision === asked) ?? legacyRevisions[0];

function readBody(request: ApiRequest) {
  try {
    return request.json();
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'INVALID_PARAMETER' || error.status !== 400) throw error;
    throw new RpcError('parseError', error.message.replace('details.issues', 'data.issues'), { data: error.details as JsonObject });
  }
}

/**
 * Runs a tool. Refusals are results, so that a model can read them and act on them.
 * @throws RpcError the refusal of a legacy task, or a page that the user of a legacy client has to see
 */
async function runTool(tool: Tool, args: JsonObject, request: ApiRequest, client: ClientCapabilities): Promise<object> {
  const entry = { request_id: request.requestId, tool: tool.name };
  try {
    const output = await tool.run(args, request, client);
    logAnswer('tool', entry, undefined);
    return output.pending ? answerPending(output.pending, client, request) : describeOutput(output);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    logAnswer('tool', entry, error);
    const page = pageOf(error, request.requestId);
    if (page && mayOpen(page, client)) return elicit(page, client, client.key);
    if (isLegacyTask(client)) throw asRpcError(error, request, tool.name);
    return describeRefusal(explainRefusal(tool.name, error, request.requestId));
  }
}

/** A refusal as a protocol error, for a task, which has no result yet. */
function asRpcError(error: ApiError, request: ApiRequest, tool: string): RpcError {
  const explained = explainRefusal(tool, error, request.requestId);
  return new RpcError('invalidParams', `${explained.error.message} ${explained.next}`, { data: explained });
}
