import { beforeEach, describe, expect, jest, test } from '@jest/globals';
import { calculateJwkThumbprint, decodeJwt, type JWK } from 'jose';
import { openAgents } from '../../../functions/agents/agents.ts';
import { approvalCheckFromEnvironment, openApprovalCheck } from '../../../functions/agents/approval-check.ts';
import { createAction as createApprove } from '../../../functions/agents/approve-agent.ts';
import { createAction as createBlock } from '../../../functions/agents/block-agent.ts';
import { createAction as createClear } from '../../../functions/agents/clear-waiting-agents.ts';
import { createAction as createGet } from '../../../functions/agents/get-agent.ts';
import { createAction as createList } from '../../../functions/agents/list-agents.ts';
import { approvalKeys } from '../../../functions/agents/records.ts';
import { createAction as createUnblock } from '../../../functions/agents/unblock-agent.ts';
import { maxWaiting, requestApproval } from '../../../functions/agents/waiting-agents.ts';
import { isRevoked } from '../../../functions/core/activity/agent.ts';
import { operator } from '../../../functions/core/admin/admin.ts';
import { outwaitEarlierReads, recheckAfterMs } from '../../../functions/core/execution/block-check.ts';
import { openDeferredCalls } from '../../../functions/core/execution/deferred-call-store.ts';
import { openRateLimiter } from '../../../functions/core/limit/rate-limiter.ts';
import { log } from '../../../functions/core/runtime/log.ts';
import { agentPage, agentWithUsage } from '../../../schemas/agents/agents.ts';
import { makeAgent, signJws, signProof } from '../../support/agent-keys.ts';
import { startExecuting } from '../../support/executing.ts';
import { type Agent, baseUrl, execute, newAgent, obtainPat, post, requestPat } from '../../support/gate.ts';
import { type Answer, byAdmin, invoke, nextQuery, refusalOf } from '../../support/invoke.ts';
import { letPass } from '../../support/let-pass.ts';
import { loadPolicyTemplate, openPolicy } from '../../support/policy.ts';
import { intentOf } from '../../support/records.ts';
import { refusals } from '../../support/registry.ts';

const { gate, upstream, serviceId, endpointAt } = await startExecuting();
const agents = openAgents(gate.database.table);
const openIssue = (template = loadPolicyTemplate(), isApprovalRequired = false, isSharingAllowed = false) =>
  gate.openIssue(template, {
    checks: [openApprovalCheck(gate.database.table, isApprovalRequired)],
    settings: { isSharingAllowed },
  });
const uid = 'test.example:stop:v1';
await gate.intents.create(serviceId, intentOf(uid, { endpoint: endpointAt() }));

beforeEach(() => {
  jest.restoreAllMocks();
  upstream.seen.length = 0;
  gate.database.operations.length = 0;
});

const block = (agent_id: string, outwait = async (): Promise<void> => {}, reason = 'Too many calls', query = {}): Promise<Answer> =>
  invoke(byAdmin(createBlock({ agents, deferred: openDeferredCalls(gate.database.table), outwait })), 'PUT /api/agents/{agent_id}/block', {
    path: { agent_id },
    query,
    body: { reason },
  });
const unblock = (agent_id: string, query = {}) =>
  invoke(byAdmin(createUnblock({ agents })), 'DELETE /api/agents/{agent_id}/block', { path: { agent_id }, query });
const approve = (agent_id: string, body: object = {}, query: Record<string, string> = {}) =>
  invoke(byAdmin(createApprove({ agents })), 'POST /api/agents/{agent_id}/approve', { path: { agent_id }, query, body });
const findPolicy = openPolicy();
const show = (agent_id: string) =>
  invoke(byAdmin(createGet({ agents, findPolicy, limits: openRateLimiter(gate.database.table) })), 'GET /api/agents/{agent_id}', {
    path: { agent_id },
  });
