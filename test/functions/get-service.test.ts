import { afterAll, expect, test } from '@jest/globals';
import { createAction } from '../../functions/get-service.ts';
import { createAction as createList } from '../../functions/list-services.ts';
import { service as serviceSchema } from '../../schemas/service.ts';
import { startAdmins } from '../support/admins.ts';
import { invoke } from '../support/invoke.ts';
import { type Headers, startRegistry } from '../support/registry.ts';

const [registry, admins] = await Promise.all([startRegistry(), startAdmins()]);
afterAll(() => Promise.all([registry.stop(), admins.stop()]));
const { verifyAdmin } = admins;

const get = (service_id: string, headers: Headers = {}) =>
  invoke(createAction({ ...registry, verifyAdmin }), 'GET /api/services/{service_id}', { path: { service_id }, headers });

test('GET /api/services/{service_id} shows what was registered, and no other part of the record', async () => {
  const addresses = { policy_url: 'https://world.example/policy', service_privacy_policy_url: 'https://world.example/privacy' };
  const { service_id, service_name, rev } = await registry.createService(addresses);
  const { status, headers, body } = await get(service_id);
  expect({ status, body }).toEqual({
    status: 200,
    body: { service_id, service_name, service_url: 'https://world.example', description: 'Facts about the world', ...addresses },
  });
  serviceSchema.parse(body);
  expect(headers).toMatchObject({ ETag: `"${rev}"`, 'Cache-Control': 'no-cache' });
});

test('GET /api/services/{service_id} answers 304 until the service changes', async () => {
  const { service_id, service_name, rev } = await registry.createService();
  const held = { 'If-None-Match': `"${rev}"` };
  expect(await get(service_id, held)).toMatchObject({ status: 304, body: undefined, headers: { ETag: `"${rev}"` } });
  const input = { service_name, service_url: 'https://world.example', description: 'Other facts' };
  await registry.services.replace(service_id, input, () => true);
  expect(await get(service_id, held)).toMatchObject({ status: 200, body: { service_id, ...input } });
});

const holders = {
  nobody: undefined,
  'a user': [],
  'an admin': ['admins'],
  'an admin of pay': ['admins:pay'],
  'an admin of payments': ['admins:payments'],
} as const;

test.each([
  ['nobody', 'pay', false],
  ['a user', 'pay', false],
  ['an admin', 'pay', true],
  ['an admin of pay', 'pay', true],
  ['an admin of payments', 'pay', false],
  ['an admin', undefined, true],
  ['an admin of pay', undefined, false],
] as const)('GET by %s in the namespace %s shows what is known of the credential: %s', async (holder, namespace, isShown) => {
  const { service_id } = await registry.createService({ ...(namespace && { namespace }) });
  const known = { headers: ['X-Api-Key'], query: [], origins: ['https://internal.example'], set_at: 0, set_by: 'bea' };
  await registry.services.setCredential(service_id, { ...known, version: 'version' }, () => true);
  const groups = holders[holder];
  const headers = groups && { Authorization: `Bearer ${await admins.tokenOf([...groups])}` };
  const listAction = createList({ verifyAdmin, table: registry.table });
  const list = await invoke(listAction, 'GET /api/services', { query: { page_size: '100' }, headers: headers ?? {} });
  const listed = list.body.services.find((one: { service_id: string }) => one.service_id === service_id);
  const one = await get(service_id, headers);
  const { rev } = (await registry.services.find(service_id)) ?? {};
  const ofAdmins = { ETag: `"${rev}.admin"`, 'Cache-Control': 'private, no-cache', Vary: 'Authorization' };
  expect(one.headers).toMatchObject(isShown ? ofAdmins : { ETag: `"${rev}"` });
  for (const shown of [one.body, listed]) {
    expect(shown).toMatchObject({ service_id });
    expect(shown.credential).toEqual(isShown ? { ...known, set_at: '1970-01-01T00:00:00.000Z' } : undefined);
    if (!isShown) expect(JSON.stringify(shown)).not.toMatch(/X-Api-Key|internal|bea/);
  }
});
