import assert from 'node:assert/strict';
import { type BindRequest, isBlocked, openAgents, type Presented, stateOf } from '../../functions/core/store/agent.ts';
import { openFeedState } from '../../functions/core/store/feed-state.ts';
import { keys } from '../../functions/core/store/keys.ts';
import type { Table } from '../../functions/core/store/table.ts';
import { maxWaiting, openWaitingAgents, waitSeconds } from '../../functions/core/store/waiting-agents.ts';
import type { Caller, End, Scenario } from './explore.ts';
import type { MemoryTable } from './memory-table.ts';
import { answerOf, codeOf, codesOf, times, valuesOf } from './outcomes.ts';

const presented = (thumbprint = 'key', agentId = 'agent'): Presented => ({ agentId, thumbprint, nowMs: Date.now() });

/** What endpoint 5 does with an agent: looks at it, and binds it. */
async function issue(table: Table, { thumbprint, hasProof = false, mustBeKnown = false }: Partial<BindRequest> = {}) {
  const agents = openAgents(table);
  const request = { ...presented(thumbprint), hasProof, mustBeKnown };
  const seen = await agents.standingOf(request.agentId, request.thumbprint, request.nowMs);
  if (isBlocked(seen) || (seen.agent?.proof && !hasProof)) return undefined;
  return (await agents.bind(request, seen))?.generation;
}

/** Where in the order of what took effect a caller's first or last operation of this kind stands. */
const firstOf = ({ log }: End, caller: number, label: string) =>
  log.findIndex((one) => one.caller === caller && one.label.startsWith(label));
const lastOf = ({ log }: End, caller: number, label: string) =>
  log.findLastIndex((one) => one.caller === caller && one.label.startsWith(label));

const records = (table: MemoryTable, prefix: string) => table.items().filter(({ pk }) => pk.startsWith(prefix));

/** As many places are taken as agents wait, and what is blocked never expires. */
function requireSound({ table, outcomes, isUndisturbed, isFaultless }: End): void {
  for (const outcome of outcomes) if (outcome !== 'crashed' && 'error' in outcome) codeOf(outcome.error);
  for (const item of [...records(table, 'AGENT#'), ...records(table, 'KEY#')]) {
    if (item.block !== undefined || item.blocked_by !== undefined)
      assert.equal(item.expires_at, undefined, 'a block of an agent or its key expires');
    if (isUndisturbed) assert.ok(Object.keys(item).length > 2, `nothing is left in ${item.pk} but its key`);
  }
  const places = table.items().find(({ sk }) => sk === 'WAITING') as { total?: number } | undefined;
  // a place whose giver or taker got no answer is free again when its day ends
  if (!isFaultless || places?.total === undefined) return;
  const waiting = records(table, 'AGENT#').filter(({ asked_at }) => asked_at !== undefined).length;
  assert.equal(places.total, waiting, 'as many places are taken as agents wait');
}

type Act = (table: Table) => Promise<unknown>;

/** Callers of the store of agents, after what happened before. */
const among = (
  name: string,
  promise: string,
  budget: Scenario['budget'],
  { before = async () => {}, callers, check = () => {} }: { before?: Act; callers: Act[]; check?: (end: End) => void | Promise<void> },
): Scenario => ({
  name,
  promise,
  budget,
  prepare: async (table) => {
    await before(table);
    return {
      callers: callers.map(
        (act) =>
          async ({ table: own }: Caller) =>
            act(own),
      ),
      check: async (end) => {
        requireSound(end);
        await check(end);
      },
    };
  },
});

const find = (end: End) => openAgents(end.table).find('agent');
const block: Act = async (table) => (await openAgents(table).block('agent', 'why', Date.now())).block;
const unblock: Act = (table) => openAgents(table).unblock('agent', Date.now());
const unbind: Act = (table) => openAgents(table).unbind('agent');
const ask =
  (thumbprint = 'key'): Act =>
  (table) =>
    openAgents(table).ask(presented(thumbprint));
const approve: Act = async (table) => (await openAgents(table).approve('agent', 'key', Date.now()))?.generation;

/** An agent waits, and another one, so that a place that is given back twice is missed. */
const askedBeside: Act = async (table) => {
  await openAgents(table).ask(presented('other', 'other'));
  await ask()(table);
};

