import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { parsePolicyTemplate } from '../../functions/core/policy/template.ts';
import { openRegistry } from '../../functions/core/registry/registry.ts';
import { openSqliteEngine } from '../../functions/core/search/sqlite/engine.ts';
import { createAction } from '../../functions/search-intents.ts';
import { toIntentDetails } from '../../schemas/intent.ts';
import { briefPage, cataloguePage, intentPage } from '../../schemas/intent-pages.ts';
import { type Answer, invoke, refusalOf } from '../support/invoke.ts';
import { loadPolicyTemplate, openPolicy } from '../support/policy.ts';
import { intentOf, serviceNamed } from '../support/records.ts';
import { refusals, startRegistry } from '../support/registry.ts';
import { startTable } from '../support/table.ts';

const path = '/api/intents/search';
const findPolicy = openPolicy();

const registry = await startRegistry();
const { services, intents } = registry;
const engine = openSqliteEngine(openRegistry(registry.table));

afterAll(async () => {
  await engine.close();
  await registry.stop();
});

const ask = (query: Record<string, string | string[]> = {}, at = engine): Promise<Answer> =>
  invoke(createAction({ engine: at, findPolicy }), `GET ${path}`, { query });

describe('answers', () => {
  const page = [1, 2, 3].map((n) => intentOf(`answer.example:number-${n}:v1`, { tags: ['answer'], description: `Number ${n} of a few` }));
  beforeAll(async () => {
    const { service_id } = await services.create(serviceNamed('Answers'));
    for (const intent of page) await intents.create(service_id, intent);
  });

  test('a search answers with a page of intents with links to its neighbours', async () => {
    const { status, headers, body } = await ask({ tags: 'answer', page: '2', page_size: '1' });
    expect(status).toBe(200);
    expect(body).toEqual({
      intents: page.slice(1, 2).map((intent) => toIntentDetails(intent, 'Answers')),
      pagination: { total_results: 3, total_pages: 3, current_page: 2, page_size: 1 },
    });
    expect(headers).toMatchObject({
      'Cache-Control': 'no-cache',
      ETag: expect.stringMatching(/^"[\w-]{22}"$/),
      Link:
        '<https://api.example/test/api/intents/search?tags=answer&page=3&page_size=1&after=answer.example%3Anumber-2%3Av1>; rel="next", ' +
        '<https://api.example/test/api/intents/search?tags=answer&page=1&page_size=1>; rel="prev"',
    });
  });

  test('a search with a query links by page number, and explains matches on request', async () => {
    const query = { query: 'numbers, please', page_size: '2' };
    const { headers, body } = await ask({ ...query, explain: 'true' });
    const address = 'https://api.example/test/api/intents/search?query=numbers%2C+please&page_size=2&explain=true&page=2';
    expect(headers.Link).toBe(`<${address}>; rel="next"`);
    expect(intentPage.parse(body).intents[0]?.match).toEqual({ score: expect.any(Number), words: ['numbers'] });
    expect(intentPage.parse((await ask(query)).body).intents[0]?.match).toBeUndefined();
  });

  test.each([
    ['q', 'use query'],
    ['search', 'use query'],
    ['text', 'use query'],
    ['tag', 'use tags'],
    ['name', 'use query, intent_name or service_name'],
  ])('a search refuses ?%s=, which would find everything', async (name, advice) => {
    const refusal = refusals.invalid([`/${name}`, `is not a parameter of this endpoint: ${advice}`]);
    expect(refusalOf(await ask({ [name]: 'answer' }))).toEqual(refusal);
    expect((await ask({ [name]: '', other: 'x' })).status).toBe(200);
  });

  const tags = Array.from({ length: 51 }, (_, n) => `t${n}`);

  test.each<[string, Record<string, string | string[]>, { path: string; problem: string }[]]>([
    ['page 10abc', { page: '10abc' }, [{ path: '/page', problem: 'must be a whole number from 1 to 1000000000' }]],
    ['51 tags', { tags: tags.join(',') }, [{ path: '/tags', problem: 'must have at most 50 tags' }]],
    ['page_size 101', { page_size: '101' }, [{ path: '/page_size', problem: 'must be a whole number from 1 to 100' }]],
    ['a repeated parameter', { query: ['a', 'b'] }, [{ path: '/query', problem: 'must be given once' }]],
    ['a question of more than 10 KB', { query: 'x'.repeat(10_241) }, [{ path: '/query', problem: 'must have at most 10240 characters' }]],
    ['explain=yes', { explain: 'yes' }, [{ path: '/explain', problem: 'must be one of "true", "false"' }]],
  ])('a search refuses %s', async (_, query, issues) => {
    expect(refusalOf(await ask(query))).toMatchObject({ status: 400, code: 'INVALID_PARAMETER', details: { issues } });
  });

  test.each([
    ['page 1,000,000,000', { page: '1000000000' }],
    ['an empty parameter', { page: '', query: '' }],
    ['an unknown parameter', { sort: 'up' }],
    ['50 tags, one of them twice', { tags: [...tags.slice(1), 't1', ''].join(',') }],
  ])('a search takes %s', async (_, query) => {
    expect((await ask(query)).status).toBe(200);
  });

  test('a search ignores a query of white space', async () => {
    expect((await ask({ query: '  ' })).body).toEqual((await ask({})).body);
  });
});

