import { describe, expect, test } from '@jest/globals';
import { unread } from '../../../registry/import/node.ts';
import { document, json, operation, plan, planBody, planOperation, query, text } from './planning.ts';

const hidden = '\u{e0041}\u202e\u200b';

test('hidden characters of an OpenAPI document are left out and noted', () => {
  const { intents, notes } = planOperation({ summary: `Act${hidden}`, description: `It acts${hidden}`, tags: [`a${hidden}`] });
  expect(intents).toMatchObject([{ intent_name: 'Act', description: 'It acts', tags: ['a'] }]);
  const path = '/paths/~1things/post';
  const lost = ['name', 'description'].map((member) => ({ path, note: `removed 3 invisible or control characters from the ${member}` }));
  expect(notes).toEqual(expect.arrayContaining(lost));
});

describe('an operation that a call of an intent cannot make is skipped with the reason', () => {
  const at = '/paths/~1things/post';
  const form = '/requestBody/content/application~1x-www-form-urlencoded/schema';
  const planForm = (schema: object) => ({ requestBody: { content: { 'application/x-www-form-urlencoded': { schema } } } });
  const parameters = (...list: object[]) => ({ parameters: list });
  const noPlace = 'has a parameter without a name or a known place';
  const noFile = 'it is a file, and a form of this type carries text';
  const binary = { type: 'string', format: 'binary' };
  const image = { type: 'string', contentMediaType: 'image/png' };
  const cookie = { name: 'sid', in: 'cookie', required: true, schema: text };
  const forwarded = { name: 'X-Forwarded-For', in: 'header', required: true, schema: text };
  const many = Array.from({ length: 101 }, (_, at) => query(`p${at}`, { required: true }));
  test.each([
    {
      what: 'a required cookie',
      more: parameters(cookie),
      path: '/parameters/0',
      reason: "needs the cookie sid, and calls do not forward the caller's cookies",
    },
    { what: 'a parameter without a place', more: parameters({ name: 'a', schema: text }), path: '/parameters/0', reason: noPlace },
    {
      what: 'another document',
      more: parameters({ $ref: 'common.yaml#/a' }),
      path: '/parameters/0',
      reason: `cannot be read: the reference ${unread}`,
    },
    {
      what: 'a form of files',
      more: planForm({ properties: { a: binary } }),
      path: form,
      reason: 'takes files only, and a form of this type carries text',
    },
    {
      what: 'parts that are no form',
      more: { requestBody: { content: { 'multipart/mixed': { schema: { type: 'array' } } } } },
      path: '/requestBody/content/multipart~1mixed/schema',
      reason: 'takes multipart/mixed, which calls cannot send',
    },
    {
      what: 'a file',
      more: planForm({ properties: { a: image, b: text }, required: ['a'] }),
      path: `${form}/properties/a`,
      reason: `needs the parameter a, but ${noFile}`,
    },
    {
      what: 'a header that steers',
      more: parameters(forwarded),
      path: '/parameters/0',
      reason: 'needs the header X-Forwarded-For, which callers may not choose',
    },
    { what: 'more than 100 required parameters', more: parameters(...many), path: '', reason: 'needs more than 100 parameters' },
    {
      what: 'a private server',
      more: { servers: [{ url: 'http://10.0.0.1' }] },
      path: '',
      reason: 'would be refused: /endpoint/url must begin with https://',
    },
    {
      what: 'a server with a query',
      more: { servers: [{ url: 'https://a.example/?k=1' }] },
      path: '',
      reason: 'has a server address with a query, which its path cannot follow',
    },
    {
      what: 'no absolute server',
      more: { servers: [{ url: '/api' }] },
      path: '/servers/0/url',
      reason: 'has no absolute server address; give one with --base-url',
    },
  ])('an operation with $what is skipped with the reason', ({ more, path, reason }) => {
    const skipped = [{ operation: 'POST /things', path: at + path, reason }];
    expect(planOperation(more)).toMatchObject({ intents: [], skipped, notes: [] });
  });

  const nothing = 'cannot be read: the reference does not exist in this document';
  const label = { get: operation({ parameters: [{ name: 'id', in: 'path', style: 'label', schema: text }] }) };
  test.each<{ title: string; item: object; path: string; reason: string }>([
    { title: 'GET /things', item: { get: null }, path: '/paths/~1things', reason: 'is not described' },
    { title: 'GET /things', item: { get: { $ref: '#/paths/~1none/get' } }, path: '/paths/~1things/get', reason: nothing },
    {
      title: 'GET /things',
      item: { get: { $ref: './other.yaml#/get' } },
      path: '/paths/~1things/get',
      reason: `cannot be read: the reference ${unread}`,
    },
    { title: 'things', item: { get: operation() }, path: '/paths/things', reason: 'has a path that does not begin with a slash' },
    {
      title: 'GET /a/{id}',
      item: label,
      path: '/paths/~1a~1{id}/get/parameters/0',
      reason: 'has the path parameter id in an unsupported style',
    },
  ])('the operation $title with $item is skipped with the reason', ({ title, item, path, reason }) => {
    expect(plan(document({ [title.replace('GET ', '')]: item })).skipped).toEqual([{ operation: title, path, reason }]);
  });
});

