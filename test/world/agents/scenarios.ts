import assert from 'node:assert/strict';
import { openAgents } from '../../../functions/agents/agents.ts';
import { openApprovalCheck } from '../../../functions/agents/approval-check.ts';
import { approvalKeys, keyOf, stateOf, type WaitingItem } from '../../../functions/agents/records.ts';
import { isWaiting, maxWaiting, requestApproval } from '../../../functions/agents/waiting-agents.ts';
import { type AgentItem, type AgentKeyItem, isBlocked, isRevoked, type Presented } from '../../../functions/core/activity/agent.ts';
import { operator } from '../../../functions/core/admin/admin.ts';
import { openAgentBinder } from '../../../functions/core/pat/bind-agent.ts';
import { type Key, keys } from '../../../functions/core/table/keys.ts';
import type { Item, Table } from '../../../functions/core/table/table.ts';
import { bindAgent, recordsOf } from '../../support/bind-agent.ts';
import type { Caller, End, Scenario } from '../explore.ts';
import { type Stop, stoppedWith } from '../handler-scenarios.ts';
import type { MemoryTable } from '../memory-table.ts';
import { alike, answerOf, codesOf, firstOf, requireCodes, valuesOf } from '../outcomes.ts';
import { requireWholeLog } from '../registry-scenarios.ts';

const presented = (thumbprint = 'key', agentId = 'agent'): Presented => ({ agentId, thumbprint, nowMs: Date.now() });

interface Issue {
  agentId?: string;
  thumbprint?: string;
  hasProof?: boolean;
  mustBeApproved?: boolean;
}

/** Reads and binds an agent, like `issue-pat`. */
async function issue(table: Table, { agentId = 'agent', thumbprint = 'key', hasProof = false, mustBeApproved = false }: Issue = {}) {
  const binder = openAgentBinder(table, [openApprovalCheck(table, mustBeApproved)]);
  const seen = await binder.read({ ...presented(thumbprint, agentId), hasProof });
  if (isBlocked(seen.records) || (seen.records.agent?.proof && !hasProof)) return undefined;
  return (await binder.bind(seen))?.generation;
}

const records = <T extends Item = Item>(table: MemoryTable, prefix: string) =>
  table.items().filter(({ pk }) => pk.startsWith(prefix)) as (T & Key)[];

/** Everything that is promised of agents, whatever has happened: every scenario ends with this. */
async function requireSound(end: End): Promise<void> {
  const { table, isUndisturbed } = end;
  requireCodes(end, 'CONFLICT', ...(isUndisturbed ? [] : ['SERVICE_UNAVAILABLE']));
  await requireWholeLog(table);
  for (const item of [...records(table, 'AGENT#'), ...records(table, 'KEY#')]) {
    if (item.block !== undefined || item.blocked_by !== undefined)
      assert.equal(item.expires_at, undefined, 'a block of an agent or its key expires');
    if (isUndisturbed) assert.ok(Object.keys(item).length > 2, `nothing is left in ${item.pk} but its key`);
  }
  const known = records<AgentItem>(table, 'AGENT#').filter(({ sk }) => sk === 'AGENT');
  for (const state of ['active', 'blocked'] as const) {
    const listed = records<AgentItem>(table, keys.agentListed(state, '').pk).map(({ agent_id }) => agent_id);
    const standing = known.filter((agent) => stateOf(agent) === state).map(({ agent_id }) => agent_id);
    assert.deepEqual(listed, standing, `the list of ${state} agents does not show who is`);
  }
  const queue = await table.get(approvalKeys.waitingAgents());
  const waiting = (prefix: string) =>
    records<WaitingItem>(table, prefix)
      .filter((item) => item.number !== undefined && isWaiting(item, queue, Date.now()))
      .map(({ pk, sk, ...wait }) => wait as WaitingItem)
      .sort((left, right) => left.number - right.number);
  const waits = waiting('AGENT#');
  assert.deepEqual(waiting(approvalKeys.waitingSlot(0).pk), waits, 'somebody waits without a place, or has one without waiting');
  for (const agent of [...known, ...waits]) {
    const thumbprint = keyOf(agent);
    if (thumbprint === undefined) continue;
    assert.ok(await table.get(keys.idOfKey(thumbprint, agent.agent_id)), 'an id is not known under its key');
    const { blocked_by = new Set() } = (await table.get<AgentKeyItem>(keys.agentKey(thumbprint))) ?? {};
    if (agent.block) assert.ok(blocked_by.has(String(agent.block)), 'a block does not hold for the key');
  }
  for (const { pk, blocked_by = [] } of records<AgentKeyItem>(table, 'KEY#')) {
    const ofKey = known.filter((agent) => keys.agentKey(keyOf(agent) ?? '').pk === pk).map(({ block }) => block);
    for (const block of blocked_by) assert.ok(ofKey.includes(block), 'a key is blocked, and nobody can lift it');
  }
  for (const { agent_id, thumbprint } of waits)
    assert.notEqual(keyOf(known.find((agent) => agent.agent_id === agent_id)), thumbprint, 'a key waits for an id that it has');
}

