import assert from 'node:assert/strict';
import { openChangeLog } from '../../functions/core/registry/change-log.ts';
import { openIntents } from '../../functions/core/registry/intents.ts';
import { listNameOf } from '../../functions/core/registry/lists.ts';
import { digestOf } from '../../functions/core/registry/log.ts';
import { type IntentItem, readDefinition, type ServiceItem } from '../../functions/core/registry/records.ts';
import { openServices } from '../../functions/core/registry/services.ts';
import { keys, partitions } from '../../functions/core/table/keys.ts';
import type { Item, Table } from '../../functions/core/table/table.ts';
import type { LogEntry } from '../../schemas/changes.ts';
import { intentOf, serviceNamed } from '../support/records.ts';
import type { Caller, End, Scenario } from './explore.ts';
import type { MemoryTable } from './memory-table.ts';
import { alike, answerOf, codesOf, requireCodes, times, valuesOf } from './outcomes.ts';

const uid = 'a.example:b:v1';
const always = () => true;

type Kind = keyof typeof partitions;

const itemsOf = <T extends Item>(table: MemoryTable, kind: Kind): (T & { pk: string; sk: string })[] =>
  table.items().filter(({ pk }) => pk.startsWith(partitions[kind].prefix)) as never;

/** The log has every entry up to the head, in a whole chain of digests. */
export async function requireWholeLog(table: MemoryTable): Promise<LogEntry[]> {
  const entries = itemsOf<Item>(table, 'log').map(({ pk, sk, expires_at, ...entry }) => entry as LogEntry);
  const head = await openChangeLog(table).head();
  assert.deepEqual(
    entries.map(({ seq }) => seq),
    times(head.seq, (at) => at + 1),
    'the log has a gap',
  );
  for (const [at, { previous }] of entries.entries()) {
    assert.equal(previous, at === 0 ? null : digestOf(entries[at - 1]), 'the chain of digests is broken');
  }
  assert.equal(head.digest, entries.length > 0 ? digestOf(entries.at(-1)) : null, 'the head does not hold the digest of the newest entry');
  return entries;
}

/** Everything that the registry promises of itself, whatever has happened: every scenario ends with this. */
async function requireConsistent(table: MemoryTable): Promise<void> {
  const entries = await requireWholeLog(table);
  const states = new Map<string, string | undefined>();
  for (const { id, action, digest_before, digest_after } of entries.flatMap(({ changes }) => changes)) {
    if (action === 'credential') continue;
    if (action !== 'create') assert.equal(digest_before, states.get(id), 'an entry does not say what its record was before');
    states.set(id, digest_after);
  }
  const services = itemsOf<ServiceItem>(table, 'service');
  const names = itemsOf<Item & { service_id: string }>(table, 'serviceName');
  assert.deepEqual(
    names.map(({ sk, service_id }) => [sk, service_id]).sort(),
    services.map(({ service_name, service_id }) => [keys.serviceName(service_name).sk, service_id]).sort(),
    'a service does not have its name, or a name no service',
  );
  const isLive = ({ service_id }: { service_id: string }) => services.some((service) => service.service_id === service_id);
  const intents = itemsOf<IntentItem>(table, 'intent').filter(isLive);
  const lastChange = (id: string) => entries.findLast(({ changes }) => changes.some((change) => change.id === id));
  for (const { service_id, rev } of services) assert.equal(rev, lastChange(service_id)?.seq, 'a service is not what the log says');
  for (const item of intents) {
    const { seq, changes } = lastChange(item.intent_uid) ?? {};
    assert.equal(item.rev, seq, 'an intent is not what the log says');
    const change = changes?.find(({ id }) => id === item.intent_uid);
    assert.equal(digestOf(readDefinition(item)), change?.digest_after, 'an intent is not what the log says');
  }
  for (const service of services) {
    for (const isDraft of [false, true]) {
      const own = intents.filter((item) => item.service_id === service.service_id && Boolean(readDefinition(item).draft) === isDraft);
      assert.equal(isDraft ? service.drafts : service.intents, own.length, 'a service does not count what it has');
      const listed = (await table.query<Item>(partitions.listEntry.prefix + listNameOf(service.service_id, isDraft))).items;
      assert.deepEqual(
        listed.map(({ intent_uid, rev, description }) => [intent_uid, rev, description]),
        own.map((item) => [item.intent_uid, item.rev, readDefinition(item).description]),
        'a list does not show what there is',
      );
    }
  }
  for (const { pk, services: counted = 0, intents: countedIntents = 0 } of itemsOf<Item>(table, 'namespace')) {
    const inside = services.filter(({ namespace }) => pk === keys.namespace(namespace ?? '').pk);
    const total = inside.reduce((sum, service) => sum + service.intents + service.drafts, 0);
    assert.deepEqual([counted, countedIntents], [inside.length, total], 'a namespace does not count what stands in it');
  }
}