const list = (query: Record<string, string>) => invoke(byAdmin(createList({ agents })), 'GET /api/agents', { query });
const run = (pat: string, steps = gate.openExecute(), headers = {}) => execute(steps, pat, uid, { code: 'FR' }, headers);
/** The policy with a limit of two calls an hour. */
const twiceAnHour = () =>
  JSON.parse(JSON.stringify(loadPolicyTemplate()).replaceAll(':60,', ':2,').replaceAll('vocabulary/minute', 'vocabulary/hour'));
const thumbprintOf = async (agentId: string) => (await agents.find(agentId))?.thumbprint;

const blockedMessage =
  'The operators of this gate have blocked this agent. Using another agent_id or PAT will not help. Stop, and contact them.';
const blockedAtIssue = { status: 403, code: 'POLICY_REJECTED', message: blockedMessage, details: { reason: 'agent_blocked' } };
const blockedAtUse = { status: 403, code: 'FORBIDDEN', message: blockedMessage, details: { reason: 'agent_blocked' } };
const pending = {
  status: 403,
  code: 'POLICY_REJECTED',
  message:
    'The operators of this gate must approve each agent before it can get its first PAT. This agent is waiting for approval; ask again once it is approved.',
  details: { reason: 'approval_pending' },
};
describe('a blocked agent', () => {
  const cases: [string, (agent: Agent, other: Agent) => Agent][] = [
    ['as it is', (agent) => agent],
    ['in another spelling', (agent) => ({ ...agent, agentId: ` ${agent.agentId.toUpperCase()}` })],
    ['with its key under another agent_id', (agent, other) => ({ ...agent, agentId: other.agentId })],
    ['under its agent_id with another key', (agent, other) => ({ ...other, agentId: agent.agentId })],
  ];

  test.each(cases)('a blocked agent %s gets no PAT, even after its id has been freed, and costs no write', async (_, as) => {
    const agent = await newAgent();
    const presented = as(agent, await newAgent());
    await obtainPat(gate, agent);
    await block(agent.agentId);
    gate.database.operations.length = 0;
    expect(refusalOf(await requestPat(openIssue(), presented))).toEqual(blockedAtIssue);
    expect(gate.database.operations).toEqual(['BatchGetItem']);
    expect(await agents.unbind(operator, { agentId: agent.agentId })).toBe(true);
    expect(refusalOf(await requestPat(openIssue(), presented))).toEqual(blockedAtIssue);
    expect((await unblock(agent.agentId)).status).toBe(204);
    expect((await requestPat(openIssue(), presented)).status).toBe(200);
  });

  test('a blocked agent executes nothing from the next request on, under any of its names, at the cost of one read', async () => {
    const agent = await newAgent();
    const pats = [await obtainPat(gate, agent), await obtainPat(gate, { ...agent, agentId: `${agent.agentId} two` })];
    const steps = gate.openExecute();
    for (const pat of pats) expect((await run(pat, steps)).status).toBe(200);
    await block(agent.agentId);
    for (const pat of pats) {
      gate.database.operations.length = upstream.seen.length = 0;
      const refused = await run(pat, steps, { 'Idempotency-Key': 'k' });
      expect(refusalOf(refused)).toEqual(blockedAtUse);
      expect(gate.database.operations.slice(0, 1)).toEqual(['BatchGetItem']);
      expect(gate.database.operations.filter((operation) => /Put|Update|Delete/.test(operation))).toEqual([]);
      expect(upstream.seen).toEqual([]);
    }
    await unblock(agent.agentId);
    for (const pat of pats) expect((await run(pat, steps)).status).toBe(200);
  });

  test('a blocked agent may be unknown to the gate', async () => {
    const agent = await newAgent();
    const { status, body } = await block(agent.agentId);
    expect({ status, body }).toEqual({
      status: 200,
      body: { agent_id: agent.agentId, state: 'blocked', block: { reason: 'Too many calls', blocked_at: expect.any(String) } },
    });
    expect(refusalOf(await requestPat(openIssue(), agent))).toEqual(blockedAtIssue);
    await unblock(agent.agentId);
    expect((await show(agent.agentId)).status).toBe(404);
    expect((await requestPat(openIssue(), agent)).status).toBe(200);
  });

  test('a blocked agent may be named by its key alone, before its first request', async () => {
    const agent = await newAgent();
    const key_thumbprint = await calculateJwkThumbprint(JSON.parse(agent.publicJwk));
    const { status, body } = await block('~', undefined, undefined, { key_thumbprint });
    expect({ status, body }).toMatchObject({ status: 200, body: { agent_id: `~${key_thumbprint}`, state: 'blocked' } });
    for (const agentId of [agent.agentId, 'another']) {
      expect(refusalOf(await requestPat(openIssue(), { ...agent, agentId }))).toEqual(blockedAtIssue);
    }
    expect((await unblock('~', { key_thumbprint })).status).toBe(204);
    expect((await requestPat(openIssue(), agent)).status).toBe(200);
  });

  test('a blocked agent can be blocked again, with another reason; an agent that is not blocked cannot be unblocked', async () => {
    const agent = await newAgent();
    await obtainPat(gate, agent);
    await block(agent.agentId);
    expect((await block(agent.agentId, undefined, 'Another reason')).body.block.reason).toBe('Another reason');
    await unblock(agent.agentId);
    expect((await requestPat(openIssue(), agent)).status).toBe(200);
    expect(refusalOf(await unblock(agent.agentId))).toEqual({
      status: 404,
      code: 'NOT_FOUND',
      message: 'No agent with this agent_id is blocked. Check the agent_id, percent-encoded as UTF-8.',
      details: {},
    });
  });

  test('a block requires a reason', async () => {
    expect(refusalOf(await block('x', undefined, ''))).toMatchObject({ status: 400, code: 'INVALID_PARAMETER' });
  });

  test('an agent is blocked immediately; the response waits until executions that read it earlier can send nothing more', async () => {
    const { agentId } = await newAgent();
    const outwaited = Promise.withResolvers<void>();
    const blocking = block(agentId, () => outwaited.promise);
    while (!(await agents.find(agentId))?.block);
    expect(await Promise.race([blocking, 'no answer'])).toBe('no answer');
    outwaited.resolve();
    expect((await blocking).status).toBe(200);

    jest.useFakeTimers();
    try {
      const waiting = outwaitEarlierReads().then(() => 'over');
      await jest.advanceTimersByTimeAsync(recheckAfterMs);
      expect(await Promise.race([waiting, 'waiting'])).toBe('waiting');
      await jest.advanceTimersByTimeAsync(100);
      expect(await waiting).toBe('over');
    } finally {
      jest.useRealTimers();
    }
  });
});

