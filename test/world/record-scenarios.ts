import assert from 'node:assert/strict';
import { openHistory } from '../../functions/core/registry/history.ts';
import { openIntents } from '../../functions/core/registry/intents.ts';
import { countMembers, listMembers, listOf } from '../../functions/core/registry/members.ts';
import { openServices } from '../../functions/core/registry/services.ts';
import { keys } from '../../functions/core/table/keys.ts';
import type { Table } from '../../functions/core/table/table.ts';
import { intentOf, serviceNamed } from '../support/records.ts';
import type { Caller, End, Scenario } from './explore.ts';
import { answerOf, codesOf, times, valuesOf } from './outcomes.ts';

const uid = 'a.example:b:v1';
const always = () => true;

type Act = (table: Table) => Promise<unknown>;

const asCallers = (acts: readonly Act[]) =>
  acts.map(
    (act) =>
      async ({ table }: Caller) =>
        act(table),
  );

/** A request is refused because of what others do, or because the table cannot be reached. */
function requireRefusals({ outcomes }: End): void {
  for (const code of codesOf(outcomes)) assert.ok(['CONFLICT', 'SERVICE_UNAVAILABLE'].includes(code), code);
}

/** What a service's list shows and counts is what there is. */
async function requireListed({ table }: End, serviceId: string): Promise<void> {
  const found = await openIntents(table).find(uid);
  const isHere = found?.intent.service_id === serviceId;
  const { intents, total } = await listMembers(table, [listOf(serviceId, found?.intent.draft)], 0, 10);
  assert.deepEqual(
    intents.map(({ description }) => description),
    isHere ? [found?.intent.description] : [],
    'a list shows what is not there',
  );
  assert.equal(total, isHere ? 1 : 0, 'a list counts what is not there');
  for (const { pk, rev } of table.items())
    if (pk.startsWith('MEMBERS#')) assert.ok(rev, 'a pointer that was taken away was completed afterwards, and stays');
}

/** Writers of one intent in one service. */
const ofOneService = (
  name: string,
  promise: string,
  {
    before = async () => {},
    callers,
    budget = { faults: 1 },
  }: {
    before?: (table: Table, serviceId: string) => Promise<unknown>;
    callers: ((table: Table, serviceId: string) => Promise<unknown>)[];
    budget?: Scenario['budget'];
  },
): Scenario => ({
  name,
  promise,
  budget,
  prepare: async (table) => {
    const { service_id } = await openServices(table).create(serviceNamed('Service'));
    await before(table, service_id);
    return {
      callers: asCallers(callers.map((act) => (own) => act(own, service_id))),
      check: async (end) => {
        requireRefusals(end);
        if (codesOf(end.outcomes).includes('SERVICE_UNAVAILABLE')) return;
        if (await openServices(end.table).find(service_id)) await requireListed(end, service_id);
      },
    };
  },
});

const create = (table: Table, serviceId: string) => openIntents(table).create(serviceId, intentOf(uid));
const remove = (table: Table) => openIntents(table).remove(uid, always);
const describe = (description: string, draft?: true) => (table: Table) =>
  openIntents(table).replace(uid, intentOf(uid, { description, ...(draft && { draft }) }), always);

const twoCreators: Scenario = {
  name: 'two creators of one uid',
  promise: 'I2: one of those who create an intent succeeds, and it stands',
  budget: { faults: 1 },
  prepare: async (table) => {
    const ids = [
      (await openServices(table).create(serviceNamed('Left'))).service_id,
      (await openServices(table).create(serviceNamed('Right'))).service_id,
    ];
    return {
      callers: asCallers(ids.map((id) => async (own) => (await create(own, id))?.service_id)),
      check: async (end) => {
        requireRefusals(end);
        const found = await openIntents(end.table).find(uid);
        for (const id of valuesOf(end.outcomes)) assert.equal(found?.intent.service_id, id, 'an intent was acknowledged and is not there');
        if (codesOf(end.outcomes).includes('SERVICE_UNAVAILABLE')) return;
        for (const id of ids) await requireListed(end, id);
      },
    };
  },
};

/** A uid is free again while its service is being deleted. */
const inherited = (name: string, isThere: boolean): Scenario => ({
  name,
  promise: 'I2: what was created in another service stays when the first one goes',
  budget: {},
  prepare: async (table) => {
    const { service_id: left } = await openServices(table).create(serviceNamed('Left'));
    const { service_id: right } = await openServices(table).create(serviceNamed('Right'));
    if (isThere) await create(table, left);
    return {
      callers: asCallers([
        (own) => openServices(own).remove(left, always),
        async (own) => (await create(own, right))?.intent_uid,
        ...(isThere ? [] : [async (own: Table) => (await create(own, left))?.intent_uid]),
      ]),
      check: async (end) => {
        requireRefusals(end);
        if (answerOf(end.outcomes[1]) === undefined) return;
        assert.equal((await openIntents(end.table).find(uid))?.intent.service_id, right, 'an intent was acknowledged and is not there');
        await requireListed(end, right);
      },
    };
  },
});