const blockBesideProof = among(
  'block beside issue with a proof',
  'I1: a block never expires',
  { faults: 1 },
  {
    before: issue,
    callers: [block, (table) => issue(table, { hasProof: true })],
  },
);

const proofs = among(
  'issue with a proof beside issue without',
  'no PAT without a proof follows one with a proof',
  { faults: 1 },
  {
    before: issue,
    callers: [(table) => issue(table, { hasProof: true }), (table) => issue(table)],
    check: (end) => {
      const [withProof, without] = [lastOf(end, 0, 'update AGENT#'), lastOf(end, 1, 'update AGENT#')];
      if (answerOf(end.outcomes[0]) && answerOf(end.outcomes[1]))
        assert.ok(without < withProof, 'a PAT was issued without a proof after one with a proof');
    },
  },
);

const twoNames = among(
  'one block of two is lifted',
  'I1: the other blocks of a key stay',
  { faults: 1 },
  {
    before: async (table) => {
      const agents = openAgents(table);
      for (const agentId of ['agent', 'other']) {
        await agents.bind({ ...presented('key', agentId), hasProof: false, mustBeKnown: false }, { agent: undefined, key: undefined });
        await agents.block(agentId, 'why', Date.now());
      }
    },
    callers: [unblock],
    check: async ({ table }) =>
      assert.ok(isBlocked(await openAgents(table).standingOf('third', 'key', Date.now())), 'a block of the key went with another'),
  },
);

const blockedAgain = among(
  'unblock beside unblock and block',
  'I1: only the block that was seen is lifted',
  { faults: 1 },
  {
    before: block,
    callers: [
      unblock,
      async (table) => {
        await unblock(table);
        return block(table);
      },
    ],
    check: async (end) => {
      const agent = await find(end);
      const seen = firstOf(end, 0, 'get AGENT#');
      const blocking = firstOf(end, 1, 'put AGENTS#blocked');
      if (answerOf(end.outcomes[1]) && seen < blocking) assert.ok(agent?.block, 'a block that came later was lifted');
      if (end.isUndisturbed && agent) assert.ok(agent.block, 'something is left of an agent that had no PAT');
    },
  },
);

const liftedBesideIssue = among(
  'unblock beside issue',
  'I2: a PAT that was issued is good',
  { faults: 1 },
  {
    before: block,
    callers: [unblock, issue],
    check: async (end) => {
      const issued = answerOf(end.outcomes[1]);
      if (issued) assert.equal((await find(end))?.generation, issued, 'an agent that was issued a PAT is gone');
    },
  },
);

const waitIsOver = among(
  'a wait that is over beside a new one',
  'I2: an agent that was told to wait waits',
  { faults: 1 },
  {
    before: (table) => table.put({ ...keys.agent('agent'), agent_id: 'agent', thumbprint: 'key', asked_at: 1, expires_at: 2 }),
    callers: times(2, (at) => async (table) => {
      await openAgents(table).standingOf('agent', `key-${at}`, Date.now());
      return ask(`key-${at}`)(table);
    }),
    check: async (end) => {
      if (valuesOf(end.outcomes).includes('waits')) assert.equal(stateOf(await find(end), Date.now()), 'pending', 'nobody waits');
    },
  },
);

const approvedTwice = among(
  'two approvals',
  'I2: an approval that was answered stands',
  { faults: 1 },
  {
    before: askedBeside,
    callers: [approve, approve],
    check: async (end) => {
      const { generation } = (await find(end)) ?? {};
      for (const given of valuesOf(end.outcomes)) assert.equal(given, generation, 'an approval was replaced by another');
    },
  },
);

const approvedAnother = among(
  'approval beside a change of key',
  'I1: only the key that was meant is approved',
  { faults: 1 },
  {
    before: askedBeside,
    callers: [
      approve,
      async (table) => {
        await unbind(table);
        return ask('key-2')(table);
      },
    ],
    check: async (end) => {
      const agent = await find(end);
      if (agent?.thumbprint === 'key-2') assert.equal(agent.generation, undefined, 'another key was approved');
    },
  },
);

const approvedBesideRemoval = among(
  'approval beside removal',
  'I2: an id that was freed can be asked for',
  { faults: 1 },
  {
    before: askedBeside,
    callers: [approve, unbind],
    check: async (end) => {
      if (end.isUndisturbed && answerOf(end.outcomes[1]) === true)
        assert.equal(await ask('key-2')(end.table), 'waits', 'an id that was freed cannot be asked for');
    },
  },
);