test('an intent that is deleted while connecting is not called', async () => {
  const pat = await obtainPat(gate, await newAgent());
  const doomed = `${uid.slice(0, uid.lastIndexOf(':'))}:v99`;
  await gate.intents.create(serviceId, intentOf(doomed, { endpoint: endpointAt() }));
  const connect = async () => {
    await gate.intents.remove(doomed, () => true);
    letPass(recheckAfterMs + 50);
  };
  upstream.seen.length = 0;
  const answer = await execute(gate.openExecute({ connect }), pat, doomed, { code: 'FR' });
  expect(refusalOf(answer)).toMatchObject({ status: 409, code: 'VERSION_CONFLICT' });
  expect(upstream.seen).toEqual([]);
});

describe('required approval', () => {
  const ask = (agent: Agent) => requestPat(openIssue(loadPolicyTemplate(), true), agent);

  test('an agent waits until it is approved together with its key, if approval is required', async () => {
    const agent = await newAgent();
    expect(refusalOf(await ask(agent))).toEqual(pending);
    gate.database.operations.length = 0;
    expect(refusalOf(await ask(agent))).toEqual(pending);
    expect(gate.database.operations).toEqual(['BatchGetItem']);
    const shown = await show(agent.agentId);
    agentWithUsage.parse(shown.body);
    const { usage, ...body } = shown.body;
    expect(usage).toEqual([expect.objectContaining({ limit: 'execute', used: 0, left: 60 })]);
    expect(body).toEqual({
      agent_id: agent.agentId,
      state: 'pending',
      key_thumbprint: expect.any(String),
      first_seen: expect.any(String),
    });
    expect((await approve(agent.agentId, { key_thumbprint: body.key_thumbprint })).body).toEqual({ ...body, state: 'active' });
    expect((await approve(agent.agentId)).status).toBe(200);
    expect((await ask(agent)).status).toBe(200);
  });

  test('an agent with earlier PATs needs no approval, unless it was unbound', async () => {
    const agent = await newAgent();
    await obtainPat(gate, agent);
    expect((await ask(agent)).status).toBe(200);
    await agents.unbind(operator, { agentId: agent.agentId });
    expect(refusalOf(await ask(agent))).toEqual(pending);
  });

  test('a waiting agent can be blocked, and then cannot be approved', async () => {
    const agent = await newAgent();
    await ask(agent);
    await block(agent.agentId);
    expect(refusalOf(await ask(agent))).toEqual(blockedAtIssue);
    expect(refusalOf(await ask({ ...agent, agentId: `${agent.agentId}-2` }))).toEqual(blockedAtIssue);
    expect(refusalOf(await approve(agent.agentId))).toMatchObject({ status: 409, details: { reason: 'agent_blocked' } });
    await unblock(agent.agentId);
    expect(refusalOf(await ask(agent))).toEqual(pending);
  });

  test('an agent cannot be approved without a key', async () => {
    expect(refusalOf(await approve('nobody'))).toEqual({
      status: 404,
      code: 'NOT_FOUND',
      message:
        'No agent with this agent_id is waiting for approval. To approve one in advance, name its key in the query parameter key_thumbprint.',
      details: {},
    });
  });

  const keyOf = async ({ publicJwk }: Agent) => calculateJwkThumbprint(JSON.parse(publicJwk));

  test('several keys may wait under one id, and an approval names one of them', async () => {
    const stranger = await newAgent();
    const partner = { ...(await newAgent()), agentId: stranger.agentId };
    const [strangersKey, partnersKey] = [await keyOf(stranger), await keyOf(partner)];
    for (const agent of [stranger, partner]) expect(refusalOf(await ask(agent))).toEqual(pending);
    const severalKeys = {
      status: 409,
      code: 'CONFLICT',
      message:
        'Several keys wait for approval under this agent_id; see details.key_thumbprints. Name one of them in the query parameter key_thumbprint.',
      details: { reason: 'several_keys', key_thumbprints: expect.arrayContaining([strangersKey, partnersKey]) },
    };
    expect(refusalOf(await approve(partner.agentId))).toEqual(severalKeys);
    expect(refusalOf(await show(partner.agentId))).toEqual(severalKeys);
    expect((await approve(partner.agentId, {}, { key_thumbprint: partnersKey })).body).toMatchObject({
      state: 'active',
      key_thumbprint: partnersKey,
    });
    expect((await ask(partner)).status).toBe(200);
    expect(refusalOf(await ask(stranger))).toEqual(refusals.boundAgentId);
    const otherKey = {
      status: 409,
      code: 'CONFLICT',
      message: 'The agent_id belongs to another key. Leave out key_thumbprint, or name the agent_id of that key.',
      details: { reason: 'other_key' },
    };
    expect(refusalOf(await approve(partner.agentId, { key_thumbprint: strangersKey }))).toEqual(otherKey);
    expect(refusalOf(await approve(partner.agentId, { key_thumbprint: strangersKey }, { key_thumbprint: partnersKey }))).toMatchObject({
      status: 400,
      code: 'INVALID_PARAMETER',
    });
  });

  test('an id and a key can be approved before their first request', async () => {
    const agent = await newAgent();
    expect((await approve(agent.agentId, { key_thumbprint: await keyOf(agent) })).status).toBe(200);
    expect(refusalOf(await ask({ ...(await newAgent()), agentId: agent.agentId }))).toEqual(refusals.boundAgentId);
    expect((await ask(agent)).status).toBe(200);
  });

  test('a waiting agent expires after seven days', async () => {
    const agent = await newAgent();
    await ask(agent);
    const { table } = gate.database;
    const past = { set: { expires_at: Math.floor(Date.now() / 1000) } };
    await table.update(approvalKeys.waiting(agent.agentId, await keyOf(agent)), past);
    expect((await show(agent.agentId)).status).toBe(404);
    expect((await approve(agent.agentId)).status).toBe(404);
    expect(refusalOf(await ask(agent))).toEqual(pending);
    expect((await show(agent.agentId)).status).toBe(200);
  });

  test('a full queue drops the oldest agent, and one call clears it', async () => {
    const { table } = gate.database;
    const clear = () => invoke(byAdmin(createClear({ agents })), 'DELETE /api/agents', { query: { state: 'pending' } });
    expect((await clear()).status).toBe(204);
    const queued = async () => {
      const found: string[] = [];
      let displaced: number | undefined;
      for (let query: Record<string, string> | undefined = { state: 'pending', page_size: '100' }; query; ) {
        const page: Answer = await list(query);
        const { body } = page;
        agentPage.parse(body);
        found.push(...body.agents.map(({ agent_id }: { agent_id: string }) => agent_id));
        displaced = body.displaced;
        query = nextQuery(page);
      }
      return { found, displaced };
    };
    const ask = (agentId: string) => requestApproval(gate.database.table, { agentId, thumbprint: 'key', nowMs: Date.now() });
    for (const id of ['oldest', 'next']) await ask(id);
    // as if the queue had filled up since
    await table.update(approvalKeys.waitingAgents(), { add: [['asked', maxWaiting - 2]] });
    await ask('newest');
    expect(await queued()).toEqual({ found: ['newest', 'next'], displaced: 1 });
    expect((await show('oldest')).status).toBe(404);
    expect((await show('newest')).status).toBe(200);
    expect((await clear()).status).toBe(204);
    expect(await queued()).toEqual({ found: [], displaced: 0 });
    expect((await show('newest')).status).toBe(404);
    expect((await clear()).status).toBe(204);
  });
});

