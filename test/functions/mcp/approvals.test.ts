import { expect, test } from '@jest/globals';
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

test('over MCP, a call waits for approval, and one proof of possession is good for one request only', async () => {
  const [uid, key, agent] = ['pay.example:refund:v1', 'key', await newAgent()];
  const pat = await obtainPat(gate, agent, template());
  await gate.intents.create(serviceId, intentOf(uid, { endpoint: endpointAt() }));
  const endpoints = {
    ...toolEndpoints(gate),
    executeIntent: parts.openExecute({ template: template() }),
    getExecution: parts.openGetExecution(),
  };
  const mcp = openMcp(gate, { endpoints, findPolicy: openPolicy(template()) });
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
