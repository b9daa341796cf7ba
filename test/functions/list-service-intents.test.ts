import { afterAll, expect, test } from '@jest/globals';
import { createAction } from '../../functions/list-service-intents.ts';
import { type FullIntent, intentList } from '../../schemas/intent.ts';
import { startAdmins } from '../support/admins.ts';
import { invoke, refusalOf } from '../support/invoke.ts';
import { intentOf } from '../support/records.ts';
import { type Headers, refusals, startRegistry } from '../support/registry.ts';

const [registry, admins] = await Promise.all([startRegistry(), startAdmins()]);
afterAll(() => Promise.all([registry.stop(), admins.stop()]));
const { verifyAdmin } = admins;

const list = (service_id: string, query: Record<string, string | string[]> = {}, headers: Headers = {}) =>
  invoke(createAction({ ...registry, verifyAdmin }), 'GET /api/services/{service_id}/intents', { path: { service_id }, query, headers });

const { service_id: serviceId } = await registry.createService();
const uids = ['a.example:one:v1', 'a.example:two:v1', 'b.example:one:v1'];
for (const uid of uids.toReversed()) await registry.intents.create(serviceId, intentOf(uid, uid === uids[1] ? { tags: ['geo'] } : {}));
const rows = uids.map((uid) => ({
  intent_id: uid,
  intent_uid: uid,
  intent_name: 'Get country',
  description: 'Tells a country from its code',
  tags: uid === uids[1] ? ['geo'] : [],
  method: 'POST',
  url: 'https://api.world.example/countries',
}));
const address = `https://api.example/test/api/services/${serviceId}/intents`;

test('lists the intents of the service in the order of their uids', async () => {
  await registry.createIntent();
  const { status, headers, body } = await list(serviceId);
  expect({ status, body }).toEqual({
    status: 200,
    body: { intents: rows, pagination: { total_results: 3, total_pages: 1, current_page: 1, page_size: 10 } },
  });
  intentList.parse(body);
  expect(headers).toMatchObject({ ETag: expect.stringMatching(/^".+"$/), 'Cache-Control': 'no-cache' });
  expect(headers).not.toHaveProperty('Link');
  expect((await list(serviceId, {}, { 'If-None-Match': String(headers.ETag) })).status).toBe(304);
});

test.each<[query: Record<string, string>, expected: object[], current: number, link: string | undefined]>([
  [{ page_size: '2' }, rows.slice(0, 2), 1, `<${address}?page_size=2&page=2&after=a.example%3Atwo%3Av1>; rel="next"`],
  [{ page: '2', page_size: '2' }, rows.slice(2), 2, `<${address}?page=1&page_size=2>; rel="prev"`],
  [{ page: '2', page_size: '2', after: 'a.example:one:v1' }, rows.slice(1), 2, `<${address}?page=1&page_size=2>; rel="prev"`],
  [{ page: '9', page_size: '2' }, [], 9, `<${address}?page=2&page_size=2>; rel="prev"`],
])('returns the page of %j with links to its neighbours', async (query, expected, current, link) => {
  const { status, headers, body } = await list(serviceId, query);
  expect({ status, body }).toEqual({
    status: 200,
    body: { intents: expected, pagination: { total_results: 3, total_pages: 2, current_page: current, page_size: 2 } },
  });
  expect(headers.Link).toBe(link);
});

test('marks deprecated intents, and drafts for admins', async () => {
  const { service_id } = await registry.createService();
  const made = { one: {}, two: { deprecated: true }, three: { draft: true }, four: { draft: true, deprecated: true } };
  for (const [slug, input] of Object.entries(made)) await registry.intents.create(service_id, intentOf(`marks.example:${slug}:v1`, input));
  const marksOf = async (headers: Headers = {}) =>
    Object.fromEntries(
      (await list(service_id, {}, headers)).body.intents.map(({ intent_uid, deprecated, draft }: FullIntent) => [
        intent_uid.split(':')[1],
        { ...(deprecated !== undefined && { deprecated }), ...(draft !== undefined && { draft }) },
      ]),
    );
  expect(await marksOf()).toEqual({ one: {}, two: { deprecated: true } });
  expect(await marksOf(admins.headers)).toEqual(made);

  await registry.intents.replace('marks.example:two:v1', intentOf('marks.example:two:v1'), () => true);
  expect(await marksOf()).toEqual({ one: {}, two: {} });
});

test('refuses a service that does not exist', async () => {
  expect(refusalOf(await list('none'))).toEqual(refusals.noSuchService);
});

test.each<[query: Record<string, string | string[]>, issue: [path: string, problem: string]]>([
  [{ page: '1.5' }, ['/page', 'must be a whole number from 1 to 1000000000']],
  [{ page_size: ['1', '2'] }, ['/page_size', 'must be given once']],
])('refuses %j', async (query, issue) => {
  expect(refusalOf(await list(serviceId, query))).toEqual(refusals.invalid(issue));
});