test('agents are listed by state, in pages', async () => {
  const prefix = `listed-${Date.now()}`;
  const agents = await Promise.all(['C', 'a', 'B', 'd'].map((name) => newAgent(`${prefix}-${name}`)));
  for (const agent of agents) await obtainPat(gate, agent);
  await block(`${prefix}-d`);
  const after = prefix;
  const seen: string[] = [];
  let query: Record<string, string> | undefined = { page_size: '2', after };
  for (let page = 0; query && page < 3; page++) {
    gate.database.operations.length = 0;
    const answer: Answer = await list(query);
    agentPage.parse(answer.body);
    expect(gate.database.operations).toEqual(answer.body.agents.length > 0 ? ['Query', 'BatchGetItem'] : ['Query']);
    seen.push(...answer.body.agents.map(({ agent_id }: { agent_id: string }) => agent_id));
    query = nextQuery(answer);
  }
  expect(seen.filter((id) => id.startsWith(prefix))).toEqual(['a', 'B', 'C'].map((name) => `${prefix}-${name}`));
  const { body } = await list({ state: 'blocked', after });
  expect(body.agents.find(({ agent_id }: { agent_id: string }) => agent_id === `${prefix}-d`)).toMatchObject({ state: 'blocked' });
  for (const wrong of [{ state: 'sleeping' }, { page: '2' }, { page_size: '101' }]) {
    expect(refusalOf(await list(wrong as Record<string, string>))).toMatchObject({ status: 400, code: 'INVALID_PARAMETER' });
  }
});

