import { afterAll, describe, expect, test } from '@jest/globals';
import { createAction as createGet } from '../../functions/get-intent.ts';
import { createAction } from '../../functions/list-service-intents.ts';
import type { FullIntent } from '../../schemas/intent.ts';
import { fullIntentList, intentList } from '../../schemas/intent-pages.ts';
import { startAdmins } from '../support/admins.ts';
import { type Answer, invoke, nextQuery, refusalOf } from '../support/invoke.ts';
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

test('GET /api/services/{service_id}/intents lists the intents of the service in the order of their uids', async () => {
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
])('GET /api/services/{service_id}/intents returns the page of %j with links to its neighbours', async (query, expected, current, link) => {
  const { status, headers, body } = await list(serviceId, query);
  expect({ status, body }).toEqual({
    status: 200,
    body: { intents: expected, pagination: { total_results: 3, total_pages: 2, current_page: current, page_size: 2 } },
  });
  expect(headers.Link).toBe(link);
});

test('GET /api/services/{service_id}/intents marks deprecated intents, and drafts for admins', async () => {
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

describe('view=full', () => {
  const getFull = (intent_uid: string, headers: Headers = {}) =>
    invoke(createGet({ ...registry, verifyAdmin }), 'GET /api/intents/{intent_uid}', {
      path: { intent_uid },
      query: { view: 'full' },
      headers,
    });
  /** Follows the links from the first page. */
  async function listAll(service_id: string, query: Record<string, string> = {}, headers: Headers = {}): Promise<Answer[]> {
    const pages: Answer[] = [];
    for (let asked: Record<string, string> | undefined = { view: 'full', ...query }; asked; asked = nextQuery(pages.at(-1) as Answer))
      pages.push(await list(service_id, asked, headers));
    return pages;
  }
  const uidsOf = (pages: readonly Answer[]) => pages.map(({ body }) => body.intents.map(({ intent_uid }: FullIntent) => intent_uid));

  test('view=full returns the same records and entity tags as GET of each intent', async () => {
    const { status, headers, body } = await list(serviceId, { view: 'full' });
    const single = await Promise.all(uids.map((uid) => getFull(uid)));
    expect({ status, body }).toEqual({
      status: 200,
      body: {
        intents: single.map((answer) => answer.body),
        etags: Object.fromEntries(single.map((answer, at) => [uids[at], answer.headers.ETag])),
        total_results: 3,
      },
    });
    fullIntentList.parse(body);
    expect(headers).toMatchObject({ ETag: expect.stringMatching(/^".+"$/), 'Cache-Control': 'no-cache' });
    expect(headers).not.toHaveProperty('Link');
    expect((await list(serviceId, { view: 'full' }, { 'If-None-Match': String(headers.ETag) })).status).toBe(304);
  });

  test('view=full leads through all pages by links', async () => {
    const pages = await listAll(serviceId, { page_size: '2' });
    expect(uidsOf(pages)).toEqual([uids.slice(0, 2), uids.slice(2)]);
    expect(pages.map(({ headers }) => headers.Link)).toEqual([
      `<${address}?view=full&page_size=2&after=a.example%3Atwo%3Av1>; rel="next"`,
      undefined,
    ]);
  });

  test.each<[title: string, count: number, more: (at: number) => object]>([
    ['of 180 KB each', 100, () => ({ output_parameters: parametersOf(45, 'x') })],
    ['that only consist of characters to escape', 40, () => ({ output_parameters: parametersOf(30, '"\\') })],
    ['of which only one is big', 30, (at) => (at === 5 ? { output_parameters: parametersOf(60, 'é') } : {})],
    ['of 2 KB each', 100, () => ({ description: 'x'.repeat(2_000) })],
  ])('a page of intents %s stays below the limit of an answer, and none is lost', async (title, count, more) => {
    const { service_id } = await registry.createService();
    const slug = title.replaceAll(/\W+/g, '-');
    const all = Array.from({ length: count }, (_, at) => `big.example:${slug}-${String(at).padStart(3, '0')}:v1`);
    for (const [at, uid] of all.entries()) await registry.intents.create(service_id, intentOf(uid, more(at)));
    const pages = await listAll(service_id, { page_size: '100' });
    for (const { status, body } of pages) {
      expect({ status, total: body.total_results }).toEqual({ status: 200, total: count });
      expect(body.intents.length).toBeGreaterThan(0);
      expect(Object.keys(body.etags)).toEqual(body.intents.map(({ intent_uid }: FullIntent) => intent_uid));
      // the body is a string in the JSON that Lambda returns, of at most 6 MB
      expect(Buffer.byteLength(JSON.stringify(JSON.stringify(body)))).toBeLessThan(6_000_000);
    }
    expect(uidsOf(pages).flat()).toEqual(all);
    expect(pages.length === 1).toBe(title === 'of 2 KB each' || title.includes('only one'));
  });

  test('view=full hides drafts from all but the admins of the service', async () => {
    const { service_id } = await registry.createService({ namespace: 'hidden.example' });
    const made = ['a', 'b', 'c', 'd'].map((slug) => `hidden.example:${slug}:v1`);
    for (const [at, uid] of made.entries()) await registry.intents.create(service_id, intentOf(uid, { draft: at % 2 === 0 }));
    const asMember = async (group: string) => ({ Authorization: `Bearer ${await admins.tokenOf([group])}` });
    const open = [[made[1]], [made[3]]];
    expect(uidsOf(await listAll(service_id, { page_size: '1' }))).toEqual(open);
    expect(uidsOf(await listAll(service_id, { page_size: '1' }, await asMember('admins:other.example')))).toEqual(open);
    const [page, ...others] = await listAll(service_id, {}, await asMember('admins:hidden.example'));
    expect(others).toEqual([]);
    expect(page?.body).toMatchObject({ total_results: 4, intents: made.map((intent_uid, at) => ({ intent_uid, draft: at % 2 === 0 })) });
    expect(page?.body.intents[0]).toEqual((await getFull(made[0] ?? '', admins.headers)).body);
    expect(uidsOf(await listAll(service_id, { page_size: '1' }, { Authorization: 'Bearer not.a.token' }))).toEqual(open);
    expect((await list(service_id, { view: 'full' }, { Authorization: `Bearer ${admins.expiredToken}` })).status).toBe(401);
  });

  test.each<[title: string, change: (uid: string) => Promise<unknown>]>([
    ['deleted', (uid) => registry.intents.remove(uid, () => true)],
    ['made a draft', (uid) => registry.intents.replace(uid, intentOf(uid, { draft: true }), () => true)],
    [
      'registered for another service',
      async (uid) => {
        await registry.intents.remove(uid, () => true);
        await registry.intents.create(serviceId, intentOf(uid));
      },
    ],
  ])('view=full omits an intent that was %s after it was listed', async (title, change) => {
    const { service_id } = await registry.createService();
    const slug = title.replaceAll(' ', '-');
    const [first, second, third] = ['a', 'b', 'c'].map((part) => `raced.example:${slug}-${part}:v1`) as [string, string, string];
    for (const uid of [first, second, third]) await registry.intents.create(service_id, intentOf(uid));
    const intents = {
      read: async (...asked: Parameters<typeof registry.intents.read>) => {
        await change(second);
        return registry.intents.read(...asked);
      },
    };
    const { status, body } = await invoke(createAction({ ...registry, intents, verifyAdmin }), 'GET /api/services/{service_id}/intents', {
      path: { service_id },
      query: { view: 'full' },
    });
    expect(status).toBe(200);
    expect(body.intents.map(({ intent_uid }: FullIntent) => intent_uid)).toEqual([first, third]);
    await registry.intents.remove(second, () => true);
  });

  test('view=full says that the service is paused, and is empty without intents', async () => {
    const { service_id } = await registry.createService({ paused: true });
    expect((await list(service_id, { view: 'full' })).body).toEqual({ intents: [], etags: {}, total_results: 0 });
    const uid = 'paused.example:one:v1';
    await registry.intents.create(service_id, intentOf(uid));
    expect((await list(service_id, { view: 'full' })).body.intents).toEqual([(await getFull(uid)).body]);
  });
});

/** Parameters with a description of 4,000 characters each. */
function parametersOf(count: number, text: string) {
  return Array.from({ length: count }, (_, at) => ({
    name: `p${at}`,
    type: 'string' as const,
    description: text.repeat(4_000 / text.length),
  }));
}

test('GET /api/services/{service_id}/intents refuses a service that does not exist', async () => {
  expect(refusalOf(await list('none'))).toEqual(refusals.noSuchService);
  expect(refusalOf(await list('none', { view: 'full' }))).toEqual(refusals.noSuchService);
});

test.each<[query: Record<string, string | string[]>, issue: [path: string, problem: string]]>([
  [{ page: '1.5' }, ['/page', 'must be a whole number from 1 to 1000000000']],
  [{ page_size: ['1', '2'] }, ['/page_size', 'must be given once']],
  [{ view: 'brief' }, ['/view', 'must be one of "full"']],
  [{ view: 'full', page_size: '101' }, ['/page_size', 'must be a whole number from 1 to 100']],
  [{ view: 'full', page: '2' }, ['/page', 'must be left out with view=full: the Link header (rel="next") leads to the next page']],
])('GET /api/services/{service_id}/intents refuses %j', async (query, issue) => {
  expect(refusalOf(await list(serviceId, query))).toEqual(refusals.invalid(issue));
});