type Act = (table: Table) => Promise<unknown>;

/** Callers of the store of agents, after what happened before. */
const among = (
  name: string,
  promise: string,
  { before = async () => {}, callers, check = () => {} }: { before?: Act; callers: Act[]; check?: (end: End) => void | Promise<void> },
): Scenario => ({
  name,
  promise,
  budget: { faults: 1 },
  prepare: async (table) => {
    await before(table);
    return {
      callers: alike(callers.length, async (caller, at) => callers[at]?.(caller.table)),
      check: async (end) => {
        await requireSound(end);
        await check(end);
      },
    };
  },
});

const find = (end: End) => openAgents(end.table).find('agent');
const block: Act = async (table) => (await openAgents(table).block(operator, { agentId: 'agent' }, 'why')).block;
const unblock: Act = (table) => openAgents(table).unblock(operator, { agentId: 'agent' });
const unbind: Act = (table) => openAgents(table).unbind(operator, { agentId: 'agent' });
const ask =
  (thumbprint = 'key'): Act =>
  async (table) => {
    await requestApproval(table, presented(thumbprint));
    return 'waits';
  };
const approve =
  (thumbprint = 'key'): Act =>
  async (table) =>
    (await openAgents(table).approve(operator, { agentId: 'agent', thumbprint }))?.generation;

/** An agent waits, and another one, so that a place that is given back twice is missed. */
const askedBeside: Act = async (table) => {
  await requestApproval(table, presented('other', 'other'));
  await ask()(table);
};

/** The first PAT under one id of a key, beside something that concerns the key under another. */
const besideOther = (name: string, promise: string, hasProof: boolean, act: Act, before?: Act): Scenario =>
  among(name, promise, {
    ...(before && { before }),
    callers: [act, (table) => issue(table, { hasProof })],
    check: (end) => {
      const [settled, issued] = [firstOf(end, 0, 'transact'), firstOf(end, 1, 'transact')];
      if (answerOf(end.outcomes[0]) && answerOf(end.outcomes[1]))
        assert.ok(issued < settled, 'a PAT was issued to a key that must have none');
    },
  });

const issueOther: Act = (table) => issue(table, { agentId: 'other' });
const blockOther: Act = async (table) => (await openAgents(table).block(operator, { agentId: 'other' }, 'why')).block;

const stops: Stop[] = [
  ['a revocation', 'after a revocation was read', 2, 'get AGENT#', (table) => openAgents(table).revoke(operator, { agentId: 'agent' }), 1],
  ['a block', 'after a block was read', 1, 'get AGENT#', (table) => openAgents(table).block(operator, { agentId: 'agent' }, 'why'), 1],
];