test.each([
  ['with a joiner between letters, which some scripts need', (id: string) => id.replace('cm', 'c\u200dm')],
  ['with two spaces inside', (id: string) => id.replace(' ', '  ')],
])('an agent_id that looks like another (%s) belongs to the same key, which keeps its first spelling', async (_, change) => {
  const agent = await newAgent(`Acme bot ${Math.random()}`);
  await obtainPat(gate, agent);
  expect(refusalOf(await requestPat(openIssue(), await newAgent(change(agent.agentId))))).toEqual(refusals.boundAgentId);
  const pat = await obtainPat(gate, { ...agent, agentId: change(agent.agentId) });
  expect(decodeJwt(pat).sub).toBe(agent.agentId);
  expect((await run(pat)).status).toBe(200);
});

describe('a proof of possession', () => {
  const { text } = findPolicy(baseUrl);
  const missing = {
    status: 400,
    code: 'INVALID_SIGNATURE',
    message:
      'A PAT with proof of possession has been issued to this agent or its key, so every later request needs a proof, too. Send a DPoP header (RFC 9449) made with agent_public_key.',
    details: {},
  };

  test('a proof of possession is required for every PAT after the first with one, by id and by key, until the id is freed', async () => {
    const agent = await makeAgent();
    const request = { agent_id: agent.thumbprint, signed_policy: await signJws(agent, text), agent_public_key: agent.pem };
    const issue = openIssue();
    const ask = (more: object = {}, headers = {}) => post(issue, '/api/pat/issue', { ...request, ...more }, headers);
    expect((await ask()).status).toBe(200);
    expect((await ask({}, { DPoP: await signProof(agent, { url: `${baseUrl}/api/pat/issue` }) })).status).toBe(200);
    expect(refusalOf(await ask())).toEqual(missing);
    expect(refusalOf(await ask({ agent_id: 'another name' }))).toEqual(missing);
    expect((await show(agent.thumbprint)).body.proof_required).toBe(true);
    expect((await ask({}, { DPoP: await signProof(agent, { url: `${baseUrl}/api/pat/issue` }) })).status).toBe(200);
    await agents.unbind(operator, { agentId: agent.thumbprint });
    expect((await ask()).status).toBe(200);
  });

  test('a proof of possession is not stored for a call that is known to exceed the limit', async () => {
    const agent = await makeAgent();
    const key = { agentId: agent.thumbprint, privateKey: agent.privateKey as never, publicJwk: JSON.stringify(agent.jwk as JWK) };
    const template = twiceAnHour();
    const pat = await obtainPat(gate, key, template);
    const steps = gate.openExecute({ template });
    const proofOf = () => signProof(agent, { url: `${baseUrl}/api/intents/execute`, token: pat });
    while ((await run(pat, steps)).status !== 429);
    const calls = [{}, { 'Idempotency-Key': 'new' }];
    for (const more of calls) {
      gate.database.operations.length = 0;
      expect((await run(pat, steps, { ...more, DPoP: await proofOf() })).status).toBe(429);
      expect(gate.database.operations.filter((operation) => /Put|Update/.test(operation))).toEqual([]);
    }
  });
});

