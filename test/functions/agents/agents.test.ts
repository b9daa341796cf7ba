import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { openAgents } from '../../../functions/agents/agents.ts';
import { createAction as createApprove } from '../../../functions/agents/approve-agent.ts';
import { createAction as createBlock } from '../../../functions/agents/block-agent.ts';
import { createAction as createDelete } from '../../../functions/agents/delete-agent.ts';
import { createAction as createGet } from '../../../functions/agents/get-agent.ts';
import { createAction as createRevoke } from '../../../functions/agents/revoke-agent.ts';
import { createAction as createUnblock } from '../../../functions/agents/unblock-agent.ts';
import { operator } from '../../../functions/core/admin/admin.ts';
import type { AdminAction } from '../../../functions/core/admin/for-admins.ts';
import { openDeferredCalls } from '../../../functions/core/execution/deferred-call-store.ts';
import { countExecution } from '../../../functions/core/limit/limit-request.ts';
import { openRateLimiter } from '../../../functions/core/limit/rate-limiter.ts';
import { chargesOf } from '../../../functions/core/policy/judge.ts';
import { agentId as agentIdSchema } from '../../../schemas/agent.ts';
import { agentAddress, agent as agentSchema, agentWithUsage } from '../../../schemas/agents/agents.ts';
import { bindAgent } from '../../support/bind-agent.ts';
import { byAdmin, invoke, refusalOf } from '../../support/invoke.ts';
import { openPolicy } from '../../support/policy.ts';
import { startTable } from '../../support/table.ts';

const store = await startTable();
afterAll(() => store.stop());

const firstSeen = Date.UTC(2030, 0, 1);
const lastIssue = firstSeen + 60_000;
const agentId = 'Ágent #1/x';

beforeEach(async () => {
  const agents = openAgents(store.table);
  await agents.unbind(operator, { agentId });
  await bindAgent(store.table, agentId, 'thumbprint', firstSeen);
  await bindAgent(store.table, agentId, 'thumbprint', lastIssue);
});

const openDeps = () => ({
  agents: openAgents(store.table),
  findPolicy: openPolicy(),
  limits: openRateLimiter(store.table),
  outwait: async () => {},
  deferred: openDeferredCalls(store.table),
});
type Create = (deps: ReturnType<typeof openDeps>) => AdminAction;
const call = (kind: 'get' | 'revoke' | 'delete', agent_id = agentId) => {
  const steps = { get: createGet, revoke: createRevoke, delete: createDelete }[kind](openDeps());
  return invoke(byAdmin(steps), 'GET /api/agents/{agent_id}', { path: { agent_id } });
};

const record = {
  agent_id: agentId,
  state: 'active',
  key_thumbprint: 'thumbprint',
  first_seen: '2030-01-01T00:00:00.000Z',
  last_issue: '2030-01-01T00:01:00.000Z',
};

const unused = [{ limit: 'execute', rule: '/permission/0/constraint/0', of: 60, used: 0, left: 60, period: 60 }];

test('GET /api/agents/{agent_id} shows an agent and its use of the limits', async () => {
  const { status, body } = await call('get');
  expect({ status, body }).toEqual({ status: 200, body: { ...record, usage: unused } });
  agentWithUsage.parse(body);
  const { compiled } = openPolicy()('https://api.example/test');
  await openRateLimiter(store.table).consume(countExecution({ principal: 'thumbprint', account: 'thumbprint' }, chargesOf(compiled.rules)));
  expect((await call('get', agentId.normalize('NFD'))).body).toEqual({
    ...record,
    usage: [{ ...unused[0], used: 1, left: 59 }],
  });
});