describe('views', () => {
  test('a search with view=brief returns what a choice needs, and view=catalogue also service, method and tags', async () => {
    const { service_id } = await services.create(serviceNamed('Brief'));
    const parameter = (name: string, required: boolean) => ({ name, type: 'string' as const, required });
    await intents.create(
      service_id,
      intentOf('brief.example:one:v1', {
        intent_name: 'One',
        description: '<p>Does **one** [thing](https://a.example/thing). And says more about it.</p>',
        input_parameters: [parameter('a', true), parameter('b', false), parameter('c', true)],
      }),
    );
    const brief = { intent_uid: 'brief.example:one:v1', intent_name: 'One', summary: 'Does one thing.', required: ['a', 'c'] };
    const show = async (view: string) => (await ask({ namespace: 'brief.example', view })).body;
    expect(briefPage.parse(await show('brief')).intents).toEqual([brief]);
    expect(cataloguePage.parse(await show('catalogue')).intents).toEqual([
      { ...brief, service_name: 'Brief', method: 'POST', tags: expect.any(Array) },
    ]);
  });

  test('a search lists forbidden intents last', async () => {
    const { service_id } = await services.create(serviceNamed('Forbidden'));
    await intents.create(service_id, intentOf('forbidden.example:a:v1', { intent_name: 'Unwrap parcels' }));
    await intents.create(service_id, intentOf('allowed.example:b:v1', { intent_name: 'Wrap', description: 'something around parcels' }));
    const template = loadPolicyTemplate();
    const prohibition = { target: '{base_url}/api/intents/forbidden.example:a:v1', action: 'execute' };
    const strict = parsePolicyTemplate(JSON.stringify({ ...template, prohibition: [...(template.prohibition ?? []), prohibition] }));
    const found = async (policy: typeof template, more = {}) => {
      const { body } = await invoke(createAction({ engine, findPolicy: openPolicy(policy) }), `GET ${path}`, {
        query: { query: 'unwrap parcels', ...more },
      });
      return intentPage.parse(body).intents.map(({ intent_uid }) => intent_uid);
    };
    expect(await found(template)).toEqual(['forbidden.example:a:v1', 'allowed.example:b:v1']);
    expect(await found(strict)).toEqual(['allowed.example:b:v1', 'forbidden.example:a:v1']);
    expect(await found(strict, { permitted: 'true' })).toEqual(['allowed.example:b:v1']);
    const { headers } = await ask({ permitted: 'true' });
    expect(headers).toMatchObject({ Vary: 'Authorization', 'Cache-Control': 'private, no-cache' });
    expect(await found(strict, { permitted: 'true', query: '', namespace: 'forbidden.example' })).toEqual([]);
    expect(await found(template, { permitted: 'true', query: '', namespace: 'forbidden.example' })).toEqual(['forbidden.example:a:v1']);
  });
});

test('a search fails if the table cannot be reached, rather than answer from stale data', async () => {
  const broken = await startTable();
  const engine = openSqliteEngine(openRegistry(broken.table));
  expect((await ask({}, engine)).status).toBe(200);
  await broken.stop();
  const answer = await ask({}, engine);
  expect(refusalOf(answer)).toEqual({
    status: 503,
    code: 'SERVICE_UNAVAILABLE',
    message:
      'The database of the gate cannot be reached. Try again after Retry-After; if you were changing something, first check whether it was changed.',
    details: {},
  });
  expect(answer.headers['Retry-After']).toBe('1');
  await engine.close();
});