test('a deletion frees the agent_id, and does not restore earlier PATs', async () => {
  const first = await newAgent();
  const { agentId } = first;
  const claimsOf = async (agent: Agent) => decodeJwt<{ gen: string }>(await obtainPat(gate, agent));
  const early = await claimsOf(first);
  expect(await agents.unbind(operator, { agentId })).toBe(true);
  expect(isRevoked(await agents.find(agentId), early)).toBe(true);
  await claimsOf(await newAgent(agentId));
  expect(isRevoked(await agents.find(agentId), early)).toBe(true);
  await agents.unbind(operator, { agentId });
  const again = await claimsOf(first);
  expect(isRevoked(await agents.find(agentId), early)).toBe(true);
  expect(isRevoked(await agents.find(agentId), again)).toBe(false);
});

test('a PAT request that is known to exceed the limit writes nothing', async () => {
  const agent = await makeAgent();
  const issue = openIssue();
  const { text } = findPolicy(baseUrl);
  const ask = async (jti: string) => {
    const claims = { jti, exp: Math.floor(Date.now() / 1000) + 60 };
    const signed_policy = await signJws(agent, text, claims);
    return post(issue, '/api/pat/issue', { agent_id: agent.thumbprint, signed_policy, agent_public_key: agent.pem });
  };
  for (let count = 0; count <= 60; count++) await ask(`known-${count}`);
  gate.database.operations.length = 0;
  expect((await ask('beyond')).status).toBe(429);
  expect(gate.database.operations).toEqual([]);
}, 30_000);

