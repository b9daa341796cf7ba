import { expect, test } from '@jest/globals';
import { answerFrom } from '../../support/actions.ts';
import { signProof, type TestAgent } from '../../support/agent-keys.ts';
import { openApprovalParts } from '../../support/approvals/approval-parts.ts';
import { approvalTemplate as template } from '../../support/deferred.ts';
import { startExecuting } from '../../support/executing.ts';
import { baseUrl, newAgent, obtainPat } from '../../support/gate.ts';
import { invoke } from '../../support/invoke.ts';
import { openMcp, toolEndpoints } from '../../support/mcp/mcp.ts';
import { openPolicy } from '../../support/policy.ts';
import { intentOf } from '../../support/records.ts';

const { gate, upstream, serviceId, endpointAt } = await startExecuting();
const parts = openApprovalParts(gate);

/** An instance of the MCP function that holds calls for approval. */
function openOwnMcp() {
  const own = { executeIntent: parts.openExecute({ template: template() }), getExecution: parts.openGetExecution() };
  return openMcp(gate, { endpoints: { ...toolEndpoints(gate), ...own }, findPolicy: openPolicy(template()) });
}

test('over MCP, a call waits for approval, and one proof of possession is good for one request only', async () => {
  const [uid, key, agent] = ['pay.example:refund:v1', 'key', await newAgent()];
  const pat = await obtainPat(gate, agent, template());
  await gate.intents.create(serviceId, intentOf(uid, { endpoint: endpointAt() }));
  const mcp = openOwnMcp();
  const prover = { ...agent, jwk: JSON.parse(agent.publicJwk), algorithms: ['ES256'] } as unknown as TestAgent;
  const prove = () => signProof(prover, { url: `${baseUrl}/mcp`, token: pat });
  const send = async (method: string, params: object, DPoP: string) => {
    const headers = { Authorization: `DPoP ${pat}`, DPoP };
    return (await invoke(mcp, 'POST /mcp', { headers, body: { jsonrpc: '2.0', id: 1, method, params } })).body;
  };
  const call = { name: 'execute_intent', arguments: { intent_uid: uid, parameters: { code: 'FR' }, idempotency_key: key } };
  const first = await prove();
  expect((await send('tools/call', call, first)).result.structuredContent).toMatchObject({ status: 'waiting' });
  const { task } = (await send('tools/call', { ...call, task: {} }, await prove())).result;
  const id = task.taskId;
  const replayed = (await send('tasks/get', { taskId: id }, first)).error;
  expect(replayed.data.error).toMatchObject({ code: 'UNAUTHORIZED', message: expect.stringContaining('has been used before') });
  expect((await send('tasks/get', { taskId: id }, await prove())).result).toMatchObject({ taskId: id, status: 'working' });
  expect(await parts.decide(id, `"${(await parts.shown(id)).digest}"`)).toMatchObject({ status: 200 });
  await parts.openWorker()(id);
  for (const [method, params] of [['tools/call', call] as const, ['tasks/result', { taskId: id }] as const])
    expect((await send(method, params, await prove())).result).toMatchObject({ structuredContent: { name: 'France' } });
  expect(upstream.seen).toHaveLength(1);
});

test.each(['tasks/cancel', 'tasks/update'])(
  'over MCP, %s does not take the outcome of a task away from a repeated call',
  async (method) => {
    const uid = `pay.example:${method.replace('/', '-')}:v1`;
    const pat = await obtainPat(gate, await newAgent(), template());
    await gate.intents.create(serviceId, intentOf(uid, { endpoint: endpointAt() }));
    const mcp = openOwnMcp();
    const revision = '2026-07-28';
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': revision,
      'io.modelcontextprotocol/clientCapabilities': { extensions: { 'io.modelcontextprotocol/tasks': {} } },
    };
    const send = async (sent: string, params: object, name?: string) => {
      const headers = {
        Authorization: `Bearer ${pat}`,
        'MCP-Protocol-Version': revision,
        'Mcp-Method': sent,
        ...(name && { 'Mcp-Name': name }),
      };
      const body = { jsonrpc: '2.0', id: 1, method: sent, params: { ...params, _meta } };
      return (await invoke(mcp, 'POST /mcp', { headers, body })).body.result;
    };
    const name = 'execute_intent';
    const given = { intent_uid: uid, parameters: { code: 'DE' }, respond_async: true, idempotency_key: method };
    const call = () => send('tools/call', { name, arguments: given }, name);
    const { taskId } = await call();
    const busy = { ...answerFrom('https://up.example/'), status: 429 };
    await parts.openWorker({ relay: { connect: async () => ({ send: async () => busy, drop: () => {} }) } })(taskId);
    expect(await send(method, { taskId })).toMatchObject({ resultType: 'complete' });
    expect(await call()).toMatchObject({ isError: true, structuredContent: { error: { code: 'SERVICE_UNAVAILABLE' } } });
    expect((await call()).taskId).not.toBe(taskId);
  },
);
