import assert from 'node:assert/strict';
import { openApprovals } from '../../../functions/approvals/approvals.ts';
import type { BoundAgent } from '../../../functions/core/activity/agent.ts';
import { operator } from '../../../functions/core/admin/admin.ts';
import { nest } from '../../../functions/core/execution/around.ts';
import { digestHolder, listQueue, maxOfPart, type QueuedCall } from '../../../functions/core/execution/call-queue.ts';
import { openDeferredCalls } from '../../../functions/core/execution/deferred-call-store.ts';
import { openDeferredRun } from '../../../functions/core/execution/deferred-worker.ts';
import { openIdempotentCalls } from '../../../functions/core/execution/idempotent-call-store.ts';
import { openResolver } from '../../../functions/core/execution/resolve.ts';
import { openSlowCalls } from '../../../functions/core/execution/slow-calls.ts';
import { pack, unpack } from '../../../functions/core/json/pack.ts';
import { openRateLimiter } from '../../../functions/core/limit/rate-limiter.ts';
import { newClaims } from '../../../functions/core/pat/token.ts';
import { openIntents } from '../../../functions/core/registry/intents.ts';
import { openServices } from '../../../functions/core/registry/services.ts';
import { keys } from '../../../functions/core/table/keys.ts';
import type { Table } from '../../../functions/core/table/table.ts';
import type { PatClaims } from '../../../schemas/pat.ts';
import { answerFrom, openExecuteOver } from '../../support/actions.ts';
import { waitingForApproval } from '../../support/approvals/approval-parts.ts';
import { bindAgent } from '../../support/bind-agent.ts';
import { approvalTemplate } from '../../support/deferred.ts';
import { invoke } from '../../support/invoke.ts';
import { openPolicy } from '../../support/policy.ts';
import { intentOf, serviceNamed } from '../../support/records.ts';
import type { Caller, Cast, End, Scenario } from '../explore.ts';
import { type MemoryTable, openMemoryTable } from '../memory-table.ts';
import { alike, answerOf, relayFails, requireCodes, times } from '../outcomes.ts';

const uid = 'a.example:b:v1';
const baseUrl = 'https://api.example/test';
const account = 'key';
const always = () => true;
const urlOf = (version: number) => `https://up.example/${version}`;
const intentVersion = (version: number) =>
  intentOf(uid, { endpoint: { url: urlOf(version), method: 'POST', content_type: 'application/json' } });
const policyOf = () => openPolicy(approvalTemplate());

/** Asks for a call that a person has to approve. @returns the id of its execution */
async function ask(table: Table, claims: PatClaims, key: string): Promise<{ status: number; id: string; text: string }> {
  const action = openExecuteOver(table, {
    authenticate: async () => ({ claims, policy: policyOf()(baseUrl), proof: undefined }),
    instead: waitingForApproval(),
    relay: { connect: () => Promise.reject(new Error('a call that waits is made')) },
  });
  const { status, body } = await invoke(action, 'POST /api/intents/execute', {
    headers: { 'Idempotency-Key': key },
    body: { intent_uid: uid, parameters: { code: 'FR' } },
  });
  return { status, id: String(body.execution).split('/').at(-1) ?? '', text: JSON.stringify(body) };
}

/** A table in which calls of an agent wait: made once for each number, and copied. */
const worlds = new Map<number, ReturnType<typeof makeWorld>>();
function worldWith(count: number): ReturnType<typeof makeWorld> {
  const made = worlds.get(count) ?? makeWorld(count);
  worlds.set(count, made);
  return made;
}

async function makeWorld(count: number) {
  const table = openMemoryTable();
  const { service_id } = await openServices(table).create(serviceNamed('Service'));
  await openIntents(table).create(service_id, intentVersion(1));
  const claims = await bind(table);
  const ids: string[] = [];
  for (const at of times(count, (one) => one)) {
    const { status, id, text } = await ask(table, claims, `key-${at}`);
    assert.equal(status, 202, text);
    ids.push(id);
  }
  return { items: table.items(), claims, ids };
}