describe('an agent_id shared by several keys', () => {
  const share = (isApprovalRequired = false) => openIssue(loadPolicyTemplate(), isApprovalRequired, true);
  const subjectOf = (pat = '') => String(decodeJwt(pat).sub);
  const issued = async (agent: Agent, steps = share()): Promise<string> => {
    const { status, body } = await requestPat(steps, agent);
    expect({ status, body }).toEqual({ status: 200, body: { 'proto-pat': expect.any(String), expires_at: expect.any(String) } });
    return body['proto-pat'];
  };
  /** Three keys under one id, which belongs to the first. */
  async function makeSharers() {
    const first = await newAgent();
    const others = [await newAgent(first.agentId), await newAgent(first.agentId.toUpperCase())];
    return [first, ...others] as [Agent, Agent, Agent];
  }

  test('an agent_id shared by several keys stands for one agent per key, each with PATs of its own', async () => {
    const sharers = await makeSharers();
    const [first, second] = sharers;
    const pats: string[] = [];
    for (const agent of [...sharers, ...sharers]) pats.push(await issued(agent));
    const names = pats.slice(0, 3).map(subjectOf) as [string, string, string];
    expect(names).toEqual([
      first.agentId,
      `${first.agentId}~${await thumbprintOf(names[1])}`,
      `${first.agentId.toUpperCase()}~${await thumbprintOf(names[2])}`,
    ]);
    expect(new Set(await Promise.all(names.map(thumbprintOf))).size).toBe(3);
    expect(pats.slice(3).map(subjectOf)).toEqual(names);
    const steps = gate.openExecute();
    for (const pat of pats) expect((await run(pat, steps)).status).toBe(200);
    expect(agentWithUsage.parse((await show(names[1])).body)).toMatchObject({ agent_id: names[1], state: 'active' });

    await agents.revoke(operator, { agentId: names[1] });
    expect(await Promise.all(pats.map(async (pat) => (await run(pat, steps)).status))).toEqual([200, 401, 200, 200, 401, 200]);
    expect((await run(await issued(second), steps)).status).toBe(200);
  });

  test('an agent_id shared by several keys can be blocked for all its keys or for one', async () => {
    const sharers = await makeSharers();
    const [first, second, third] = sharers;
    const pats: string[] = [];
    for (const agent of sharers) pats.push(await issued(agent));
    const steps = gate.openExecute();
    const statuses = () => Promise.all(pats.map(async (pat) => (await run(pat, steps)).status));

    await block(subjectOf(pats[1]));
    expect(await statuses()).toEqual([200, 403, 200]);
    expect(refusalOf(await requestPat(share(), second))).toEqual(blockedAtIssue);
    expect(refusalOf(await requestPat(share(), { ...second, agentId: 'another name' }))).toEqual(blockedAtIssue);
    await unblock(subjectOf(pats[1]));
    expect(await statuses()).toEqual([200, 200, 200]);

    await block(first.agentId);
    expect(await statuses()).toEqual([403, 403, 403]);
    gate.database.operations.length = 0;
    for (const agent of [...sharers, await newAgent(first.agentId)]) {
      expect(refusalOf(await requestPat(share(), agent))).toEqual(blockedAtIssue);
    }
    expect(gate.database.operations.filter((name) => !/Get/.test(name))).toEqual([]);
    await unblock(first.agentId);
    expect(await statuses()).toEqual([200, 200, 200]);
    expect((await requestPat(share(), third)).status).toBe(200);
  });

  test('an agent_id shared by several keys is approved key by key', async () => {
    const [first, second] = await makeSharers();
    expect(refusalOf(await requestPat(share(true), first))).toEqual(pending);
    expect(refusalOf(await requestPat(share(true), second))).toEqual(pending);
    expect((await approve(first.agentId, { key_thumbprint: await calculateJwkThumbprint(JSON.parse(first.publicJwk)) })).status).toBe(200);
    expect((await requestPat(share(true), first)).status).toBe(200);
    expect(refusalOf(await requestPat(share(true), second))).toEqual(pending);
    const { body } = await list({ state: 'pending', page_size: '100' });
    const waiting = body.agents.map(({ agent_id }: { agent_id: string }) => agent_id);
    const name = waiting.find((id: string) => id.startsWith(`${first.agentId}~`));
    expect((await approve(name)).status).toBe(200);
    expect((await requestPat(share(true), second)).status).toBe(200);
  });
});