test('a revocation returns the time, and starts a new generation each time', async () => {
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

describe('an agent with a strange id', () => {
  const through = (create: Create, id: string | undefined, key_thumbprint?: string, body?: object) => {
    // what fetch and browsers make of the address
    const { pathname } = new URL(`https://gate.example${agentAddress(id).path}`);
    const [, agent_id = ''] = /^\/api\/agents\/([^/]+)$/.exec(pathname) ?? [];
    const query = agentAddress(id, key_thumbprint).query;
    return invoke(byAdmin(create(openDeps())), 'PUT /api/agents/{agent_id}', {
      path: { agent_id: decodeURIComponent(agent_id) },
      query,
      body,
    });
  };
  test.each<[odd: string, how: 'id' | 'key' | 'both']>([
    ...['...', 'a/b', '%2e%2e', '100%', 'a?b#c', 'block', '\u{10400}'.repeat(250)].map((odd): [string, 'id'] => [odd, 'id']),
    ['a/..', 'key'],
    ['a/..', 'both'],
  ])('an agent with a strange id is shown, blocked, revoked, approved and removed: %j by %s', async (odd, how) => {
    const own = `key of ${odd.slice(0, 20)}`;
    const key = how === 'id' ? undefined : own;
    const id = how === 'key' ? undefined : odd;
    await bindAgent(store.table, odd, own, firstSeen);
    expect((await through(createGet, id, key)).body).toMatchObject({ agent_id: odd, key_thumbprint: own });
    expect((await through(createRevoke, id, key)).body).toMatchObject({ agent_id: odd, revoked_at: expect.any(String) });
    expect((await through(createApprove, id, key, {})).body).toMatchObject({ agent_id: odd, state: 'active' });
    expect((await through(createBlock, id, key, { reason: 'a test' })).body).toMatchObject({ agent_id: odd, state: 'blocked' });
    expect((await through(createUnblock, id, key)).status).toBe(204);
    expect((await openAgents(store.table).find(odd))?.block).toBeUndefined();
    expect((await through(createDelete, id, key)).status).toBe(204);
    expect(await openAgents(store.table).find(odd)).toBeUndefined();
  });
});

test('an agent_id is refused together with the key of another agent', async () => {
  await bindAgent(store.table, 'another', 'key of another', firstSeen);
  for (const create of [createGet, createRevoke, createDelete, createUnblock]) {
    const query = { key_thumbprint: 'key of another' };
    const answer = await invoke(byAdmin(create(openDeps())), 'PUT /api/agents/{agent_id}', { path: { agent_id: agentId }, query });
    expect(refusalOf(answer)).toMatchObject({ status: 409, details: { reason: 'other_key' } });
  }
});

test('an agent_id in the query, which would be ignored, is refused', async () => {
  const answer = await invoke(byAdmin(createRevoke(openDeps())), 'POST /api/agents/{agent_id}/revoke', {
    path: { agent_id: '~' },
    query: { agent_id: 'one', key_thumbprint: 'key-of-two' },
  });
  expect(refusalOf(answer).details).toEqual({
    issues: [{ path: '/agent_id', problem: 'is not a parameter of this endpoint: put the agent_id into the path' }],
  });
});

test('a key with several ids must be named together with one of them', async () => {
  for (const id of ['one', 'two']) await bindAgent(store.table, id, 'key-of-two', firstSeen);
  const answer = await invoke(byAdmin(createRevoke(openDeps())), 'POST /api/agents/{agent_id}/revoke', {
    path: { agent_id: '~' },
    query: { key_thumbprint: 'key-of-two' },
  });
  expect(refusalOf(answer)).toEqual({
    status: 409,
    code: 'CONFLICT',
    message: 'This key has several agent_ids; see details.agent_ids. Name one of them in the path.',
    details: { reason: 'several_ids', agent_ids: ['one', 'two'] },
  });
});

describe('an agent_id', () => {
  const thumbprint = 'a'.repeat(43);
  test.each<[problem: string, ids: string[]]>([
    ['must not be or look like . or .., which clients remove from paths', ['.', '..', '\uff0e\uff0e', '\u2024']],
    ['must not be ~, which means no agent_id in paths', ['~']],
    [
      'must not end in ~ and a key thumbprint, the suffix of the ids of agents that share an agent_id',
      [`acme~${thumbprint}`, `ac\u200cme~${thumbprint.toUpperCase()}`],
    ],
    [
      'must not begin with signed-in:, the prefix of the ids of signed-in people',
      ['signed-in:a', ' Signed-In:a', 'SIGNED-IN:a', '\u017figned-in:a', '\u00a0signed-in:a', 's\u0131gned-in:a', 'si\u200cgned-in:a'],
    ],
    [
      'must not contain braille blanks, or characters of private use or that Unicode has not assigned',
      ['Acme\u2800', 'Acme\ue000', 'Acme\u{1fffe}'],
    ],
  ])('an agent_id %s: %j is refused', (problem, ids) => {
    for (const id of ids) expect([id, agentIdSchema.safeParse(id).error?.issues.map(({ message }) => message)]).toEqual([id, [problem]]);
  });

  test.each(['...', 'Ágent #1/x', '\u{1f916} bot', `~${'a'.repeat(42)}`])('an agent_id may be %j', (id) => {
    expect(agentIdSchema.safeParse(id).success).toBe(true);
  });
});

test.each(['get', 'revoke', 'delete'] as const)('%s of an unknown agent answers 404 and creates no agent', async (kind) => {
  for (const name of ['nobody', '%20', 'a%0Ab']) {
    expect(refusalOf(await call(kind, name))).toEqual({
      status: 404,
      code: 'NOT_FOUND',
      message: 'No agent with this agent_id is known. Check the agent_id, percent-encoded as UTF-8.',
      details: {},
    });
    expect(await openAgents(store.table).find(name)).toBeUndefined();
  }
});