describe('what an intent cannot carry is left out and noted', () => {
  const path = '/paths/~1things/post/requestBody/content/application~1json/schema/properties/a';
  const refused = (member: string, problem: string) => `${member} was left out; the registry refuses it: ${problem}`;
  test.each<{ type: string; more: object; note: string; kept?: object }>([
    { type: 'integer', more: { enum: ['1', 'two'] }, note: refused('enum', 'must be an integer, like every value of this parameter') },
    { type: 'number', more: { minLength: 3 }, note: refused('minLength', 'must be left out, because it does not apply to type number') },
    { type: 'string', more: { maxLength: -1 }, note: refused('maxLength', 'must be at least 0') },
    {
      type: 'string',
      more: { description: 'd'.repeat(4001) },
      note: 'the description was cut to 4000 characters',
      kept: { description: `${'d'.repeat(3999)}…` },
    },
  ])('a parameter of type $type loses what the registry refuses of $more', ({ type, more, note, kept = {} }) => {
    const { inputs, notes } = planBody(json({ properties: { a: { type, ...more } } }));
    expect(inputs).toEqual([{ name: 'a', type, ...kept }]);
    expect(notes).toEqual([{ path, note }]);
  });

  test.each([
    { schema: { type: 'integer', enum: ['1', 2], default: '1' }, kept: { enum: [1, 2], description: 'Default: 1' } },
    { schema: { type: 'number', enum: ['-7.5'] }, kept: { enum: [-7.5] } },
    { schema: { type: 'boolean', enum: ['true', false], default: 'false' }, kept: { enum: [true, false], description: 'Default: false' } },
    { schema: { type: 'string', enum: [1, true, 'x'], default: 1 }, kept: { enum: ['1', 'true', 'x'], description: 'Default: 1' } },
  ])('allowed and default values of $schema have its type', ({ schema: a, kept }) => {
    const { inputs, notes } = planBody(json({ properties: { a } }));
    expect([inputs, notes]).toEqual([[{ name: 'a', type: a.type, ...kept }], []]);
  });

  test('values that a schema allows for a list are those of its items', () => {
    const { inputs, notes } = planBody(json({ properties: { a: { type: 'array', items: text, enum: ['x', 'y'] } } }));
    expect([inputs, notes]).toEqual([
      [{ name: 'a', type: 'array', schema: { type: 'array', items: { type: 'string', enum: ['x', 'y'] } } }],
      [],
    ]);
  });

  test.each<{ mediaType: string; expected: string; expectedNotes: string[] }>([
    { mediaType: 'application/json; version=2', expected: 'application/json; version=2', expectedNotes: [] },
    { mediaType: 'application/vnd.a+json;charset=utf-8; ext="B;c"', expected: 'application/vnd.a+json; ext="B;c"', expectedNotes: [] },
    { mediaType: 'Application/JSON ; charset="UTF-8";', expected: 'application/json', expectedNotes: [] },
    { mediaType: 'application/x-www-form-urlencoded;charset=utf-8', expected: 'application/x-www-form-urlencoded', expectedNotes: [] },
    { mediaType: 'multipart/form-data; boundary=b', expected: 'multipart/form-data', expectedNotes: [] },
    { mediaType: 'application/json;\t charset\t=utf-8\t;', expected: 'application/json', expectedNotes: [] },
    {
      mediaType: 'application/json; ext="https://a.example;charset=b"; charset=utf-8',
      expected: 'application/json; ext="https://a.example;charset=b"',
      expectedNotes: [],
    },
    { mediaType: 'application/json;charset="utf-8"x', expected: 'application/json', expectedNotes: [] },
    {
      mediaType: `application/json${';'.repeat(200_000)}x`,
      expected: 'application/json',
      expectedNotes: ['the body is sent as application/json, without the parameters of this type'],
    },
    {
      mediaType: 'application/json; version',
      expected: 'application/json',
      expectedNotes: ['the body is sent as application/json, without the parameters of this type'],
    },
  ])('the body is sent with the parameters of its media type that can be sent, case %#', ({ mediaType, expected, expectedNotes }) => {
    const { contentType, inputs, notes } = planBody({ content: { [mediaType]: { schema: { properties: { a: text } } } } });
    expect([contentType, notes.map(({ note }) => note)]).toEqual([expected, expectedNotes]);
    expect(inputs).toEqual([{ name: 'a', type: 'string' }]);
  });

  test('optional parameters beyond the hundredth are left out and noted', () => {
    const parameters = Array.from({ length: 130 }, (_, at) => query(`p${at}`, at === 129 ? { required: true } : {}));
    const { intents, notes } = planOperation({ parameters });
    expect(intents[0]?.input_parameters.map(({ name }) => name)).toEqual([...Array.from({ length: 99 }, (_, at) => `p${at}`), 'p129']);
    expect(notes).toEqual([{ path: '/paths/~1things/post', note: '30 optional parameters were left out: an intent has at most 100' }]);
  });
});

test('operations that a fragment tells apart are called at the same path', () => {
  const paths = { '/token': { get: operation() }, '/token#refresh': { get: operation() }, '/{id}#a{b}': { get: operation() } };
  const { intents, skipped } = plan(document(paths));
  expect(intents.map(({ intent_uid, endpoint }) => [intent_uid, endpoint.url])).toEqual([
    [expect.stringMatching(/:get-token:/), 'https://things.example/token'],
    [expect.stringMatching(/:get-token-refresh:/), 'https://things.example/token'],
    [expect.stringMatching(/:get-by-id/), 'https://things.example/{id}'],
  ]);
  expect(skipped).toEqual([]);
});