/** One run of the worker. @param sent - notes the address of each call */
const work = ({ table, act }: Caller, id: string, sent: (url: string) => void) =>
  openDeferredRun({
    deferred: openDeferredCalls(table),
    intents: openIntents(table),
    resolve: openResolver({ intents: openIntents(table), slowCalls: openSlowCalls(table, 'run-deferred-call', 10) }).resolve,
    findPolicy: policyOf(),
    limits: openRateLimiter(table),
    relay: {
      connect: async ({ request: { url } }) => ({
        send: async () => {
          await act('upstream', () => sent(url), { failure: relayFails });
          return answerFrom(url);
        },
        drop: () => {},
      }),
    },
    around: nest(),
    now: Date.now,
  })(id, () => 600_000).catch((error: unknown) => {
    // what Lambda does with it: nothing, for it never tries again
    if (!(error instanceof Error)) throw error;
  });

/** What an admin decides who sees the call now. */
async function decide(table: Table, id: string, decision: 'approve' | 'deny'): Promise<string> {
  const call = await openApprovals(table).find(id);
  if (!call) throw new Error('it is not there');
  return (await openApprovals(table).decide(operator, call, decision, undefined)).decision;
}

interface Setting {
  /** callers by their names, in this order */
  callers: Record<string, (caller: Caller, id: string, sent: (url: string) => void, claims: PatClaims) => Promise<unknown>>;
  budget: Scenario['budget'];
  /** what has happened before, to the first of so many calls */
  before?: { calls: number; happened(table: MemoryTable): Promise<unknown> };
  /** @param sent - the addresses that were called */
  check(end: End, sent: string[], id: string): void | Promise<void>;
}

/** A call of an agent waits for approval, and something happens to it. */
export const waiting = (name: string, promise: string, { callers, budget, before, check }: Setting): Scenario => ({
  name,
  promise,
  budget,
  prepare: async (table) => {
    const { items, ids, claims } = await worldWith(before?.calls ?? 1);
    for (const item of items) await table.put(item);
    await before?.happened(table);
    const [id = ''] = ids;
    const sent: string[] = [];
    return {
      callers: Object.values(callers).map((play) => (caller: Caller) => play(caller, id, (url) => sent.push(url), claims)),
      check: async (end) => {
        await requireListed(end.table);
        assert.ok(sent.length <= 1, `the call was made ${sent.length} times`);
        requireCodes(end, 'CONFLICT', 'SERVICE_UNAVAILABLE');
        await check(end, sent, id);
      },
    };
  },
});

/** Every call that waits has a place in the queue. */
async function requireListed(table: MemoryTable): Promise<void> {
  const listed = (await listQueue(table, 'held', Date.now())).map(({ id }) => id);
  assert.ok(listed.length <= maxOfPart, `${listed.length} calls have places in one part of the queue`);
  const waits = table
    .items()
    .flatMap(({ pk, state, execution_id }) => (pk.startsWith('CALL#') && state === 'waiting' ? [execution_id] : []));
  assert.deepEqual(
    waits.filter((one) => !listed.includes(String(one))),
    [],
    'a call waits that is not in the queue',
  );
}

const partOf = (thumbprint: string): number =>
  (Buffer.from(digestHolder({ cnf: { jkt: thumbprint } } as PatClaims), 'base64url')[0] ?? 0) % 8;

/** The key of another agent, whose calls are in the same part of the queue. */
const otherKey = times(100, (at) => `other key ${at}`).find((one) => partOf(one) === partOf(account)) ?? '';

/** Fills the part of the queue with calls of others who have been known for long and have one call each. */
async function fillQueue(table: MemoryTable): Promise<void> {
  const part = table.items().find(({ sk }) => sk === 'CALLS');
  if (!part) throw new Error('no call waits');
  const calls = (await unpack(part.calls as Uint8Array)) as QueuedCall[];
  const until = Date.now() + 3_600_000;
  const others = times(maxOfPart - calls.length, (at) => ({ id: `0${at}`, holder: `holder ${at}`, agent: 'other', since: 0, until }));
  await table.put({ ...part, calls: await pack([...calls, ...others]) });
  await bind(table, 'other', otherKey);
}

/** Claims of the PAT of an agent. */
async function bind(table: Table, agentId = 'agent', thumbprint = account): Promise<PatClaims> {
  const bound = await bindAgent(table, agentId, thumbprint);
  if (!bound) throw new Error('the agent_id belongs to another key');
  return claimsOf(table, agentId, thumbprint);
}

