import { expect, test } from '@jest/globals';
import type { ServiceChanges } from '../../registry/compare.ts';
import { planImport } from '../../registry/import/plan-import.ts';
import { keepNamespace, keepOtherVersions, keepSkipped, keepUids } from '../../registry/keep-uids.ts';
import type { FullIntent } from '../../schemas/intent.ts';

const options = { rules: { ports: [443], allowLoopback: false, ownHosts: [] }, registryUrl: 'https://gate.example' };

/** @param calls - operationIds by method and path */
function plan(calls: Record<string, string>, version = '1') {
  const paths: Record<string, object> = {};
  for (const [call, operationId] of Object.entries(calls)) {
    const [method = '', path = ''] = call.split(/ (.*)/);
    paths[path] = { ...paths[path], [method.toLowerCase()]: { operationId, responses: { 204: {} } } };
  }
  const info = { title: 'Things', version };
  return planImport({ openapi: '3.1.0', info, servers: [{ url: 'https://things.example/base' }], paths }, options);
}

const registered = (...plans: ReturnType<typeof plan>[]) =>
  new Map(
    plans.flatMap(({ intents }) => intents).map((intent) => [intent.intent_uid, { record: intent as unknown as FullIntent, etag: '"x"' }]),
  );

const slugsOf = ({ intents }: ReturnType<typeof plan>) =>
  Object.fromEntries(
    intents.map(({ intent_uid, endpoint: { method, url } }) => [
      `${method} ${url.replace('https://things.example/base', '')}`,
      intent_uid.replace('things.example:', ''),
    ]),
  );

test.each<[string, before: Record<string, string>, now: Record<string, string>, expected: Record<string, string>]>([
  ['another operationId', { 'GET /a': 'listA' }, { 'GET /a': 'allOfA' }, { 'GET /a': 'list-a:v1' }],
  ['another name of a place', { 'GET /a/{id}': 'getA' }, { 'GET /a/{key}': 'readA' }, { 'GET /a/{key}': 'get-a:v1' }],
  ['exchanged operationIds', { 'GET /a': 'x', 'GET /b': 'y' }, { 'GET /a': 'y', 'GET /b': 'x' }, { 'GET /a': 'x:v1', 'GET /b': 'y:v1' }],
  [
    'an operationId that a new operation has taken',
    { 'GET /a': 'x' },
    { 'GET /a': 'y', 'GET /c': 'x' },
    { 'GET /a': 'x:v1', 'GET /c': 'get-base-c:v1' },
  ],
  ['another path, the same operationId', { 'GET /a': 'x' }, { 'GET /moved': 'x' }, { 'GET /moved': 'x:v1' }],
  [
    'a new operation that differs in its literal query only, before the one that is there',
    { 'GET /a?kind=x': 'listX' },
    { 'GET /a?kind=y': 'listY', 'GET /a?kind=x': 'allX' },
    { 'GET /a?kind=y': 'list-y:v1', 'GET /a?kind=x': 'list-x:v1' },
  ],
  [
    'another literal query in place of the one that is there',
    { 'GET /a?kind=x': 'listX' },
    { 'GET /a?kind=y': 'listY' },
    { 'GET /a?kind=y': 'list-y:v1' },
  ],
  [
    'a new operation that looks alike',
    { 'GET /a.b': 'getAB' },
    { 'GET /a/b': 'getAB', 'GET /a.b': 'getAB' },
    { 'GET /a/b': 'get-a-b-840b7118:v1', 'GET /a.b': 'get-ab:v1' },
  ],
  ['another method', { 'PUT /a': 'x' }, { 'PATCH /a': 'y' }, { 'PATCH /a': 'y:v1' }],
])('an import keeps the uids of operations that it recognises: %s', (_, before, now, expected) => {
  expect(slugsOf(keepUids(plan(now), registered(plan(before))))).toEqual(expected);
});

test('a new version of the document keeps version and uids, unless another version is requested', () => {
  const [first, second] = [plan({ 'GET /a': 'x' }), plan({ 'GET /a': 'y' }, '2.0')];
  expect(keepUids(second, registered(first))).toMatchObject({ version: 'v1', intents: [{ intent_uid: 'things.example:x:v1' }] });
  expect(keepUids(second, registered(first), 'v2')).toMatchObject({ version: 'v2', intents: [{ intent_uid: 'things.example:y:v2' }] });
});

test.each<[string, registered: string[], document: string, expected: string]>([
  ['one of another version that was made by hand', ['1 abc', '2 a'], '1.1', 'v1'],
  ['one of another version that is no operation of the document', ['1 ab', '9 z'], '1.1', 'v1'],
  ['others alone, none of which is an operation of the document', ['9 yz'], '1', 'v1'],
  ['two versions beside each other', ['1 abc', '2 abc'], '1', 'v1'],
  ['two versions beside each other, of which the document is neither', ['1 abc', '2 abc'], '3', 'v2'],
  ['an older version that was deprecated, and has more of them', ['1 abc deprecated', '2 ab'], '3', 'v2'],
  ['nothing but what was deprecated', ['1 abc deprecated'], '2', 'v1'],
])('the version is that which most of the operations have, beside %s', (_, before, document, expected) => {
  const calls = (slugs: string) => Object.fromEntries([...slugs].map((slug) => [`GET /${slug}`, slug]));
  const plans = before.map((words) => {
    const [version, slugs = '', deprecated] = words.split(' ');
    const { intents, ...others } = plan(calls(slugs), version);
    return { ...others, intents: intents.map((intent) => ({ ...intent, deprecated: deprecated !== undefined })) };
  });
  const { version, intents } = keepUids(plan(calls('abc'), document), registered(...plans));
  expect([version, ...intents.map(({ intent_uid }) => intent_uid)]).toEqual([
    expected,
    ...['a', 'b', 'c'].map((slug) => `things.example:${slug}:${expected}`),
  ]);
});

