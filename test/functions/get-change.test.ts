import { randomBytes } from 'node:crypto';
import { afterAll, expect, test } from '@jest/globals';
import { Refusal } from '../../client/errors.ts';
import { createAction as changeIntents } from '../../functions/change-intents.ts';
import type { AdminAction } from '../../functions/core/admin/for-admins.ts';
import type { Action } from '../../functions/core/http/serve.ts';
import { openChangeLog } from '../../functions/core/registry/change-log.ts';
import { openLiveIntents } from '../../functions/core/registry/live-intents.ts';
import { createAction as createService } from '../../functions/create-service.ts';
import { createAction as deleteService } from '../../functions/delete-service.ts';
import { createAction } from '../../functions/get-change.ts';
import { createAction as getIntent } from '../../functions/get-intent.ts';
import { createAction as listChanges } from '../../functions/list-changes.ts';
import { createAction as listServiceIntents } from '../../functions/list-service-intents.ts';
import { createAction as updateService } from '../../functions/update-service.ts';
import type { Api } from '../../registry/api.ts';
import { applyChanges } from '../../registry/apply.ts';
import type { ServiceChanges } from '../../registry/compare.ts';
import { compareVersions, findObstacle, readChange, readWhole, undoChanges } from '../../registry/undo.ts';
import { changeDetails } from '../../schemas/changes.ts';
import { byAdmin, invoke, refusalOf, someAdmin, type Target } from '../support/invoke.ts';
import { intentOf, serviceNamed } from '../support/records.ts';
import { egress, startRegistry } from '../support/registry.ts';

const registry = await startRegistry();
afterAll(() => registry.stop());
const changeLog = openChangeLog(registry.table);
const { services, intents } = registry;

const read = (seq: string) => invoke(byAdmin(createAction({ ...registry, changeLog })), 'GET /api/changes/{seq}', { path: { seq } });

/** The endpoints that undoing a change needs, called as an admin. */
const api = {
  async call(method, path, { body, query, headers = {} } = {}) {
    const [, list = '', id = '', inner = ''] = /^\/api\/(\w+)(?:\/([^/]+))?(\/\w+)?/.exec(path) ?? [];
    const given = headers as Record<string, string>;
    const importId = given['Import-Id'];
    const by = (action: AdminAction) => byAdmin(action, { ...someAdmin, ...(importId !== undefined && { importId }) });
    const actions: Record<string, Action> = {
      'GET changes': by(id === '' ? listChanges({ changeLog }) : createAction({ ...registry, changeLog })),
      'GET intents': getIntent({ ...registry, intents: openLiveIntents(registry.table) }),
      'GET services/intents': listServiceIntents({
        ...registry,
        intents: openLiveIntents(registry.table),
        verifyAdmin: async () => someAdmin,
      }),
      'PUT services': by(updateService(registry)),
      'DELETE services': by(deleteService({ ...registry, credentials: { remove: async () => {} } })),
      'POST services': by(createService(registry)),
      'POST services/changes': by(changeIntents({ ...registry, egress })),
    };
    const action = actions[`${method} ${list}${inner}`];
    if (!action) throw new Error(`${method} ${path} is not served`);
    const names = { changes: 'seq', intents: 'intent_uid', services: 'service_id' };
    const answer = await invoke(action, `${method} ${path}` as Target, {
      path: { [names[list as keyof typeof names]]: decodeURIComponent(id) },
      headers: given,
      body,
      ...(query && { query: Object.fromEntries(Object.entries(query).map(([name, value]) => [name, String(value)])) }),
    });
    if (answer.status >= 400) throw new Refusal({ status: answer.status, ...answer.body.error });
    return { status: answer.status, headers: new Headers(answer.headers as Record<string, string>), body: answer.body };
  },
} as Api;

const undo = async (seq: number) => undoChanges(api, [await readChange(api, seq)]);

const headSeq = async () => (await changeLog.head()).seq;

test('GET /api/changes/{seq} shows what a change replaced and deleted, so that one change undoes it', async () => {
  const { service, uid, intent } = await registry.createIntent();
  const other = intentOf('test.example:other:v1');
  const added = intentOf('test.example:added:v1');
  await intents.create(service.service_id, other);
  const edited = intentOf(uid, { description: 'Says something else', tags: ['new'] });
  await intents.apply(service.service_id, [
    { action: 'update', intent: edited },
    { action: 'delete', uid: other.intent_uid },
    { action: 'create', intent: added },
  ]);
  const seq = await headSeq();
  const { status, body } = await read(String(seq));
  const { kind: _, service_id, rev: __, ...before } = intent;
  expect({ status, body: changeDetails.parse(body) }).toEqual({
    status: 200,
    body: {
      entry: await changeLog.find(seq),
      versions: [
        { kind: 'intent', id: uid, service_id, before, after: edited },
        { kind: 'intent', id: other.intent_uid, service_id, before: other },
      ],
    },
  });

  const details = await readChange(api, seq);
  expect(compareVersions(details)[0]?.differences).toEqual([
    { path: '/description', before: before.description, after: 'Says something else' },
    { path: '/tags', ...(before.tags && { before: before.tags }), after: ['new'] },
  ]);
  await undo(seq);
  expect((await intents.find(uid))?.intent).toMatchObject({ ...before, rev: seq + 1 });
  expect(await intents.find(other.intent_uid)).toBeDefined();
  expect(await intents.find(added.intent_uid)).toBeUndefined();
  await expect(undo(seq)).rejects.toThrow(`Nothing was undone: a record of entry ${seq} has changed since.`);
  expect(await headSeq()).toBe(seq + 1);
});

