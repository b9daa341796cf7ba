import { type McpTools, mcpToolsQuery } from '../../schemas/mcp-upstreams/mcp-tools.ts';
import { requireNamespace } from '../core/admin/admin.ts';
import { type AdminAction, serveAdmin } from '../core/admin/for-admins.ts';
import { ok } from '../core/http/response.ts';
import { isObject, type JsonObject } from '../core/json/json.ts';
import { noSuchService } from '../core/registry/refusals.ts';
import { openServices, type Services } from '../core/registry/services.ts';
import type { UpstreamCall } from '../core/relay/build-request.ts';
import { type Relay, relayFromEnvironment } from '../core/relay/call.ts';
import { CallFailed } from '../core/relay/call-failure.ts';
import { redact } from '../core/relay/content.ts';
import { checkOrigin, type EgressRules, egressRulesFromEnvironment, withOwnHost } from '../core/relay/egress.ts';
import { ApiError, invalidParameter } from '../core/runtime/api-error.ts';
import { tableFromEnvironment } from '../core/table/table.ts';
import { ask, describeRefusal, openSessions } from './sessions.ts';

export interface Deps {
  services: Pick<Services, 'find'>;
  relay: Pick<Relay, 'connect'>;
  egress: EgressRules;
}

/** Maximum duration of the whole exchange with the server, in milliseconds. */
const deadlineMs = 25_000;

/** `GET /api/mcp-tools`: a page of the tools of an MCP server. */
export const createAction = ({ services, relay, egress }: Deps): AdminAction => {
  const sessions = openSessions(relay);

  async function listTools(call: UpstreamCall, cursor: string | undefined, isReopened = false): Promise<McpTools> {
    const session = await sessions.find(call);
    const { answer, response } = await ask(relay, call, session, 'tools/list', cursor === undefined ? {} : { cursor });
    const { result } = response ?? {};
    const said = { server: session.server ?? {}, ...(isObject(result) && { result }) };
    const shown = redact({ kind: 'json', value: said }, answer.redactor);
    const { server = {}, result: { tools, nextCursor } = {} } = (shown.kind === 'json' ? shown.value : {}) as Record<string, JsonObject>;
    if (Array.isArray(tools)) {
      const named = tools.filter(isObject).filter(({ name }) => typeof name === 'string') as McpTools['tools'];
      return {
        server,
        tools: named.map(({ name, title, description, inputSchema, outputSchema, annotations, execution }) => ({
          name,
          ...{ title, description, inputSchema, outputSchema, annotations, execution },
        })),
        ...(typeof nextCursor === 'string' && nextCursor !== '' && { next_cursor: nextCursor }),
      };
    }
    sessions.forget(call, session);
    if (isReopened || session.id === undefined) throw describeRefusal(answer);
    return listTools(call, cursor, true);
  }

  return async (admin, request) => {
    const { url, service_id, cursor } = request.query(mcpToolsQuery);
    const problems = checkOrigin(url, withOwnHost(egress, request.baseUrl));
    if (problems.length > 0) throw invalidParameter(problems.map((problem) => ({ path: '/url', problem })));
    const service = service_id === undefined ? { service_id: '', service_url: url } : await services.find(service_id);
    if (!service) throw noSuchService();
    if ('service_name' in service) requireNamespace(admin, service.namespace);
    if ('credential' in service && service.credential?.oauth)
      throw invalidParameter([
        {
          path: '/service_id',
          problem: 'must not have an OAuth client: give the service a token of your own for the import, and the client after it',
        },
      ]);
    const { requestId, baseUrl } = request;
    const names = { intentUid: 'mcp-tools', agentId: 'admin', account: 'admin', executionId: requestId };
    const call = { request: { method: 'POST' as const, url }, service, ...names, requestId, baseUrl, deadlineMs };
    return ok(await listTools(call, cursor).catch(describeFailure));
  };
};

/** One code for every failure: nothing is to be repeated, and an admin waits. */
function describeFailure(error: unknown): never {
  if (!(error instanceof CallFailed)) throw error;
  const { upstream_status } = error.details;
  const message = `The server did not list its tools (${error.reason}${upstream_status === undefined ? '' : `, status ${upstream_status}`}).`;
  const details = { reason: error.reason, ...(upstream_status !== undefined && { upstream_status }) };
  throw new ApiError('INTENT_EXECUTION_FAILED', message, { details, cause: error, fault: error.fault });
}

export const handler = serveAdmin(
  createAction({
    services: openServices(tableFromEnvironment()),
    relay: relayFromEnvironment({ maxDeadlineMs: deadlineMs, maxAnswerBytes: 5 * 1024 * 1024 }),
    egress: egressRulesFromEnvironment(),
  }),
);