test('operations that differ only in their origin keep their own uids; an API that has moved keeps its uids', () => {
  const [here, there] = ['https://things.example', 'https://files.things.example'];
  const at = (origin: string, slug: string) => {
    const [intent] = plan({ 'GET /a': slug }).intents;
    if (!intent) throw new Error('not planned');
    return { ...intent, endpoint: { ...intent.endpoint, url: intent.endpoint.url.replace(here, origin) } };
  };
  const planOf = (...intents: ReturnType<typeof at>[]) => ({ ...plan({}), intents });
  const uidsOf = ({ intents }: ReturnType<typeof plan>) => intents.map(({ intent_uid }) => intent_uid);
  const uid = (slug: string) => `things.example:${slug}:v1`;

  // the first is new, and must not take the uid of the second
  const now = planOf(at(there, 'getFile'), at(here, 'getThing'));
  expect(uidsOf(keepUids(now, registered(planOf(at(here, 'readThing')))))).toEqual([uid('get-file'), uid('read-thing')]);
  expect(uidsOf(keepUids(now, registered(planOf(at(here, 'readThing'), at(there, 'readFile')))))).toEqual([
    uid('read-file'),
    uid('read-thing'),
  ]);
  expect(uidsOf(keepUids(planOf(at(there, 'getThing')), registered(planOf(at(here, 'readThing')))))).toEqual([uid('read-thing')]);
});

test('older versions are deprecated, newer ones are not, and none is removed', () => {
  const before = plan({ 'GET /a': 'listA', 'GET /v1/b/{id}': 'readB', 'GET /other': 'other' });
  const [a, b] = before.intents;
  if (!a || !b) throw new TypeError('two are wanted');
  const later = { ...before, intents: [{ ...a, intent_uid: 'things.example:list-a:v10' }] };
  // the second has another operationId, path parameter and version in its path
  const wanted = plan({ 'GET /a': 'listA', 'GET /v3/b/{key}': 'showB' }, '3').intents;
  const known = registered(before, later);
  const changes = { intents: [], unwanted: [...known.keys()] } as unknown as ServiceChanges;
  for (const [isDeprecating, expected] of [
    [true, [a.intent_uid, b.intent_uid]],
    [false, []],
  ] as const) {
    const kept = keepOtherVersions(changes, wanted, known, isDeprecating);
    expect(kept.intents.map(({ input }) => input.intent_uid)).toEqual(expected);
    expect(kept.unwanted).toEqual(['things.example:other:v1']);
  }
});

test.each([
  ['GET /a/{key}', 'cannot be taken', ['post-a:v1', 'get-b:v1', 'get-c:v1', 'get-of-a:v1']],
  ['/a/{key}', 'cannot be read', ['get-b:v1', 'get-c:v1', 'get-of-a:v1']],
  ['GET /a b/{key}', 'cannot be taken', ['get-a:v1', 'post-a:v1', 'get-b:v1', 'get-of-a:v1']],
  ['things.example:get-b:v1', 'is refused by its uid', ['get-a:v1', 'post-a:v1', 'get-c:v1', 'get-of-a:v1']],
  ['GET /b?x=y', 'cannot be taken', ['get-a:v1', 'post-a:v1', 'get-c:v1', 'get-of-a:v1']],
  ['HEAD /a/{id}', 'has no intent', ['get-a:v1', 'post-a:v1', 'get-b:v1', 'get-c:v1', 'get-of-a:v1']],
])('intents of %s, which %s, are not removed, and those of longer paths are', (operation, _, removed) => {
  const calls = { 'GET /a/{id}': 'getA', 'POST /a/{id}': 'postA', 'GET /b': 'getB', 'GET /a b/{c}': 'getC', 'GET /of/a/{id}': 'getOfA' };
  const known = registered(plan(calls));
  const changes = { unwanted: [...known.keys()] } as unknown as ServiceChanges;
  const { unwanted } = keepSkipped(changes, { ...plan({}), skipped: [{ operation, path: '', reason: '' }] }, known);
  expect(unwanted).toEqual(removed.map((slug) => `things.example:${slug}`));
});

test('an import without a namespace keeps that of the registered operations', () => {
  const now = plan({ 'GET /a': 'a', 'GET /b': 'b' });
  const elsewhere = plan({ 'GET /a': 'a', 'GET /c': 'c' });
  const records = {
    ...elsewhere,
    intents: elsewhere.intents.map((one) => ({ ...one, intent_uid: one.intent_uid.replace(/^[^:]+/, 'own') })),
  };
  const uidsOf = ({ intents }: { intents: { intent_uid: string }[] }) => intents.map(({ intent_uid }) => intent_uid);
  expect(uidsOf(keepNamespace(now, registered(records)))).toEqual(['own:a:v1', 'own:b:v1']);
  for (const others of [registered(), registered(records, elsewhere), registered(plan({ 'GET /c': 'c' }))])
    expect(keepNamespace(now, others)).toBe(now);
});