test('a change of a service is undone, unless the service has changed since', async () => {
  const service = await registry.createService({ description: 'Before' });
  const id = service.service_id;
  await services.replace(id, { ...serviceNamed(service.service_name), description: 'After' }, () => true);
  const seq = await headSeq();
  await undo(seq);
  expect((await services.find(id))?.description).toBe('Before');
  await expect(undo(seq)).rejects.toThrow('has changed since');
});

test('creations are undone, but not that of a service that has intents', async () => {
  const { service, uid } = await registry.createIntent();
  const seq = await headSeq();
  await expect(undo(seq - 1)).rejects.toThrow(
    `The service has intents. To delete it with them: intent-gate services delete ${service.service_id}`,
  );
  await undo(seq);
  expect(await intents.find(uid)).toBeUndefined();
  await undo(seq - 1);
  expect(await services.find(service.service_id)).toBeUndefined();
});

test('an import is one change: its entries share an id, are listed by it, and are undone together', async () => {
  const before = await headSeq();
  const created = Array.from({ length: 31 }, (_, at) => intentOf(`import.example:intent-${at}:v1`));
  const changes = {
    name: 'Imported',
    serviceId: undefined,
    service: { kind: 'create', input: serviceNamed('Imported') },
    intents: created.map((input) => ({ kind: 'create', input, differences: [] })),
    foreign: [],
    unwanted: [],
    unchanged: 0,
    kept: [],
    tags: new Map(),
  } as unknown as ServiceChanges;
  const terminal = { progress: () => ({ step: () => {}, end: () => {} }) };
  expect(await applyChanges({ api, terminal }, changes, false)).toMatchObject({ created: 31, failed: [] });
  const whole = await readWhole(api, before + 2);
  expect(whole.map(({ entry: { seq, changes } }) => [seq, changes.length])).toEqual([
    [before + 3, 1],
    [before + 2, 30],
    [before + 1, 1],
  ]);
  expect(new Set(whole.map(({ entry }) => entry.import_id))).toEqual(new Set([expect.stringMatching(/^[\w-]{36}$/)]));
  await undoChanges(api, whole);
  expect(await intents.find('import.example:intent-0:v1')).toBeUndefined();
  expect(await services.find(whole.at(-1)?.entry.changes[0]?.id ?? '')).toBeUndefined();
  expect(await readWhole(api, await headSeq())).toHaveLength(3);
});

test('if only a part of an import can be undone, the message says which', async () => {
  const { service, uid } = await registry.createIntent();
  const first = await headSeq();
  const added = intentOf('test.example:part-of-import:v1');
  await intents.create(service.service_id, added);
  const second = await headSeq();
  await intents.apply(service.service_id, [{ action: 'update', intent: intentOf(uid, { description: 'Changed meanwhile' }) }]);
  const whole = [await readChange(api, second), await readChange(api, first)];
  await expect(undoChanges(api, whole)).rejects.toThrow(
    `Only a part of the import is undone (entries ${second}): a record of entry ${first} has changed since.`,
  );
  expect(await intents.find(added.intent_uid)).toBeUndefined();
  await expect(undoChanges(api, [await readChange(api, first)])).rejects.toThrow('Nothing was undone: ');
});

test.each<[string, () => Promise<unknown>, string]>([
  [
    'a deletion of a service',
    async () => services.remove((await registry.createService()).service_id, () => true),
    'A deleted service is restored',
  ],
  [
    'the first setting of a namespace, which would stay',
    async () => {
      const { service_id, service_name } = await registry.createService();
      await services.replace(service_id, { ...serviceNamed(service_name), namespace: 'first.example' }, () => true);
    },
    'The change gave the service its namespace, which never changes.',
  ],
])('GET /api/changes/{seq} does not undo %s', async (_, change, obstacle) => {
  await change();
  const details = await readChange(api, await headSeq());
  expect(findObstacle(details)).toContain(obstacle);
  await expect(undoChanges(api, [details])).rejects.toThrow(obstacle);
});

test('a change does not keep versions that are too large, and says so', async () => {
  const { service_id } = await registry.createService();
  const huge = Array.from({ length: 30 }, (_, at) =>
    intentOf(`test.example:huge-${at}:v1`, { description: randomBytes(12_000).toString('base64') }),
  );
  await intents.apply(
    service_id,
    huge.map((intent) => ({ action: 'create', intent })),
  );
  await intents.apply(
    service_id,
    huge.map(({ intent_uid: uid }) => ({ action: 'delete', uid })),
  );
  const details = await readChange(api, await headSeq());
  expect(details.entry.changes).toHaveLength(30);
  expect(details).not.toHaveProperty('versions');
  await expect(undoChanges(api, [details])).rejects.toThrow('The earlier versions are not kept: they were too large, or have expired.');
});

test.each(['0', 'x', '999999'])('GET /api/changes/{seq} finds no change %j', async (seq) => {
  expect(refusalOf(await read(seq))).toEqual({
    status: 404,
    code: 'NOT_FOUND',
    message: 'No change has this number, or it has expired. GET /api/changes lists the changes that are kept.',
    details: {},
  });
});
