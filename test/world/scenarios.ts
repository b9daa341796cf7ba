import assert from 'node:assert/strict';
import type { AgentItem } from '../../functions/core/activity/agent.ts';
import { openUsedJtis } from '../../functions/core/activity/used-jti.ts';
import { openIdempotentCalls } from '../../functions/core/execution/idempotent-call-store.ts';
import { type Attempted, once } from '../../functions/core/execution/once.ts';
import { type ApiResponse, ok } from '../../functions/core/http/response.ts';
import { openCounterItems } from '../../functions/core/limit/counter-item.ts';
import { countCalls } from '../../functions/core/limit/limit-request.ts';
import { openRateLimiter } from '../../functions/core/limit/rate-limiter.ts';
import { callableUntilMs, emptyWindow, longestCountMs, slotOf } from '../../functions/core/limit/window.ts';
import { ApiError } from '../../functions/core/runtime/api-error.ts';
import { newUlid } from '../../functions/core/runtime/ulid.ts';
import { keys } from '../../functions/core/table/keys.ts';
import { bindAgent } from '../support/bind-agent.ts';
import { blockedApprovalScenarios } from './agents/approvals.ts';
import { agentScenarios } from './agents/scenarios.ts';
import { approvalScenarios } from './approvals/scenarios.ts';
import { connectionScenarios } from './connections/scenarios.ts';
import type { Caller, Scenario } from './explore.ts';
import { handlerScenarios } from './handler-scenarios.ts';
import { feedScenarios } from './opensearch/scenarios.ts';
import { alike, answerOf, codesOf, requireCodes, valuesOf } from './outcomes.ts';
import { publicationScenarios } from './publication-scenarios.ts';
import { registryScenarios } from './registry-scenarios.ts';
import { searchScenarios } from './search-scenarios.ts';
import { signInScenarios } from './sign-in/scenarios.ts';

const baseUrl = 'https://gate.example';
const unchecked = { replays: undefined, useProof: async () => {}, precheck: async () => {} };

/** An attempt of which the upstream may have seen something. */
const sent = async (call: Promise<unknown>): Promise<Attempted> => ({
  mayHaveActed: true,
  result: await call.catch((error: unknown) => error),
});

/** Callers of one key against one limit: more than `rate` calls are never made in one period, and without faults exactly `rate`. */
const limited = (
  name: string,
  { callers, rate, earlier = 0, ...budget }: { callers: number; rate: number; earlier?: number } & Scenario['budget'],
): Scenario => ({
  name,
  promise: 'I4: at most `rate` calls of a key in any period; without faults exactly as many as the rate allows',
  budget,
  prepare: async (before) => {
    let made = 0;
    const request = countCalls('key', 'execute', { rate: rate + earlier, period: 3_600 });
    // some minutes ago, so that the first to come begins a bucket
    for (let call = 0; call < earlier; call++) await openRateLimiter(before, () => Date.now() - 300_000).consume(request);
    return {
      callers: alike(callers, async ({ table, act }) => {
        const { isWithinLimits } = await openRateLimiter(table).consume(request);
        if (isWithinLimits) await act('upstream', () => made++);
        return isWithinLimits;
      }),
      check: (end) => {
        assert.ok(made <= rate, `${made} calls were made, ${rate} are allowed`);
        if (end.isUndisturbed) assert.equal(made, Math.min(rate, callers), 'a call was refused though the rate allowed it');
        requireCodes(end, 'SERVICE_UNAVAILABLE');
      },
    };
  },
});