/** Whether requests may end so: refused because of others, or because the table cannot be reached. */
const requireRefusals = (end: End): void =>
  requireCodes(end, 'CONFLICT', 'NOT_FOUND', ...(end.isUndisturbed ? [] : ['SERVICE_UNAVAILABLE']));

/** A caller tells the revision that it was acknowledged, if it wrote one. */
type Act = (table: Table, ids: Ids) => Promise<number | string | boolean | undefined>;
type Ids = Record<'left' | 'right', string>;

interface Cast {
  /** the services Left and Right are there */
  before?: (table: Table, ids: Ids) => Promise<unknown>;
  callers: Act[];
  budget?: Scenario['budget'];
  /** a caller makes more changes than one */
  isManifold?: true;
  /** what else has to hold */
  check?: (end: End, ids: Ids) => Promise<void> | void;
}

/** Writers of the registry, who are acknowledged exactly what stands in the log. */
const writers = (
  name: string,
  promise: string,
  { before = async () => {}, callers, budget = { faults: 1 }, isManifold, check = () => {} }: Cast,
): Scenario => ({
  name,
  promise,
  budget,
  prepare: async (table) => {
    const services = openServices(table);
    const inNamespace = (service: string) => ({ ...serviceNamed(service), namespace: 'a.example' });
    const [left, right] = [await services.create(inNamespace('Left')), await services.create(inNamespace('Right'))];
    const ids = { left: left.service_id, right: right.service_id };
    await before(table, ids);
    const { seq: earlier } = await openChangeLog(table).head();
    return {
      callers: alike(callers.length, async (caller, at) => callers[at]?.(caller.table, ids)),
      check: async (end) => {
        requireRefusals(end);
        await requireConsistent(end.table);
        const { seq } = await openChangeLog(end.table).head();
        const revisions = valuesOf(end.outcomes).filter((value) => typeof value === 'number');
        assert.equal(new Set(revisions).size, revisions.length, 'two changes were acknowledged as one');
        for (const rev of revisions) assert.ok(rev > earlier && rev <= seq, 'a change was acknowledged that is not in the log');
        const done = valuesOf(end.outcomes).filter((value) => value !== undefined && value !== false).length;
        if (end.isUndisturbed && !isManifold) assert.equal(seq - earlier, done, 'a change was made more often than it was asked for');
        await check(end, ids);
      },
    };
  },
});

const create: Act = async (table, { left }) => (await openIntents(table).create(left, intentOf(uid)))?.rev;
const createRight: Act = async (table, { right }) => (await openIntents(table).create(right, intentOf(uid)))?.rev;
const createDraft =
  (one: string): Act =>
  async (table, { left }) =>
    (await openIntents(table).create(left, intentOf(one, { draft: true })))?.rev;
const remove: Act = (table) => openIntents(table).remove(uid, always);
const describe =
  (description: string, draft?: true): Act =>
  async (table) =>
    (await openIntents(table).replace(uid, intentOf(uid, { description, ...(draft && { draft }) }), always))?.intent.rev;
const removeService: Act = (table, { left }) => openServices(table).remove(left, always);
const rename =
  (name: string): Act =>
  async (table, { left }) =>
    (await openServices(table).replace(left, { ...serviceNamed(name), namespace: 'a.example' }, always))?.rev;
const describeService =
  (description: string): Act =>
  async (table, { left }) =>
    (await openServices(table).replace(left, { ...serviceNamed('Left'), description, namespace: 'a.example' }, always))?.rev;
const register =
  (name: string): Act =>
  async (table) =>
    (await openServices(table).create(serviceNamed(name))).rev;

const found = (table: Table) => openIntents(table).find(uid);

/** What was acknowledged last stands. */
const requireStanding = async ({ outcomes, table }: End): Promise<void> => {
  if (codesOf(outcomes).includes('SERVICE_UNAVAILABLE') || outcomes.includes('crashed')) return;
  const last = Math.max(...valuesOf(outcomes).filter((value) => typeof value === 'number'));
  if (valuesOf(outcomes).some((value) => value === true)) return;
  assert.equal((await found(table))?.intent.rev, last, 'a change was acknowledged and is not there');
};

/** Callers who have read one revision. */
const overwritten = writers(
  'three writers of one revision',
  'I2: of writers who have read one revision, one succeeds, and what it wrote stands',
  {
    before: create,
    budget: { faults: 1, crashes: 1 },
    callers: times(3, (at) => async (table) => {
      const isRead = ({ intent }: { intent: { rev: number } }) => intent.rev === 3;
      return (await openIntents(table).replace(uid, intentOf(uid, { description: `Version ${at}` }), isRead))?.intent.rev;
    }),
    check: async (end) => {
      assert.ok(valuesOf(end.outcomes).length <= 1, 'two writers of one revision were told that they succeeded');
      await requireStanding(end);
    },
  },
);