test('replays write nothing, and are limited to ten for each call of the rate', async () => {
  const agent = await newAgent();
  const template = twiceAnHour();
  const pat = await obtainPat(gate, agent, template);
  const steps = gate.openExecute({ template });
  const replay = () => run(pat, steps, { 'Idempotency-Key': 'again' });
  expect((await replay()).status).toBe(200);
  gate.database.operations.length = 0;
  for (let count = 0; count < 20; count++) {
    expect(await replay()).toMatchObject({ status: 200, headers: { 'Idempotent-Replayed': 'true' } });
  }
  expect(new Set(gate.database.operations)).toEqual(new Set(['BatchGetItem', 'GetItem']));
  const refused = await replay();
  expect(refusalOf(refused)).toEqual({
    status: 429,
    code: 'TOO_MANY_REQUESTS',
    message:
      'You have repeated too many requests under used Idempotency-Keys. Keep the answers that you get; send this request again after Retry-After seconds.',
    details: { reason: 'replays', limit: { rate: 20, period: 3_600 }, retry_after_seconds: expect.any(Number) },
  });
  expect(Number(refused.headers['Retry-After'])).toBeGreaterThan(3_000);
  expect((await replay()).status).toBe(429);
  expect((await run(pat, steps, { 'Idempotency-Key': 'new' })).status).toBe(200);
  expect((await run(pat, steps, { 'Idempotency-Key': 'new' })).status).toBe(429);
});

test('each issued PAT is logged with its agent, and without secrets', async () => {
  const written = jest.spyOn(log, 'info').mockReturnValue(undefined);
  try {
    const agent = await newAgent();
    const pat = await obtainPat(gate, agent);
    const { cnf, jti } = decodeJwt<{ cnf: { jkt: string } }>(pat);
    const lines = written.mock.calls.filter(([message]) => message === 'issued');
    const named = { request_id: 'request-1', agent_id: agent.agentId, thumbprint: cnf.jkt, jti, policy_digest: findPolicy(baseUrl).digest };
    expect(lines).toEqual([['issued', named]]);
  } finally {
    written.mockRestore();
  }
});

test('a function that is not told whether agents need approval does not start', () => {
  const { AGENTS } = process.env;
  delete process.env.AGENTS;
  try {
    expect(() => approvalCheckFromEnvironment(gate.database.table)).toThrow(new TypeError('missing environment variables: AGENTS'));
  } finally {
    process.env.AGENTS = AGENTS;
  }
});