const askedBesideIssue = among(
  'request for approval beside issue',
  'I2: a PAT that was issued is good',
  { faults: 1 },
  {
    callers: [ask(), issue],
    check: async (end) => {
      const issued = answerOf(end.outcomes[1]);
      if (issued) assert.equal((await find(end))?.generation, issued, 'an agent that was issued a PAT waits for approval');
    },
  },
);

const revokedWaiting = among(
  'revocation of an agent that waits',
  'I1: nobody is approved by a revocation',
  { faults: 1 },
  {
    callers: [ask(), async (table) => (await openAgents(table).revoke('agent', Date.now()))?.generation],
    check: async (end) => assert.equal((await find(end))?.generation, undefined, 'an agent that waits was approved by its revocation'),
  },
);

const removedBesideIssue = among(
  'removal beside issue to the approved',
  'I1: who was removed has to be approved again',
  { faults: 1 },
  {
    before: issue,
    callers: [unbind, (table) => issue(table, { mustBeKnown: true })],
    check: async (end) => {
      if (answerOf(end.outcomes[0]) === true) assert.equal((await find(end))?.generation, undefined, 'an agent that was removed has a PAT');
    },
  },
);

const removedBesideBlock = among(
  'removal beside block',
  'I1: a block that was answered stands',
  { faults: 1 },
  {
    before: issue,
    callers: [unbind, block],
    check: async (end) => {
      if (!answerOf(end.outcomes[1])) return;
      const agent = await find(end);
      assert.ok(agent?.block, 'a block that was answered is not there');
      if (answerOf(end.outcomes[0]) === true) assert.equal(agent?.generation, undefined, 'an agent that was removed has a PAT');
    },
  },
);

const removedBesideUnblock = among(
  'removal beside unblock',
  'I2: an id that was freed can be asked for',
  { faults: 1 },
  {
    before: async (table) => {
      await issue(table);
      await block(table);
    },
    callers: [unbind, unblock],
    check: async (end) => {
      if (!end.isUndisturbed || (await find(end))?.block !== undefined) return;
      if (answerOf(end.outcomes[0]) === true)
        assert.equal(await ask('key-2')(end.table), 'waits', 'an id that was freed cannot be asked for');
    },
  },
);

const removedTwice = among(
  'two removals and a new owner',
  'I2: a removal takes the id from the key that it saw',
  { faults: 1 },
  {
    before: (table) => issue(table, { hasProof: true }),
    callers: [
      unbind,
      async (table) => {
        await unbind(table);
        return issue(table, { thumbprint: 'key-2' });
      },
    ],
    check: async (end) => {
      const issued = answerOf(end.outcomes[1]);
      const isSeenBefore = firstOf(end, 0, 'get AGENT#') < firstOf(end, 1, 'update AGENT#');
      if (issued && isSeenBefore) assert.equal((await find(end))?.generation, issued, 'a removal took the id from another key');
    },
  },
);

const blockedRemovedTwice = among(
  'two removals of a blocked agent',
  'I1: the key of a blocked agent stays blocked when its id is free',
  { faults: 1 },
  {
    before: async (table) => {
      await issue(table);
      await block(table);
    },
    callers: [unbind, unbind],
    check: async (end) => {
      const item = await end.table.get<{ thumbprint?: string; blocked_key?: string }>(keys.agent('agent'));
      assert.equal(item?.thumbprint ?? item?.blocked_key, 'key', 'it is forgotten which key is blocked');
    },
  },
);

const waitingKey = keys.waitingAgents();
const dayOf = (seconds: number) => Math.floor(seconds / (24 * 3_600));
const lastDay = () => dayOf(Date.now() / 1_000 + waitSeconds);
const take: Act = (table) => openWaitingAgents(table).take(Date.now());