export const scenarios: Scenario[] = [
  limited('three calls, a limit of two', { callers: 3, rate: 2, faults: 1 }),
  limited('three calls, a limit of three', { callers: 3, rate: 3, faults: 1 }),
  limited('two calls, a limit of one, clocks that jump', { callers: 2, rate: 1, faults: 1, crashes: 1, clockSteps: 1 }),
  limited('three calls after an earlier one, a limit of one more', { callers: 3, rate: 1, earlier: 1, faults: 1 }),
  // Calls that count in two windows beside calls that count in one of them.
  {
    name: 'two limits in one counter',
    promise: 'I4: a call fits under all of its limits or is counted in none; without faults exactly as many as they allow',
    budget: { faults: 1, crashes: 1 },
    prepare: async (before) => {
      const made = { all: 0, dear: 0 };
      const all = { id: 'all', name: 'all', rate: 3, period: 3_600, cost: 1 };
      const dear = { id: 'dear', name: 'dear', rate: 7, period: 86_400, cost: 3 };
      await openRateLimiter(before).consume({ owner: 'key', counter: 'execute', charges: [all, dear] });
      return {
        callers: alike(3, async ({ table, act }, at) => {
          const isDear = at < 2;
          const { isWithinLimits } = await openRateLimiter(table).consume({
            owner: 'key',
            counter: 'execute',
            charges: isDear ? [all, dear] : [all],
          });
          if (!isWithinLimits) return;
          await act('upstream', () => {
            made.all++;
            if (isDear) made.dear++;
          });
        }),
        check: (end) => {
          assert.ok(made.all <= 2 && made.dear <= 1, `${made.all} calls were made, ${made.dear} of the dear ones`);
          if (end.isUndisturbed) assert.equal(made.all, 2, 'a call was refused though both limits allowed it');
          requireCodes(end, 'SERVICE_UNAVAILABLE');
        },
      };
    },
  },
  // Requests under one idempotency key.
  {
    name: 'execute under one idempotency key',
    promise: 'I5: at most one call of the upstream for each idempotency key, and one answer for all',
    budget: { faults: 1, crashes: 1 },
    prepare: async () => {
      let made = 0;
      return {
        callers: alike(3, async ({ table, act }) => {
          const executionId = newUlid();
          const keyed = { account: 'key', key: 'once', executionId, fingerprint: 'same', nowMs: Date.now() };
          const response = await once(openIdempotentCalls(table), { baseUrl, keyed }, unchecked, () =>
            sent(act('upstream', () => ok({ call: ++made }))),
          );
          return response.body;
        }),
        check: (end) => {
          assert.ok(made <= 1, `the upstream was called ${made} times under one key`);
          if (end.isUndisturbed) assert.equal(made, 1);
          for (const body of valuesOf(end.outcomes)) assert.deepEqual(body, { call: 1 });
          requireCodes(end, 'CONFLICT', 'SERVICE_UNAVAILABLE', 'GATEWAY_TIMEOUT');
        },
      };
    },
  },
  // One of three requests under a key is refused before anything is sent.
  {
    name: 'a refusal under an idempotency key',
    promise: 'I5: a call that was refused leaves its key to the next, and the next alone calls',
    budget: { faults: 1 },
    prepare: async () => {
      let made = 0;
      const request = (at: number, table: Caller['table'], act: () => Promise<void>, isRefused: boolean) =>
        once(
          openIdempotentCalls(table),
          { baseUrl, keyed: { account: 'key', key: 'once', executionId: `execution-${at}`, fingerprint: 'same', nowMs: Date.now() } },
          unchecked,
          async () => {
            if (isRefused) return { mayHaveActed: false, result: new ApiError('TOO_MANY_REQUESTS', 'The rate limit is used up.') };
            return sent(act().then(() => ok({})));
          },
        );
      const call = () => {
        made++;
      };
      return {
        callers: alike(3, ({ table, act }, at) => request(at, table, async () => act('upstream', call), at === 0)),
        check: async (end) => {
          const { table, isUndisturbed } = end;
          requireCodes(end, 'TOO_MANY_REQUESTS', 'CONFLICT', 'SERVICE_UNAVAILABLE');
          if (isUndisturbed) await request(9, table, async () => call(), false);
          assert.ok(made <= 1, `the upstream was called ${made} times under one key`);
          if (isUndisturbed) assert.equal(made, 1, 'a refusal kept the key');
        },
      };
    },
  },
  // Two keys present one agent_id at the same time.
  {
    name: 'two keys for one agent_id',
    promise: 'an agent_id belongs to one key, whatever the order',
    budget: { faults: 1, crashes: 1 },
    prepare: async () => ({
      callers: alike(3, async ({ table }, at) => {
        const bound = await bindAgent(table, 'agent', `key-${at % 2}`);
        return bound?.thumbprint;
      }),
      check: async ({ outcomes, table, isUndisturbed }) => {
        const owners = new Set(valuesOf(outcomes).filter((owner) => owner !== undefined));
        assert.ok(owners.size <= 1, 'two keys were issued PATs under one agent_id');
        const holder = (await table.get<AgentItem>(keys.agent('agent')))?.thumbprint;
        for (const owner of owners) assert.equal(owner, holder);
        if (isUndisturbed) assert.equal(owners.size, 1);
      },
    }),
  },
  // A document with a jti is presented three times.
  {
    name: 'one signed policy three times',
    promise: 'a jti is taken once',
    budget: { faults: 1, crashes: 1 },
    prepare: async () => ({
      callers: alike(3, ({ table }) => openUsedJtis(table).consume('signer', 'jti', Date.now() / 1000 + 300)),
      check: ({ outcomes, isUndisturbed }) => {
        const taken = valuesOf(outcomes).filter(Boolean).length;
        assert.ok(taken <= 1, `the jti was taken ${taken} times`);
        if (isUndisturbed) assert.equal(taken, 1);
      },
    }),
  },
  // An execution that has ended is ended again.
  {
    name: 'two ends of one execution',
    promise: 'I5: the first end of an execution stands',
    budget: { faults: 1 },
    prepare: async (before) => {
      const call = { account: 'key', key: 'once', executionId: 'execution', fingerprint: 'same', nowMs: Date.now() };
      await openIdempotentCalls(before).begin(call);
      return {
        callers: [
          async ({ table }: Caller) => openIdempotentCalls(table).abandon(call),
          ...alike(2, ({ table }, at) => openIdempotentCalls(table).finish(call, ok({ end: at + 1 }))),
        ],
        check: async ({ table, log }) => {
          const held = await openIdempotentCalls(table).find(call);
          const ends = held.state === 'replay' && (held.outcome as ApiResponse).body;
          if (log[0]) assert.deepEqual(ends, log[0].caller > 0 && { end: log[0].caller }, 'an execution ended twice');
        },
      };
    },
  },
  // A key is taken again after a day, while the execution that had it has not ended yet.
  {
    name: 'an execution that ends after its key was taken again',
    promise: 'I5: an execution ends nothing but itself',
    budget: { faults: 1 },
    prepare: async (before) => {
      const call = (executionId: string, nowMs: number) => ({ account: 'key', key: 'once', executionId, fingerprint: 'same', nowMs });
      const [first, second] = [call('first', Date.now()), call('second', Date.now() + 25 * 3_600_000)];
      await openIdempotentCalls(before).begin(first);
      return {
        callers: [
          async ({ table }: Caller) => openIdempotentCalls(table).finish(first, ok({ call: 1 })),
          async ({ table }: Caller) => (await openIdempotentCalls(table).begin(second)).state,
        ],
        check: async ({ table, outcomes }) => {
          if (answerOf(outcomes[1]) !== 'started') return;
          assert.equal((await openIdempotentCalls(table).find(second)).state, 'running', 'an execution has ended another one');
        },
      };
    },
  },
  // Two calls read a counter, and their clocks are far ahead by the time that they write.
  {
    name: 'two calls that were counted late',
    promise: 'I4: a call that could not be made in time is counted once all the same',
    budget: { clockSteps: 2 },
    prepare: async (before) => {
      const request = countCalls('key', 'execute', { rate: 9, period: 1 });
      await openRateLimiter(before).consume(request);
      const windowIn = async (table: Caller['table']) => (await openCounterItems(table).find(keys.limit('key', 'execute')))?.windows['1'];
      const first = await windowIn(before);
      return {
        callers: alike(2, async ({ table }) => (await openRateLimiter(table).consume(request)).isWithinLimits),
        check: async ({ outcomes, table }) => {
          // one that was given up after it was counted is not made, and stays counted
          const counted = valuesOf(outcomes).filter(Boolean).length + codesOf(outcomes).length;
          const { total = 0, bucket } = (await windowIn(table)) ?? {};
          assert.ok(total <= counted + (bucket === first?.bucket ? 1 : 0), 'a call was counted twice');
        },
      };
    },
  },
  // A call that was not sent is taken back, beside one that is counted when the first one's bucket is another one's.
  {
    name: 'a call that is taken back beside one that is made',
    promise: 'I4: what is given back is taken from no other call, and once',
    budget: { faults: 1 },
    prepare: async () => {
      const { charges, ...request } = countCalls('key', 'execute', { rate: 2, period: 1 });
      const priced = { ...request, charges: charges.map((charge) => ({ ...charge, currency: 'EUR' })) };
      const startMs = Date.now();
      return {
        callers: [
          async ({ table }: Caller) => {
            const limits = openRateLimiter(table, () => startMs);
            const decision = await limits.consume(priced);
            return decision.isWithinLimits && limits.giveBack(priced, decision);
          },
          async ({ table }: Caller) => (await openRateLimiter(table, () => startMs + longestCountMs(1)).consume(priced)).isWithinLimits,
        ],
        check: async ({ table, outcomes }) => {
          const item = await openCounterItems(table).find(keys.limit('key', 'execute'));
          if (answerOf(outcomes[1])) assert.ok((item?.windows['1']?.total ?? 0) >= 1, 'a call that is made is not counted');
        },
      };
    },
  },
  // Calls that are made long after they were counted: connections and secrets take their time.
  {
    name: 'three calls that are made long after they were counted, a limit of two',
    promise: 'I4: a call counts from when it is made, and once',
    budget: { faults: 1, crashes: 1 },
    prepare: async () => {
      const request = countCalls('key', 'execute', { rate: 2, period: 1 });
      let made = 0;
      return {
        callers: alike(3, async ({ table, act }) => {
          let passedMs = 0;
          const now = () => Date.now() + passedMs;
          const limits = openRateLimiter(table, now);
          const admitted = await limits.consume(request);
          if (!admitted.isWithinLimits) return false;
          passedMs = 500;
          const { isWithinLimits, buckets = {} } = await limits.renew(request, admitted);
          if (!isWithinLimits) return false;
          assert.ok(now() <= callableUntilMs(buckets['1'] ?? 0, 1), 'a call is made that ceases to count too soon');
          return act('upstream', () => ++made);
        }),
        check: async (end) => {
          const item = await openCounterItems(end.table).find(keys.limit('key', 'execute'));
          const { total, counts, bucket } = item?.windows['1'] ?? emptyWindow(0);
          assert.equal(
            counts.reduce((sum, count) => sum + count, 0),
            total,
            'a call is counted where it was before',
          );
          assert.ok(made === 0 || made <= (counts[slotOf(bucket)] ?? 0), 'a call is made that is not counted where it was made');
          assert.ok(made <= 2 && made <= total, `${made} calls were made, ${total} are counted, 2 are allowed`);
          if (end.isUndisturbed) assert.deepEqual([made, total], [2, 2], 'a call was refused though the rate allowed it');
          requireCodes(end, 'SERVICE_UNAVAILABLE');
        },
      };
    },
  },
  ...agentScenarios,
  ...feedScenarios,
  ...registryScenarios,
  ...publicationScenarios,
  ...handlerScenarios,
  ...approvalScenarios,
  ...blockedApprovalScenarios,
  ...searchScenarios,
  ...signInScenarios,
  ...connectionScenarios,
];
