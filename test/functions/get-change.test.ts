import { randomBytes } from 'node:crypto';
import { afterAll, expect, test } from '@jest/globals';
import { Refusal } from '../../client/errors.ts';
import { createAction as changeIntents } from '../../functions/change-intents.ts';
import { openChangeLog } from '../../functions/core/registry/change-log.ts';
import { createAction } from '../../functions/get-change.ts';
import { createAction as updateService } from '../../functions/update-service.ts';
import type { Api } from '../../registry/api.ts';
import { compareVersions, findObstacle, readChange, undoChange } from '../../registry/undo.ts';
import { changeDetails } from '../../schemas/changes.ts';
import { byAdmin, invoke, refusalOf, type Target } from '../support/invoke.ts';
import { intentOf, serviceNamed } from '../support/records.ts';
import { egress, startRegistry } from '../support/registry.ts';

const registry = await startRegistry();
afterAll(() => registry.stop());
const changeLog = openChangeLog(registry.table);
const { services, intents } = registry;

const read = (seq: string) => invoke(byAdmin(createAction({ ...registry, changeLog })), 'GET /api/changes/{seq}', { path: { seq } });

/** The endpoints that undoing a change needs, called as an admin. */
const api = {
  async call(method, path, { body, headers = {} } = {}) {
    const [, list = '', id = ''] = /^\/api\/(services|changes)\/([^/]+)/.exec(path) ?? [];
    const action =
      list === 'changes'
        ? createAction({ ...registry, changeLog })
        : method === 'PUT'
          ? updateService(registry)
          : changeIntents({ ...registry, egress });
    const {
      status,
      headers: _,
      body: answer,
    } = await invoke(byAdmin(action), `${method} ${path}` as Target, {
      path: list === 'changes' ? { seq: id } : { service_id: id },
      headers: headers as Record<string, string>,
      body,
    });
    if (status >= 400) throw new Refusal({ status, ...answer.error });
    return { status, headers: new Headers(), body: answer };
  },
} as Api;

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
  await undoChange(api, details);
  expect((await intents.find(uid))?.intent).toMatchObject({ ...before, rev: seq + 1 });
  expect(await intents.find(other.intent_uid)).toBeDefined();
  expect(await intents.find(added.intent_uid)).toBeUndefined();
  await expect(undoChange(api, details)).rejects.toThrow(`Nothing was undone: a record of entry ${seq} has changed since.`);
  expect(await headSeq()).toBe(seq + 1);
});

test('a change of a service is undone, unless the service has changed since', async () => {
  const service = await registry.createService({ description: 'Before' });
  const id = service.service_id;
  await services.replace(id, { ...serviceNamed(service.service_name), description: 'After' }, () => true);
  const details = await readChange(api, await headSeq());
  await undoChange(api, details);
  expect((await services.find(id))?.description).toBe('Before');
  await expect(undoChange(api, details)).rejects.toThrow('has changed since');
});

test.each<[string, () => Promise<unknown>, string]>([
  ['a registration', () => registry.createService(), 'Delete the service to undo its registration.'],
  ['a creation', () => registry.createIntent(), 'Delete the intents to undo their creation.'],
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
  await expect(undoChange(api, details)).rejects.toThrow(obstacle);
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
  await expect(undoChange(api, details)).rejects.toThrow('The earlier versions are not kept: they were too large, or have expired.');
});

test.each(['0', 'x', '999999'])('GET /api/changes/{seq} finds no change %j', async (seq) => {
  expect(refusalOf(await read(seq))).toEqual({
    status: 404,
    code: 'NOT_FOUND',
    message: 'No change has this number, or it has expired. GET /api/changes lists the changes that are kept.',
    details: {},
  });
});
