import { afterAll, expect, test } from '@jest/globals';
import { requireIntent } from '../../functions/core/registry/live-intents.ts';
import { openRegistry } from '../../functions/core/registry/registry.ts';
import { unavailable } from '../../functions/core/runtime/api-error.ts';
import { openSqliteEngine } from '../../functions/core/search/sqlite/engine.ts';
import { createAction as createGet } from '../../functions/get-intent.ts';
import { createAction as createList } from '../../functions/list-service-intents.ts';
import { startAdmins } from '../support/admins.ts';
import { invoke, refusalOf } from '../support/invoke.ts';
import { intentOf } from '../support/records.ts';
import { type Headers, refusals, startRegistry } from '../support/registry.ts';

const [registry, admins] = await Promise.all([startRegistry(), startAdmins()]);
afterAll(() => Promise.all([registry.stop(), admins.stop()]));
const { verifyAdmin } = admins;

const service = await registry.createService({ namespace: 'draft.example' });
const [one, two, three] = ['one', 'two', 'three'].map((slug) => `draft.example:${slug}:v1`) as [string, string, string];
for (const uid of [one, two]) await registry.intents.create(service.service_id, intentOf(uid, { draft: uid === two }));

const get = (intent_uid: string, query: Record<string, string>, headers: Headers = {}, isForAgents = false) => {
  const { intents, findPolicy } = registry;
  return invoke(createGet({ intents, findPolicy, ...(!isForAgents && { verifyAdmin }) }), 'GET /api/intents/{intent_uid}', {
    path: { intent_uid },
    query,
    headers,
  });
};
const list = async (headers: Headers = {}, query: Record<string, string> = {}) => {
  const { service_id } = service;
  const action = createList({ ...registry, verifyAdmin });
  const { status, body } = await invoke(action, 'GET /api/services/{service_id}/intents', { path: { service_id }, query, headers });
  if (status !== 200) return status;
  return [body.pagination.total_results, ...body.intents.map(({ intent_uid }: { intent_uid: string }) => intent_uid)];
};
const asMember = async (group: string) => ({ Authorization: `Bearer ${await admins.tokenOf([group])}` });
const replace = (uid: string, draft: boolean) => registry.intents.replace(uid, intentOf(uid, { draft }), () => true);

test('a draft is returned only by view=full, and only to admins of its service', async () => {
  for (const answer of [
    await get(two, {}),
    await get(two, { view: 'full' }),
    await get(two, {}, admins.headers),
    await get(two, { view: 'full' }, await asMember('admins:draft')),
    await get(two, { view: 'full' }, admins.headers, true),
  ]) {
    expect(refusalOf(answer)).toEqual(refusals.noSuchIntent);
  }
  for (const headers of [admins.headers, await asMember('admins:draft.example')]) {
    expect(await get(two, { view: 'full' }, headers)).toMatchObject({ status: 200, body: { intent_uid: two, draft: true } });
  }
});

test('the answer to another token does not reveal whether a draft exists', async () => {
  for (const token of ['not.a.token', admins.userToken, admins.expiredToken]) {
    const headers = { Authorization: `Bearer ${token}` };
    const [draft, nothing] = [await get(two, { view: 'full' }, headers), await get(three, { view: 'full' }, headers)];
    expect(refusalOf(draft)).toEqual(refusalOf(nothing));
    expect(draft.status).toBe(token === admins.expiredToken ? 401 : 404);
  }
  expect((await get(one, { view: 'full' }, { Authorization: 'Bearer not.a.token' })).status).toBe(200);
});

test('a draft is listed and counted only for admins of its service', async () => {
  const all = [2, one, two];
  expect(await list()).toEqual([1, one]);
  expect(await list(await asMember('admins:other'))).toEqual([1, one]);
  for (const Authorization of ['Bearer not.a.token', 'Basic x', '', `Bearer ${admins.userToken}`]) {
    expect(await list({ Authorization })).toEqual([1, one]);
  }
  expect(await list({ Authorization: `Bearer ${admins.expiredToken}` })).toBe(401);
  const failing = createList({ ...registry, verifyAdmin: () => Promise.reject(unavailable('The key set cannot be fetched.')) });
  const { service_id } = service;
  const unverified = await invoke(failing, 'GET /api/services/{service_id}/intents', { path: { service_id }, headers: admins.headers });
  expect(unverified.status).toBe(503);
  expect(await list(admins.headers)).toEqual(all);
  expect(await list(await asMember('admins:draft.example'))).toEqual(all);
  expect(await list(admins.headers, { page: '2', page_size: '1' })).toEqual([2, two]);
  expect(await list(admins.headers, { page: '2', page_size: '1', after: one })).toEqual([2, two]);
});

test('a draft is not executed, nor is it a version of an intent', async () => {
  const v2 = 'draft.example:one:v2';
  await registry.intents.create(service.service_id, intentOf(v2, { draft: true }));
  await expect(requireIntent(await registry.intents.find(two), two, registry.intents)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  await expect(requireIntent(await registry.intents.find(v2), v2, registry.intents)).rejects.toMatchObject({
    code: 'VERSION_CONFLICT',
    details: { supported_versions: ['v1'] },
  });
  await registry.intents.remove(v2, () => true);
});

test('search does not find drafts, and follows an intent that becomes one or stops being one', async () => {
  const engine = openSqliteEngine(openRegistry(registry.table));
  const found = async () =>
    (await engine.search({ page: 1, page_size: 10, namespace: 'draft.example' })).hits.map(({ intent }) => intent.intent_uid).sort();
  expect(await found()).toEqual([one]);
  await replace(two, false);
  await replace(one, true);
  expect(await found()).toEqual([two]);
  expect(await list()).toEqual([1, two]);
  expect(await list(admins.headers)).toEqual([2, one, two]);
  const fresh = openSqliteEngine(openRegistry(registry.table));
  expect((await fresh.search({ page: 1, page_size: 10, namespace: 'draft.example' })).total).toBe(1);
  expect((await registry.intents.read([one, two])).map(({ intent_uid }) => intent_uid)).toEqual([two]);
  expect(await openRegistry(registry.table).readRecords([{ kind: 'intent', id: one }])).toEqual([undefined]);
  await replace(one, false);
  await replace(two, true);
  expect(await found()).toEqual([one]);
});
