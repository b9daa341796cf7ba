import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { VerifyAdmin } from '../../functions/core/admin/verify-admin.ts';
import { ApiError } from '../../functions/core/api-error.ts';
import { countExecution, openRateLimiter } from '../../functions/core/limit/rate-limiter.ts';
import { chargesOf } from '../../functions/core/policy/judge.ts';
import { loadPolicyTemplate, openPolicy } from '../../functions/core/policy/policy.ts';
import { openAgents } from '../../functions/core/store/agent.ts';
import { openHistory } from '../../functions/core/store/history.ts';
import { createAction as createDelete } from '../../functions/delete-agent.ts';
import { createAction as createGet } from '../../functions/get-agent.ts';
import { createAction as createRevoke } from '../../functions/revoke-agent.ts';
import { agent as agentSchema, agentWithUsage } from '../../schemas/agent.ts';
import { someAdmin } from '../support/admins.ts';
import { bindAgent } from '../support/bind-agent.ts';
import { invoke, refusalOf } from '../support/invoke.ts';
import { startTable, type TestTable } from '../support/table.ts';

let store: TestTable;
beforeAll(async () => {
  store = await startTable();
});
afterAll(() => store.stop());

const firstSeen = Date.UTC(2030, 0, 1);
const lastIssue = firstSeen + 60_000;
const agentId = 'Ágent #1/x';

beforeEach(async () => {
  const agents = openAgents(store.table);
  await agents.unbind(agentId);
  await bindAgent(store.table, agentId, 'thumbprint', firstSeen);
  await bindAgent(store.table, agentId, 'thumbprint', lastIssue);
});

const refuseAll = async () => {
  throw new ApiError('FORBIDDEN', 'no admin');
};
const call = (
  kind: 'get' | 'revoke' | 'delete',
  agent_id = encodeURIComponent(agentId),
  verifyAdmin: VerifyAdmin = async () => someAdmin,
) => {
  const deps = {
    verifyAdmin,
    agents: openAgents(store.table),
    history: openHistory(store.table),
    findPolicy: openPolicy(loadPolicyTemplate()),
    limits: openRateLimiter(store.table),
  };
  const steps = { get: createGet, revoke: createRevoke, delete: createDelete }[kind](deps);
  return invoke(steps, { path: `/api/agents/${agent_id}`, pathParameters: { agent_id } });
};

const record = {
  agent_id: agentId,
  state: 'active',
  key_thumbprint: 'thumbprint',
  first_seen: '2030-01-01T00:00:00.000Z',
  last_issue: '2030-01-01T00:01:00.000Z',
};

const unused = [{ limit: 'execute', rule: '/permission/0/constraint/0', of: 60, used: 0, left: 60, period: 60 }];

test('an agent can be read, and what it has used', async () => {
  const { status, body } = await call('get');
  expect({ status, body }).toEqual({ status: 200, body: { ...record, usage: unused } });
  agentWithUsage.parse(body);
  const { grants } = openPolicy(loadPolicyTemplate())('https://api.example/test');
  await openRateLimiter(store.table).consume(countExecution({ thumbprint: 'thumbprint', account: 'thumbprint' }, chargesOf(grants.rules)));
  expect((await call('get', encodeURIComponent(agentId.normalize('NFD')))).body).toEqual({
    ...record,
    usage: [{ ...unused[0], used: 1, left: 59 }],
  });
});

test('revoking returns the time, and makes a new generation every time', async () => {
  const agents = openAgents(store.table);
  const generations = [(await agents.find(agentId))?.generation];
  for (let count = 0; count < 2; count++) {
    const { status, body } = await call('revoke');
    expect({ status, body }).toEqual({ status: 200, body: { ...record, revoked_at: expect.any(String) } });
    agentSchema.parse(body);
    generations.push((await agents.find(agentId))?.generation);
  }
  expect(new Set(generations).size).toBe(3);
  expect((await call('get')).body).toHaveProperty('revoked_at');
});

test('deleting leaves nothing', async () => {
  const { status, body } = await call('delete');
  expect({ status, body }).toEqual({ status: 204, body: undefined });
  expect((await call('get')).status).toBe(404);
});

describe.each(['get', 'revoke', 'delete'] as const)('%s', (kind) => {
  test.each([
    ['that nobody has seen', 'nobody'],
    ['of no name', ''],
    ['of a name that none can have', 'a'.repeat(5_000)],
    ['with a line break', 'a%0Ab'],
  ])('of an agent %s is 404, and makes none', async (_, name) => {
    expect(refusalOf(await call(kind, name))).toEqual({
      status: 404,
      code: 'NOT_FOUND',
      message: 'No PAT has been issued to an agent of this agent_id. Check the agent_id, percent-encoded as UTF-8.',
      details: {},
    });
    expect(await openAgents(store.table).find('nobody')).toBeUndefined();
  });

  test('is for admins only, which is checked before anything else', async () => {
    store.operations.length = 0;
    const refused = refusalOf(await call(kind, undefined, refuseAll));
    expect(refused).toEqual({ status: 403, code: 'FORBIDDEN', message: 'no admin', details: {} });
    expect(store.operations).toEqual([]);
  });
});