async function claimsOf(table: Pick<Table, 'get'>, agentId: string, thumbprint: string): Promise<PatClaims> {
  const agent = await table.get<BoundAgent>(keys.agent(agentId));
  if (agent?.thumbprint !== thumbprint) throw new Error('there is no such agent');
  return newClaims({
    baseUrl,
    agent,
    policy: policyOf()(baseUrl),
    hasProof: false,
    domain: undefined,
    clientId: undefined,
    nowMs: Date.now(),
    lifeSeconds: 3_600,
  });
}

export const approveAndWork: Setting['callers'][string] = async (caller, id, sent) => {
  const decision = await decide(caller.table, id, 'approve');
  await work(caller, id, sent);
  return decision;
};

interface Crowd {
  /** @param ids - of the calls that wait */
  callers: (claims: PatClaims, ids: readonly string[]) => Cast['callers'];
  check(end: End): void;
}

/** So many calls of an agent wait, and its queue changes. */
const holding = (name: string, promise: string, count: number, { callers, check }: Crowd): Scenario => ({
  name,
  promise,
  budget: { faults: 1 },
  prepare: async (table) => {
    const { items, claims, ids } = await worldWith(count);
    for (const item of items) await table.put(item);
    return {
      callers: callers(claims, ids),
      check: async (end) => {
        await requireListed(end.table);
        const waitingNow = end.table.items().filter(({ pk, state }) => pk === keys.call(account, '').pk && state === 'waiting');
        assert.ok(waitingNow.length <= 20, `${waitingNow.length} calls wait`);
        check(end);
      },
    };
  },
});

const askedBy = async ({ table }: Caller, claims: PatClaims, key: string): Promise<number> => (await ask(table, claims, key)).status;

/** The first call was approved, and the table failed before it was sent. */
const makeKept = (table: MemoryTable) =>
  table.update(keys.call(account, 'key-0'), {
    set: { state: 'done', decision: 'approve', may_repeat: true, until: Date.now() + 3_600_000 },
  });

/** The same, and it has been requested again. */
const makeResumed = (table: MemoryTable) =>
  table.update(keys.call(account, 'key-0'), {
    set: { state: 'queued', decision: 'approve', run: 'first', until: Date.now() + 3_600_000 },
  });

const askAndWork: Setting['callers'][string] = async (caller, id, sent, claims) => {
  const { status } = await ask(caller.table, claims, 'key-0');
  await work(caller, id, sent);
  return status;
};

