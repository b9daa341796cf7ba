import { afterAll, expect, test } from '@jest/globals';
import { createAction } from '../../functions/list-services.ts';
import { serviceList } from '../../schemas/service.ts';
import { startAdmins } from '../support/admins.ts';
import { type Answer, invoke, nextQuery, refusalOf } from '../support/invoke.ts';
import { intentOf } from '../support/records.ts';
import { type Headers, startRegistry } from '../support/registry.ts';

const [registry, admins] = await Promise.all([startRegistry(), startAdmins()]);
afterAll(() => Promise.all([registry.stop(), admins.stop()]));
const { verifyAdmin } = admins;
const { table, services, intents, readUnits } = registry;

const list = (query: Record<string, string | string[]> = {}, headers: Headers = {}) =>
  invoke(createAction({ verifyAdmin, table }), 'GET /api/services', { query, headers });

const inputOf = (service_name: string) => ({ service_name, service_url: 'https://a.example', description: 'Something' });
const names = ['Orders of Acme', 'acme Billing', 'Zürich weather', 'Bank', 'Émile'];
const ids = new Map<string, string>();
for (const name of names) ids.set(name, (await services.create(inputOf(name))).service_id);
const ordered = ['acme Billing', 'Bank', 'Orders of Acme', 'Zürich weather', 'Émile'];
for (const slug of ['one', 'two', 'three']) await intents.create(ids.get('Bank') ?? '', intentOf(`bank.example:${slug}:v1`));

const shown = (name: string, count = 0) => ({ service_id: ids.get(name), ...inputOf(name), intents: count });

test('GET /api/services lists services in the order of their names, with the number of their intents', async () => {
  const { status, headers, body } = await list();
  expect({ status, body }).toEqual({
    status: 200,
    body: { services: ordered.map((name) => shown(name, name === 'Bank' ? 3 : 0)), pagination: { current_page: 1, page_size: 10 } },
  });
  serviceList.parse(body);
  expect(headers).not.toHaveProperty('Link');
});

test('GET /api/services shows limits, and to admins that there is no credential', async () => {
  const limited = await services.create({ ...inputOf('Limited'), limit: { rate: 5, period: 60 } });
  const row = { service_id: limited.service_id, ...inputOf('Limited'), intents: 0, limit: { rate: 5, period: 60 } };
  const find = ({ body }: Awaited<ReturnType<typeof list>>) => body.services.find((one: object) => Object.values(one).includes('Limited'));
  const open = await list();
  expect(find(open)).toEqual(row);
  expect(open.headers).toMatchObject({ Vary: 'Authorization', 'Cache-Control': 'no-cache' });
  expect(find(await list({}, { Authorization: 'Bearer no-token' }))).toEqual(row);
  const shownToAdmin = await list({}, admins.headers);
  expect(find(shownToAdmin)).toEqual({ ...row, credential: null });
  expect(shownToAdmin.headers).toMatchObject({ 'Cache-Control': 'private, no-cache' });
  serviceList.parse(shownToAdmin.body);
  await services.remove(limited.service_id, () => true);
});

test('GET /api/services links from page to page', async () => {
  const seen: string[] = [];
  let query: Record<string, string> | undefined = { page_size: '2' };
  for (let pages = 0; query && pages < 10; pages++) {
    const page: Answer = await list(query);
    seen.push(...page.body.services.map(({ service_name }: { service_name: string }) => service_name));
    query = nextQuery(page);
  }
  expect(seen).toEqual(ordered);
});

test.each([
  ['acme', ['acme Billing', 'Orders of Acme']],
  ['ACME bill', ['acme Billing']],
  ['zurich', ['Zürich weather']],
  ['acmes', []],
  ['-', []],
])('GET /api/services finds %s as a search by service_name does', async (name, expected) => {
  const { body } = await list({ name });
  expect(body.services.map(({ service_name }: { service_name: string }) => service_name)).toEqual(expected);
});

/** Names, each with spellings that fold to it. */
const spelt: [name: string, ...others: string[]][] = [
  ['Straßenbahn', 'STRASSENBAHN'],
  ['東京Metro API', '東京METRO api'],
  ['★', '★ '],
];

test.each(spelt)('GET /api/services finds %s by any spelling of its name', async (...spellings) => {
  const { service_id } = await services.create(inputOf(spellings[0]));
  for (const name of spellings) {
    const { body } = await list({ name });
    expect(body.services.map((found: { service_id: string }) => found.service_id)).toContain(service_id);
  }
  await services.remove(service_id, () => true);
});

test('GET /api/services reads no more than its page', async () => {
  for (let index = 0; index < 100; index++) await services.create(inputOf(`Many ${String(index).padStart(3, '0')}`));
  readUnits.length = 0;
  const { body } = await list({ page_size: '10' });
  expect(body.services).toHaveLength(10);
  expect(readUnits.reduce((sum, units) => sum + units, 0)).toBeLessThan(15);
});

test.each([
  [{ page: '0' }, '/page', 'must be a whole number from 1 to 1000000000'],
  [{ page: '1000', page_size: '100' }, '/page', 'must begin within 5000 entries of either end of the list, or come with after'],
  [{ after: 'x'.repeat(1_025) }, '/after', 'must have at most 1024 bytes'],
])('GET /api/services refuses %j', async (query, path, problem) => {
  const answer = await list(query);
  expect(refusalOf(answer)).toMatchObject({ status: 400, code: 'INVALID_PARAMETER', details: { issues: [{ path, problem }] } });
});