export const agentScenarios: Scenario[] = [
  among('block beside issue with a proof', 'I1: a block never expires', {
    before: issue,
    callers: [block, (table) => issue(table, { hasProof: true })],
  }),
  among('block beside the first issue', 'I1: a block holds for the key that has the id', { callers: [block, issue] }),
  among('issue with a proof beside issue without', 'no PAT without a proof follows one with a proof', {
    before: issue,
    callers: [(table) => issue(table, { hasProof: true }), (table) => issue(table)],
    check: (end) => {
      const [withProof, without] = [firstOf(end, 0, 'transact'), firstOf(end, 1, 'update AGENT#')];
      if (answerOf(end.outcomes[0]) && answerOf(end.outcomes[1]))
        assert.ok(without < withProof, 'a PAT was issued without a proof after one with a proof');
    },
  }),
  ...[false, true].map((hasProof) =>
    besideOther(
      `first issue with${hasProof ? '' : 'out'} a proof beside a block of another id of the key`,
      'I1: a block holds for every id of a key',
      hasProof,
      blockOther,
      issueOther,
    ),
  ),
  besideOther(
    'first issue without a proof beside one with a proof under another id of the key',
    'no PAT without a proof follows one with a proof',
    false,
    (table) => issue(table, { agentId: 'other', hasProof: true }),
  ),
  among('issue beside a change of key', 'I1: a PAT belongs to the key that has the id', {
    before: issue,
    callers: [
      issue,
      async (table) => {
        await unbind(table);
        return issue(table, { thumbprint: 'key-2' });
      },
    ],
    check: ({ outcomes }) => {
      const [first, second] = outcomes.map(answerOf);
      if (first && second) assert.notEqual(first, second, 'a PAT was issued to the key that had the id before');
    },
  }),
  among('two blocks', 'I1: what blocks a key is a block that can be lifted', { before: issue, callers: [block, block] }),
  // The key has to prove possession under one id, and no more because of another, which was removed.
  among('issue without a proof beside one with a proof that the key has forgotten', 'no PAT without a proof follows one with a proof', {
    before: async (table) => {
      await issue(table);
      // so that its lists have to be written again
      await table.update(keys.agent('agent'), { set: { listed_until: 0 } });
    },
    callers: [
      issue,
      async (table) => {
        const proven = await issue(table, { hasProof: true });
        await issue(table, { agentId: 'other', hasProof: true });
        await openAgents(table).unbind(operator, { agentId: 'other' });
        return proven;
      },
    ],
    check: (end) => {
      if (answerOf(end.outcomes[0]) && answerOf(end.outcomes[1]))
        assert.ok(firstOf(end, 0, 'transact') < firstOf(end, 1, 'transact'), 'a PAT was issued without a proof after one with a proof');
    },
  }),
  among('one block of two is lifted', 'I1: the other blocks of a key stay', {
    before: async (table) => {
      const agents = openAgents(table);
      for (const agentId of ['agent', 'other']) await bindAgent(table, agentId, 'key');
      for (const agentId of ['agent', 'other']) await agents.block(operator, { agentId }, 'why');
    },
    callers: [unblock],
    check: async ({ table }) => assert.ok(isBlocked(await recordsOf(table, 'third', 'key')), 'a block of the key went with another'),
  }),
  among('unblock beside unblock and block', 'I1: only the block that was seen is lifted', {
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
      const blocking = firstOf(end, 1, 'transact 5');
      if (answerOf(end.outcomes[1]) && seen < blocking) assert.ok(agent?.block, 'a block that came later was lifted');
      if (end.isUndisturbed && agent) assert.ok(agent.block, 'something is left of an agent that had no PAT');
    },
  }),
  among('unblock beside issue', 'I2: a PAT that was issued is good', {
    before: block,
    callers: [unblock, issue],
    check: async (end) => {
      const issued = answerOf(end.outcomes[1]);
      if (issued) assert.equal((await find(end))?.generation, issued, 'an agent that was issued a PAT is gone');
    },
  }),
  among('approvals of two keys that wait under one id', 'I1: an id belongs to one key', {
    before: async (table) => {
      await ask('key')(table);
      await ask('key-2')(table);
    },
    callers: [approve('key'), approve('key-2')],
    check: ({ outcomes }) => assert.ok(valuesOf(outcomes).length <= 1, 'two keys were approved for one id'),
  }),
  among(
    'approval beside a block',
    'I1: an agent that is blocked is not approved',
    // the block of an id that no key has holds for no key, which approval would ask about
    { callers: [approve(), block] },
  ),
  among('two approvals', 'I2: an approval that was answered stands', {
    before: askedBeside,
    callers: [approve(), approve()],
    check: async (end) => {
      const { generation } = (await find(end)) ?? {};
      for (const given of valuesOf(end.outcomes)) assert.equal(given, generation, 'an approval was replaced by another');
    },
  }),
  among('approval beside a change of key', 'I1: only the key that was meant is approved', {
    before: askedBeside,
    callers: [
      approve(),
      async (table) => {
        await unbind(table);
        return ask('key-2')(table);
      },
    ],
    check: async (end) => {
      const agent = await find(end);
      if (agent?.thumbprint === 'key-2') assert.equal(agent.generation, undefined, 'another key was approved');
    },
  }),
  among('approval beside removal', 'I2: who was approved or removed does not wait', {
    before: askedBeside,
    callers: [approve(), unbind],
    check: async (end) => {
      const waiting = await openAgents(end.table).findWaiting('agent', Date.now());
      if (end.isUndisturbed) assert.deepEqual(waiting, [], 'a key waits that was approved or removed');
    },
  }),
  among('request for approval beside issue', 'I2: a PAT that was issued is good', {
    callers: [ask(), issue],
    check: async (end) => {
      const issued = answerOf(end.outcomes[1]);
      if (issued) assert.equal((await find(end))?.generation, issued, 'an agent that was issued a PAT waits for approval');
    },
  }),
  among('the first two requests for approval', 'as many wait as ask, each at one place', { callers: [ask('key'), ask('key-2')] }),
  among('request for approval beside a block', 'nobody who is blocked is put in the queue', {
    callers: [ask(), block],
    check: (end) => {
      const [asked, blocked] = [firstOf(end, 0, 'transact'), firstOf(end, 1, 'transact')];
      if (answerOf(end.outcomes[1])) assert.ok(asked < blocked, 'somebody was put in the queue who was blocked');
    },
  }),
  // Two who ask when two have the places that come next, one of whom is approved.
  among(
    'requests for approval when the queue is full',
    'as many wait as may, each at one place, and whoever makes room for another waits no more',
    {
      before: async (table) => {
        for (const one of ['first', 'second']) await requestApproval(table, presented(one, one));
        await table.update(approvalKeys.waitingAgents(), { set: { asked: maxWaiting } });
      },
      callers: [ask('key'), ask('key-2'), (table) => openAgents(table).approve(operator, { agentId: 'first' })],
      check: async ({ table, isUndisturbed }) => {
        if (!isUndisturbed) return;
        const { displaced: made } = await openAgents(table).list('pending', undefined, 9, Date.now());
        const isFirstApproved = (await openAgents(table).find('first')) !== undefined;
        assert.ok(made === 2 || (isFirstApproved && made === 1), 'it is not counted who had to make room');
      },
    },
  ),
  among('revocation of an agent that waits', 'I1: nobody is approved by a revocation', {
    callers: [ask(), async (table) => (await openAgents(table).revoke(operator, { agentId: 'agent' }))?.generation],
    check: async (end) => assert.equal((await find(end))?.generation, undefined, 'an agent that waits was approved by its revocation'),
  }),
  among('removal beside issue to the approved', 'I1: who was removed has to be approved again', {
    before: issue,
    callers: [unbind, (table) => issue(table, { mustBeApproved: true })],
    check: async (end) => {
      if (answerOf(end.outcomes[0]) === true) assert.equal((await find(end))?.generation, undefined, 'an agent that was removed has a PAT');
    },
  }),
  among('removal beside block', 'I1: a block that was answered stands', {
    before: issue,
    callers: [unbind, block],
    check: async (end) => {
      if (!answerOf(end.outcomes[1])) return;
      const agent = await find(end);
      assert.ok(agent?.block, 'a block that was answered is not there');
      if (answerOf(end.outcomes[0]) === true) assert.equal(agent?.generation, undefined, 'an agent that was removed has a PAT');
    },
  }),
  among('removal beside unblock', 'I2: nothing is left of a key that was removed from an id that is not blocked', {
    before: async (table) => {
      await issue(table);
      await block(table);
    },
    callers: [unbind, unblock],
    check: async (end) => {
      if (!end.isUndisturbed || (await find(end))?.block !== undefined) return;
      if (answerOf(end.outcomes[0]) === true)
        assert.equal(await find(end), undefined, 'the key that was removed is still known under the id');
    },
  }),
  among('two removals and a new owner', 'I2: a removal takes the id from the key that it saw', {
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
      const isSeenBefore = firstOf(end, 0, 'get AGENT#') < firstOf(end, 1, 'transact 5');
      if (issued && isSeenBefore) assert.equal((await find(end))?.generation, issued, 'a removal took the id from another key');
    },
  }),
  among('two removals of a blocked agent', 'I1: the key of a blocked agent stays blocked when its id is free', {
    before: async (table) => {
      await issue(table);
      await block(table);
    },
    callers: [unbind, unbind],
    check: async (end) => {
      const item = await end.table.get<{ thumbprint?: string; blocked_key?: string }>(keys.agent('agent'));
      assert.equal(item?.thumbprint ?? item?.blocked_key, 'key', 'it is forgotten which key is blocked');
    },
  }),
  // A PAT is issued, used, and its agent revoked and blocked.
  {
    name: 'revoke and block beside issue and use',
    promise: 'I1: after a revocation or a block was answered, no PAT from before is accepted, and none is issued to a blocked agent',
    budget: { faults: 1, crashes: 1 },
    prepare: async (table) => {
      const first = await bindAgent(table, 'agent', 'key');
      const gen = first?.generation ?? '';
      const standing = async ({ table: own }: Caller) => recordsOf(own, 'agent', 'key');
      return {
        callers: [
          async (caller) => {
            await openAgents(caller.table).revoke(operator, { agentId: 'agent' });
            assert.ok(isRevoked((await standing(caller)).agent, { gen }), 'a PAT was accepted after its revocation');
            return 'revoked';
          },
          async (caller) => {
            const agent = await openAgents(caller.table).block(operator, { agentId: 'agent' }, 'why');
            assert.ok(agent.block !== undefined);
            assert.ok(isBlocked(await standing(caller)), 'a PAT was accepted after the block');
            return 'blocked';
          },
          async (caller) => {
            const binder = openAgentBinder(caller.table);
            const seen = await binder.read({ agentId: 'agent', thumbprint: 'key', nowMs: Date.now(), hasProof: false });
            if (isBlocked(seen.records)) return 'blocked';
            const bound = await binder.bind(seen);
            return bound === undefined ? 'refused' : 'issued';
          },
        ],
        check: async ({ outcomes, table: end, log }) => {
          codesOf(outcomes);
          const [revoked, blocked, issued] = outcomes;
          const last = await recordsOf(end, 'agent', 'key');
          if (answerOf(revoked)) assert.ok(isRevoked(last.agent, { gen }));
          if (!answerOf(blocked)) return;
          assert.ok(isBlocked(last));
          assert.ok(isBlocked(await recordsOf(end, 'another', 'key')), 'the key of a blocked agent goes by under another name');
          const blockedAt = log.findIndex(({ caller, label }) => caller === 1 && label.startsWith('transact'));
          const boundAt = log.findLastIndex(({ caller, label }) => caller === 2 && /^(update AGENT#|transact)/.test(label));
          const isIssued = answerOf(issued) === 'issued';
          if (isIssued) assert.ok(boundAt < blockedAt, 'a PAT was issued to a blocked agent');
        },
      };
    },
  },
  ...stops.map(stoppedWith),
];