/** Takers and givers of places, if so many are taken until a day. */
const places = (name: string, taken: number | undefined, day: () => number, acts: Act[], budget: Scenario['budget'] = {}): Scenario => ({
  name,
  promise: 'as many agents wait as may, and each has its place',
  budget,
  prepare: async (before) => {
    const today = dayOf(Date.now() / 1_000);
    if (taken !== undefined)
      await before.put({ ...waitingKey, today: Math.min(today, day()), places: { [day()]: taken }, total: taken, last: 'earlier' });
    const left = taken !== undefined && day() >= today ? taken : 0;
    return {
      callers: acts.map(
        (act) =>
          async ({ table }: Caller) =>
            act(table),
      ),
      check: async ({ outcomes, table, isUndisturbed }) => {
        for (const code of codesOf(outcomes)) assert.equal(code, 'SERVICE_UNAVAILABLE');
        const { total = 0 } = (await table.get<{ total: number }>(waitingKey)) ?? {};
        assert.ok(total <= maxWaiting, 'more agents wait than may');
        if (!isUndisturbed) return;
        const got = valuesOf(outcomes).filter((value) => value === true).length;
        const given = left > 0 ? valuesOf(outcomes).filter((value) => value === 'given back').length : 0;
        assert.equal(total, left + got - given, 'a place was lost, or taken twice');
        assert.equal(got, Math.min(acts.filter((act) => act === take).length, maxWaiting - left));
      },
    };
  },
});

const giveBack: Act = async (table) => {
  await openWaitingAgents(table).giveBack(Math.floor(Date.now() / 1_000) + waitSeconds);
  return 'given back';
};

const giveBackNothing: Act = async (table) => {
  await giveBack(table);
  return 'nothing';
};

const feed: Scenario = {
  name: 'two runs of a feed',
  promise: 'one run feeds a collection at a time',
  budget: { faults: 1, crashes: 1 },
  prepare: async () => {
    let working = 0;
    return {
      callers: times(2, () => async ({ table, act }: Caller) => {
        const run = await openFeedState(table, 'collection').begin();
        if (!run) return 'busy';
        assert.equal(++working, 1, 'two runs are at work');
        await act('collection', () => {});
        working--;
        await run.end();
        return 'ran';
      }),
      check: ({ outcomes }) => {
        for (const outcome of outcomes) if (outcome !== 'crashed' && 'error' in outcome) codeOf(outcome.error);
      },
    };
  },
};

const lateFeed: Scenario = {
  name: 'a run of a feed that took too long',
  promise: 'what a later run has achieved stands',
  budget: { faults: 1 },
  prepare: async (before) => {
    await openFeedState(before, 'collection').begin();
    const run =
      (startMs: number) =>
      async ({ table }: Caller) => {
        const begun = await openFeedState(table, 'collection', () => startMs).begin();
        await begun?.save({ asOfMs: startMs });
        return begun?.number;
      };
    return {
      callers: [1, 2].map((at) => run(Date.now() + at * 400_000)),
      check: async ({ outcomes, table }) => {
        for (const outcome of outcomes)
          if (outcome !== 'crashed' && 'error' in outcome && !/another run feeds/.test(String(outcome.error))) codeOf(outcome.error);
        const item = await table.get<{ run_number: number; progress?: { asOfMs: number } }>(keys.feed('collection'));
        const numbers = valuesOf(outcomes) as (number | undefined)[];
        const at = outcomes.findIndex((outcome) => answerOf(outcome) === Math.max(...numbers.map((one) => one ?? 0)));
        const isLatest = answerOf(outcomes[at]) === item?.run_number;
        if (at >= 0 && isLatest && answerOf(outcomes[at]))
          assert.equal(item?.progress?.asOfMs, Date.now() + (at + 1) * 400_000, 'an earlier run has overwritten a later one');
      },
    };
  },
};

export const agentScenarios: Scenario[] = [
  blockBesideProof,
  proofs,
  twoNames,
  blockedAgain,
  liftedBesideIssue,
  waitIsOver,
  approvedTwice,
  approvedAnother,
  approvedBesideRemoval,
  askedBesideIssue,
  revokedWaiting,
  removedBesideIssue,
  removedBesideBlock,
  removedBesideUnblock,
  removedTwice,
  blockedRemovedTwice,
  places('the last place of those who wait', maxWaiting - 1, lastDay, [take, take]),
  places('places on a new day', maxWaiting, () => dayOf(Date.now() / 1_000) - 1, [take, take]),
  places('the first places of all', undefined, lastDay, [take, take]),
  places('a place that is taken', 3, lastDay, [take], { faults: 1 }),
  places('a place that is given back', 3, lastDay, [giveBack], { faults: 1 }),
  places('a place that is gone is given back', 3, () => lastDay() - 1, [giveBackNothing], { faults: 1 }),
  feed,
  lateFeed,
];