export const approvalScenarios: Scenario[] = [
  waiting('waiting call displaced by another beside its approval', 'a call that is displaced is void, and not made', {
    before: { calls: 2, happened: fillQueue },
    callers: {
      approve: approveAndWork,
      displace: async ({ table }) => (await ask(table, await claimsOf(table, 'other', otherKey), 'new')).status,
    },
    budget: { faults: 1, crashes: 1 },
    check: async ({ outcomes, table, isUndisturbed }, sent, id) => {
      const [isApproved, isAccepted] = [answerOf(outcomes[0]) === 'approve', answerOf(outcomes[1]) === 202];
      const state = (await openDeferredCalls(table).find(id))?.item.state;
      if (isUndisturbed) assert.ok(isAccepted, 'a call of an agent with fewer calls was refused');
      if (isUndisturbed) assert.ok(isApproved !== (state === 'void'), `a call is ${state}, and was ${isApproved ? '' : 'not '}approved`);
      if (state === 'void') assert.deepEqual([sent, isApproved], [[], false], 'a displaced call was approved or made');
    },
  }),
  waiting('approved call that was not sent, requested again twice', 'an approval permits one call, which is made once', {
    before: { calls: 1, happened: makeKept },
    callers: { ask: askAndWork, again: askAndWork },
    budget: { faults: 1, crashes: 1 },
    check: ({ outcomes, isUndisturbed }, sent) => {
      if (isUndisturbed) assert.equal(sent.length, 1, `a call that was approved was not made: ${outcomes.map(answerOf)}`);
    },
  }),
  waiting(
    'approved call that was not sent, requested again before its outcome is told',
    'an approval permits one call, which is made once',
    {
      before: { calls: 1, happened: makeResumed },
      callers: {
        // a request that tells the outcome frees the key, however late
        told: async ({ table }, id) => openIdempotentCalls(table).free({ account, key: 'key-0', nowMs: Date.now() }, id, 'first'),
        work: async (caller, id, sent, claims) => {
          await work(caller, id, sent);
          return askAndWork(caller, id, sent, claims);
        },
      },
      budget: { faults: 1 },
      check: ({ isUndisturbed }, sent) => {
        if (isUndisturbed) assert.equal(sent.length, 1, 'a call that was approved was not made');
      },
    },
  ),
  waiting('waiting call approved, its worker started three times', 'an approval permits one call, which is made once', {
    callers: { approve: approveAndWork, work, again: work },
    budget: { faults: 1, crashes: 1 },
    check: ({ isUndisturbed }, sent) => {
      if (isUndisturbed) assert.equal(sent.length, 1, 'an approved call was not made');
    },
  }),
  waiting('waiting call approved beside a denial', 'of two decisions one takes effect, and a call that was denied is not made', {
    callers: { approve: approveAndWork, deny: async ({ table }, id) => decide(table, id, 'deny'), work },
    budget: { faults: 1, crashes: 1 },
    check: async ({ outcomes, table, isUndisturbed }, sent, id) => {
      const [approved, denied] = outcomes.map((outcome) => answerOf(outcome) !== undefined);
      assert.ok(!(approved && denied), 'two decisions were answered as effective');
      if (isUndisturbed) assert.ok(approved || denied, 'no decision took effect');
      const item = (await openDeferredCalls(table).find(id))?.item;
      assert.ok(item && !(item.state === 'denied' && sent.length > 0), 'a call was made that had been denied');
      if (sent.length > 0) assert.equal(item.decision, 'approve', 'a call was made that nobody had approved');
    },
  }),
  waiting('waiting call approved beside a change of the intent', 'what is called is what was shown', {
    callers: {
      approve: approveAndWork,
      change: async ({ table }) => (await openIntents(table).replace(uid, intentVersion(2), always)) && 'changed',
    },
    budget: { faults: 1, crashes: 1 },
    check: (_, sent) =>
      assert.deepEqual(
        sent,
        sent.map(() => urlOf(1)),
        'an intent was called that nobody had been shown',
      ),
  }),
  holding('waiting calls when one place is left', 'at most 20 calls of a holder wait', 19, {
    callers: (claims) => alike(3, (caller, at) => askedBy(caller, claims, `new-${at}`)),
    check: ({ outcomes, isUndisturbed }) => {
      const accepted = outcomes.filter((outcome) => answerOf(outcome) === 202).length;
      assert.ok(accepted <= 1, `${accepted} calls were accepted for one place`);
      if (isUndisturbed) assert.equal(accepted, 1, 'no call was accepted though there was a place');
    },
  }),
  holding('waiting calls when a denial makes room for one', 'at most 20 calls of a holder wait', 20, {
    callers: (claims, [first = '']) => [
      async (caller) => {
        await decide(caller.table, first, 'deny');
        for (const key of ['new-0', 'new-1']) await askedBy(caller, claims, key).catch(() => 0);
      },
    ],
    check: () => {},
  }),
  holding('first two calls that wait', 'a call that waits is in the queue', 0, {
    callers: (claims) => alike(2, (caller, at) => askedBy(caller, claims, `new-${at}`)),
    check: ({ outcomes, isUndisturbed }) => {
      if (isUndisturbed) assert.deepEqual(outcomes.map(answerOf), [202, 202]);
    },
  }),
  holding('waiting calls when one is denied and another comes', 'a call that waits is in the queue', 1, {
    callers: (claims, [first = '']) => [
      async (caller) => decide(caller.table, first, 'deny'),
      async (caller) => askedBy(caller, claims, 'new'),
    ],
    check: () => {},
  }),
  holding('one call asked for three times, which waits', 'a key stands for one call', 0, {
    callers: (claims) => alike(3, (caller) => askedBy(caller, claims, 'one')),
    check: ({ table, outcomes, isUndisturbed }) => {
      const executions = table.items().filter(({ pk }) => String(pk).startsWith('EXECUTION#'));
      assert.ok(executions.length <= 1, `${executions.length} calls wait under one key`);
      if (isUndisturbed) assert.deepEqual(outcomes.map(answerOf), [202, 202, 202]);
    },
  }),
];