/** Changes of several intents at once, which meet in one of them. */
const bulk = writers('two changes of several intents that meet in one', 'I2: several changes at once take place whole, or not at all', {
  before: create,
  callers: [
    async (table, { left }) =>
      (
        await openIntents(table).apply(left, [
          { action: 'create', intent: intentOf('a.example:c:v1') },
          { action: 'delete', uid },
        ])
      )?.seq,
    async (table, { left }) =>
      (
        await openIntents(table).apply(left, [
          { action: 'create', intent: intentOf('a.example:d:v1', { draft: true }) },
          { action: 'update', intent: intentOf(uid, { draft: true }) },
        ])
      )?.seq,
  ],
  check: async ({ table }) => {
    const stands = async (one: string) => (await openIntents(table).find(one)) !== undefined;
    const [c, d, b] = [await stands('a.example:c:v1'), await stands('a.example:d:v1'), await found(table)];
    if (c) assert.equal(b, undefined, 'one half of a change took place');
    if (d && !c) assert.equal(b?.intent.draft, true, 'one half of a change took place');
  },
});

const limited = (kind: string, act: (at: number) => Act): Scenario =>
  writers(`two creators of ${kind} in a namespace that has room for one`, 'N7: a namespace holds no more than it may', {
    callers: times(2, act),
    check: ({ outcomes, isUndisturbed }) => {
      const made = valuesOf(outcomes).length;
      assert.ok(made <= 1, 'a namespace holds more than it may');
      if (isUndisturbed) assert.equal(made, 1, 'a namespace with room refused');
    },
  });

/** A reader remembers in which service an intent was. */
const moved: Scenario = {
  name: 'one uid in two services',
  promise: 'I2, I3: an intent belongs to one service, whoever remembers another',
  budget: { faults: 1, crashes: 1 },
  prepare: async (table) => {
    const services = openServices(table);
    const ids = {
      left: (await services.create(serviceNamed('Left'))).service_id,
      right: (await services.create(serviceNamed('Right'))).service_id,
    };
    await create(table, ids);
    const reader = openIntents(table);
    await reader.find(uid);
    return {
      callers: [async ({ table: own }) => remove(own, ids), async ({ table: own }) => createRight(own, ids)],
      check: async (end) => {
        requireRefusals(end);
        await requireConsistent(end.table);
        const item = await end.table.get<IntentItem>(keys.intent(uid));
        assert.equal((await reader.find(uid))?.service.service_id, item?.service_id, 'an intent is shown in another service');
      },
    };
  },
};

/** Who registers a service beside something else that a program does to the head. */
const besideHead = (
  name: string,
  promise: string,
  { before = [], beside = [], check }: { before?: Act[]; beside?: Act[]; check: (end: End, made: LogEntry[]) => void },
): Scenario => ({
  name,
  promise,
  budget: {},
  prepare: async (table) => {
    const none = { left: '', right: '' };
    for (const act of before) await act(table, none);
    const made = logged(table);
    return {
      callers: [register('Service'), ...beside].map((act) => async (caller: Caller) => act(caller.table, none)),
      check: (end) => check(end, made),
    };
  },
});

const logged = (table: MemoryTable): LogEntry[] => itemsOf<Item>(table, 'log') as never;

const setHead =
  (seq: number): Act =>
  async (table) => {
    await table.update(keys.head(), { set: { seq } });
    return undefined;
  };