const twoDrafts: Scenario = {
  name: 'the first two drafts of a service',
  promise: 'I2: a list counts what is there',
  budget: { faults: 1 },
  prepare: async (table) => {
    const { service_id: id } = await openServices(table).create(serviceNamed('Service'));
    const uids = ['a.example:b:v1', 'a.example:c:v1'];
    return {
      callers: asCallers(uids.map((one) => async (own) => (await openIntents(own).create(id, intentOf(one, { draft: true })))?.intent_uid)),
      check: async (end) => {
        requireRefusals(end);
        if (codesOf(end.outcomes).length > 0) return;
        const { intents, total } = await listMembers(end.table, [listOf(id, true)], 0, 10);
        assert.deepEqual([intents.map(({ intent_uid }) => intent_uid), total], [uids, 2], 'a list does not count what is there');
        assert.deepEqual(await countMembers(end.table, [listOf(id, true)]), [2], 'a roster does not count what is there');
      },
    };
  },
};

/** A request to create a service is delivered once more, after somebody else has changed the service. */
const createdAgain: Scenario = {
  name: 'a service is changed while its creation arrives once more',
  promise: 'I2: what was acknowledged stands',
  budget: { faults: 1 },
  prepare: async () => ({
    callers: asCallers([
      async (own) => void (await openServices(own).create(serviceNamed('Service'))),
      async (own) => {
        const id = (await own.get<{ service_id: string }>(keys.serviceName('Service')))?.service_id;
        const described = { ...serviceNamed('Service'), description: 'changed' };
        return id && (await openServices(own).replace(id, described, always))?.service_id;
      },
    ]),
    check: async (end) => {
      requireRefusals(end);
      const id = answerOf(end.outcomes[1]);
      if (id)
        assert.equal((await openServices(end.table).find(String(id)))?.description, 'changed', 'a change was acknowledged and is gone');
    },
  }),
};

const putBack = (name: string, isForgotten: boolean): Scenario => ({
  name,
  promise: 'I2, I3: a service is put back once, and what was acknowledged stands',
  budget: { faults: 1 },
  prepare: async (table) => {
    const { service_id: id } = await openServices(table).create(serviceNamed('Service'));
    await openServices(table).remove(id, always);
    if (isForgotten) await table.delete(keys.service(id));
    return {
      callers: asCallers(
        ['Left', 'Right'].map((name) => async (own) => (await openServices(own).putBack(id, serviceNamed(name)))?.service_name),
      ),
      check: async (end) => {
        requireRefusals(end);
        const found = await openServices(end.table).find(id);
        for (const name of valuesOf(end.outcomes).filter((value) => value !== undefined))
          assert.equal(found?.service_name, name, 'a service was acknowledged and is not there');
        if (found) assert.equal((await end.table.get<{ service_id: string }>(keys.serviceName(found.service_name)))?.service_id, id);
      },
    };
  },
});

/** Every change that took place is in the history, and each follows one that is there. */
const chained = (name: string, { isForgotten = false, ...budget }: { isForgotten?: boolean } & Scenario['budget']): Scenario => ({
  name,
  promise: 'the history has every change that took place, and says of it that it did',
  budget,
  prepare: async (table) => {
    const { service_id: id, rev: first } = await openServices(table).create(serviceNamed('Service'));
    if (isForgotten) await table.delete(keys.history(first));
    return {
      callers: asCallers(
        times(isForgotten ? 1 : 2, (at) => async (own) => {
          const description = `Version ${at}`;
          return (await openServices(own).replace(id, { ...serviceNamed('Service'), description }, always))?.rev;
        }),
      ),
      check: async (end) => {
        requireRefusals(end);
        const { entries } = await openHistory(end.table).list({ count: 20 }, Date.now());
        for (const { actor } of entries) assert.ok(actor, 'an entry of the history says nothing');
        const applied = new Set(entries.filter(({ outcome }) => outcome === 'applied').map(({ rev }) => rev));
        if (isForgotten) applied.add(first);
        for (const rev of valuesOf(end.outcomes))
          assert.ok(applied.has(String(rev)), 'a change that was acknowledged is not in the history');
        for (const { outcome, before_rev } of entries)
          if (outcome === 'applied' && before_rev) assert.ok(applied.has(before_rev), 'a change that was replaced is not in the history');
      },
    };
  },
});

export const recordScenarios: Scenario[] = [
  twoCreators,
  inherited('a uid that is created while its service goes', true),
  inherited('a uid that is created twice while a service goes', false),
  twoDrafts,
  createdAgain,
  ofOneService('two replace one intent', 'I2: a list shows what the record says', {
    before: create,
    callers: [describe('one'), describe('two')],
    budget: {},
  }),
  ofOneService('an intent is deleted and created again', 'I2, I3: a list shows and counts what is there', {
    before: create,
    callers: [remove, create],
  }),
  ofOneService('an intent is deleted while it is created', 'I2, I3: a list shows and counts what is there', { callers: [create, remove] }),
  ofOneService('an intent is created twice', 'I2, I3: a list shows and counts what is there', { callers: [create, create] }),
  ofOneService('an intent is deleted twice', 'I2, I3: a list shows and counts what is there', {
    before: create,
    callers: [remove, remove],
  }),
  ofOneService('an intent becomes a draft while it is deleted', 'I2, I3: a list shows and counts what is there', {
    before: create,
    callers: [describe('one', true), remove],
    budget: {},
  }),
  ofOneService('delete of a service beside delete of its intent', 'I2: nothing fails that has a refusal', {
    before: create,
    callers: [(table, id) => openServices(table).remove(id, always), remove],
  }),
  putBack('two put a service back', false),
  putBack('two put back a service that is forgotten', true),
  chained('two writers and their history', { faults: 1 }),
  chained('two writers, their history and a straggler', { stragglers: 1 }),
  chained('a writer after one who is forgotten', { isForgotten: true, faults: 1 }),
];
