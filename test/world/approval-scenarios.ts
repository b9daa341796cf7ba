import assert from 'node:assert/strict';
import { openAgents } from '../../functions/core/activity/agents.ts';
import { operator } from '../../functions/core/admin/admin.ts';
import { openApprovals } from '../../functions/core/approvals/approvals.ts';
import { openDeferredCalls } from '../../functions/core/execution/deferred-call-store.ts';
import { openDeferredRun } from '../../functions/core/execution/deferred-worker.ts';
import { openResolver } from '../../functions/core/execution/resolve.ts';
import { openSlowCalls } from '../../functions/core/execution/slow-calls.ts';
import { openRateLimiter } from '../../functions/core/limit/rate-limiter.ts';
import { newClaims } from '../../functions/core/pat/token.ts';
import { openPolicy } from '../../functions/core/policy/policy.ts';
import { openIntents } from '../../functions/core/registry/intents.ts';
import { openServices } from '../../functions/core/registry/services.ts';
import { keys } from '../../functions/core/table/keys.ts';
import type { Table } from '../../functions/core/table/table.ts';
import type { PatClaims } from '../../schemas/pat.ts';
import { answerFrom, openExecuteOver } from '../support/actions.ts';
import { approvalTemplate } from '../support/deferred.ts';
import { invoke } from '../support/invoke.ts';
import { intentOf, serviceNamed } from '../support/records.ts';
import type { Caller, Cast, End, Scenario } from './explore.ts';
import { openMemoryTable } from './memory-table.ts';
import { alike, answerOf, firstOf, lastOf, relayFails, requireCodes, times } from './outcomes.ts';

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
    resolve: openResolver(openIntents(table), openSlowCalls(table, 'run-deferred-call', 10), Date.now),
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
  callers: Record<string, (caller: Caller, id: string, sent: (url: string) => void) => Promise<unknown>>;
  budget: Scenario['budget'];
  /** @param sent - the addresses that were called */
  check(end: End, sent: string[], id: string): void | Promise<void>;
}

/** A call of an agent waits for approval, and something happens to it. */
const waiting = (name: string, promise: string, { callers, budget, check }: Setting): Scenario => ({
  name,
  promise,
  budget,
  prepare: async (table) => {
    const { items, ids } = await worldWith(1);
    for (const item of items) await table.put(item);
    const [id = ''] = ids;
    const sent: string[] = [];
    return {
      callers: Object.values(callers).map((play) => (caller: Caller) => play(caller, id, (url) => sent.push(url))),
      check: async (end) => {
        assert.ok(sent.length <= 1, `the call was made ${sent.length} times`);
        requireCodes(end, 'CONFLICT', 'SERVICE_UNAVAILABLE');
        await check(end, sent, id);
      },
    };
  },
});

/** Claims of the PAT of an agent. */
async function bind(table: Table): Promise<PatClaims> {
  const nobody = { agent: undefined, key: undefined };
  const bound = await openAgents(table).bind(
    { agentId: 'agent', thumbprint: account, nowMs: Date.now(), hasProof: false, mustBeApproved: false },
    nobody,
  );
  if (!bound) throw new Error('the agent_id belongs to another key');
  return newClaims({
    baseUrl,
    agent: bound,
    policy: policyOf()(baseUrl),
    hasProof: false,
    domain: undefined,
    clientId: undefined,
    nowMs: Date.now(),
    lifeSeconds: 3_600,
  });
}

const approveAndWork: Setting['callers'][string] = async (caller, id, sent) => {
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
      check: (end) => {
        const waitingNow = end.table.items().filter(({ pk, state }) => pk === keys.call(account, '').pk && state === 'waiting');
        assert.ok(waitingNow.length <= 20, `${waitingNow.length} calls wait`);
        check(end);
      },
    };
  },
});

const askedBy = async ({ table }: Caller, claims: PatClaims, key: string): Promise<number> => (await ask(table, claims, key)).status;

export const approvalScenarios: Scenario[] = [
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
  waiting('waiting call approved beside a block', 'I1: no call after a block was read', {
    callers: {
      approve: approveAndWork,
      block: async ({ table }) => (await openAgents(table).block(operator, { agentId: 'agent' }, 'why')) && 'blocked',
    },
    budget: { faults: 1, crashes: 1 },
    check: (end, sent) => {
      if (answerOf(end.outcomes[1]) === undefined || sent.length === 0) return;
      assert.ok(lastOf(end, 0, 'get AGENT#') < firstOf(end, 1, 'transact'), 'a call was made for an agent who had been read as blocked');
    },
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
  holding('one call asked for three times, which waits', 'a key stands for one call', 0, {
    callers: (claims) => alike(3, (caller) => askedBy(caller, claims, 'one')),
    check: ({ table, outcomes, isUndisturbed }) => {
      const executions = table.items().filter(({ pk }) => String(pk).startsWith('EXECUTION#'));
      assert.ok(executions.length <= 1, `${executions.length} calls wait under one key`);
      if (isUndisturbed) assert.deepEqual(outcomes.map(answerOf), [202, 202, 202]);
    },
  }),
];