export const registryScenarios: Scenario[] = [
  overwritten,
  bulk,
  limited('intents', (at) => async (table, { left }) => {
    return (await openIntents(table, undefined, 1).create(left, intentOf(`a.example:n${at}:v1`)))?.rev;
  }),
  limited('services', (at) => async (table) => {
    return (await openServices(table, undefined, 3).create({ ...serviceNamed(`Service ${at}`), namespace: 'a.example' })).rev;
  }),
  moved,
  writers('create, rename and delete around one name', 'I2, I3: no two services have one name, and no acknowledged write is lost', {
    callers: [register('left '), rename('Other'), removeService],
    check: async (end, { left }) => {
      if (answerOf(end.outcomes[2]) === true)
        assert.equal(await openServices(end.table).find(left), undefined, 'a service that was deleted is there');
    },
  }),
  writers('three takers of one name', 'I3: a name goes to one of those who want it', {
    callers: times(3, () => register('Name')),
    check: ({ outcomes, isUndisturbed }) => {
      assert.ok(valuesOf(outcomes).length <= 1, 'two services have one name');
      if (isUndisturbed) assert.equal(valuesOf(outcomes).length, 1, 'nobody got a name that was free');
    },
  }),
  writers('the name between two renames', 'I2: a name that a service gives up is free at once', {
    callers: [
      async (table, ids) => {
        await rename('Second')(table, ids);
        await rename('Third')(table, ids);
        return register('Second')(table, ids);
      },
      async (table, { left }) => void (await openServices(table).setCredential(left, undefined, always)),
    ],
    isManifold: true,
    budget: { faults: 1, crashes: 1 },
    check: ({ outcomes, isUndisturbed }) => {
      if (isUndisturbed) assert.deepEqual(codesOf(outcomes), [], 'a name that was given up was not free');
    },
  }),
  writers('a change of a service beside an intent of it', 'I2: neither undoes what the other counts', {
    callers: [rename('Other'), create],
  }),
  writers('a service is replaced while it is deleted', 'I2: nothing of a deleted service comes back', {
    callers: [describeService('one'), removeService],
  }),
  writers('two replace one service', 'I2: a service is what the last one made of it', {
    callers: [describeService('one'), describeService('two')],
  }),
  writers('a change of a service beside a draft of it', 'I2: neither undoes what the other counts', {
    callers: [rename('Left'), createDraft(uid)],
  }),
  writers('delete of a service beside a draft of it', 'I1, I2: nothing of a deleted service counts', {
    callers: [removeService, createDraft(uid)],
  }),
  writers('two creators of one uid', 'I2: one of those who create an intent succeeds, and it stands', {
    callers: [create, createRight],
    check: ({ outcomes, isUndisturbed }) => {
      assert.ok(valuesOf(outcomes).length <= 1, 'two were told that they created one intent');
      if (isUndisturbed) assert.equal(valuesOf(outcomes).length, 1);
    },
  }),
  writers('a uid that is created while its service goes', 'I2: what was created in another service stays when the first one goes', {
    before: create,
    budget: {},
    callers: [removeService, createRight],
    check: async ({ outcomes, table }, { right }) => {
      if (answerOf(outcomes[1]))
        assert.equal((await found(table))?.intent.service_id, right, 'an intent was acknowledged and is not there');
    },
  }),
  writers('delete of a service beside its intents', 'I1, I2: nothing of a deleted service is live', {
    callers: [removeService, create],
    check: async ({ outcomes, table }) => {
      if (answerOf(outcomes[0]) === true) assert.equal(await found(table), undefined, 'an intent of a deleted service is live');
    },
  }),
  writers('delete of a service beside delete of its intent', 'I2: nothing fails that has a refusal', {
    before: create,
    callers: [removeService, remove],
  }),
  writers('the first two drafts of a service', 'I2: a list counts what is there', {
    callers: [createDraft('a.example:b:v1'), createDraft('a.example:c:v1')],
  }),
  writers('two replace one intent', 'I2: a list shows what the record says', {
    before: create,
    callers: [describe('one'), describe('two')],
    check: requireStanding,
  }),
  writers('an intent becomes a draft while it is deleted', 'I2, I3: lists and counts follow', {
    before: create,
    callers: [describe('one', true), remove],
  }),
  writers('an intent is deleted and created again', 'I2, I3: lists and counts follow', { before: create, callers: [remove, create] }),
  writers('an intent is deleted twice', 'I2, I3: what is deleted once is counted once', {
    before: create,
    callers: [remove, remove],
    check: ({ outcomes, isUndisturbed }) => {
      if (isUndisturbed) assert.equal(valuesOf(outcomes).filter(Boolean).length, 1, 'one intent was deleted twice');
    },
  }),
  ...[[], [register('Earlier')]].map((before) =>
    besideHead(`a${before.length > 0 ? '' : ' first'} head that another program sets`, 'I2: the head never goes back', {
      before,
      beside: [setHead(10)],
      check: (end) => {
        requireRefusals(end);
        const head = end.table.items().find(({ pk }) => pk === keys.head().pk);
        assert.ok(Number(head?.seq) >= 10, 'the head went back');
      },
    }),
  ),
  besideHead('a head that stands behind its log', 'I2: no entry of the log is ever written over', {
    before: [register('Earlier'), register('Later'), setHead(1)],
    check: ({ table, outcomes }, made) => {
      assert.deepEqual(logged(table), made, 'an entry of the log was written over');
      assert.deepEqual(codesOf(outcomes), ['SERVICE_UNAVAILABLE']);
    },
  }),
  writers('two writers and a straggler', 'I2: what was acknowledged stands, whatever arrives later', {
    before: create,
    callers: [describe('one'), describe('two')],
    budget: { stragglers: 1 },
  }),
];
