import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { credentialOption } from '../../../registry/import/credentials.ts';
import { DocumentError, readDocument } from '../../../registry/import/document.ts';
import { unread } from '../../../registry/import/node.ts';
import type { ImportOptions } from '../../../registry/import/plan.ts';
import { planImport } from '../../../registry/import/plan-import.ts';

const options: ImportOptions = { rules: { ports: [443], allowLoopback: false, ownHosts: [] }, registryUrl: 'https://gate.example' };

const read = (file: string) => readDocument(readFileSync(new URL(`documents/${file}`, import.meta.url), 'utf8'));

/** Omits the registry's explanation of patterns from the comparison. */
const shorten = (value: unknown): unknown => JSON.parse(JSON.stringify(value).replace(/(RE2 can match in linear time)[^"]*/g, '$1'));

const plan = (document: unknown, more: Partial<ImportOptions> = {}) => planImport(document, { ...options, ...more });

describe('whole documents', () => {
  test.each([
    ['OpenAPI 3.0', 'bakery.yaml', {}],
    ['OpenAPI 3.1', 'library.yaml', { baseUrl: 'https://library.example/v1' }],
    ['Swagger 2.0', 'warehouse.yaml', {}],
    ['a service description', 'weather.yaml', {}],
  ])('%s', (_, file, more) => {
    expect(shorten(plan(read(file), more))).toEqual(shorten(read(file.replace(/\.\w+$/, '.plan.yaml'))));
  });
});

const document = (paths: object, more: object = {}) => ({
  openapi: '3.0.3',
  info: { title: 'Things', version: '1' },
  servers: [{ url: 'https://things.example' }],
  paths,
  ...more,
});

const operation = (more: object = {}) => ({ operationId: 'act', responses: { 204: { description: 'Done' } }, ...more });
const planOperation = (more: object = {}, options: Partial<ImportOptions> = {}, components: object = {}) =>
  plan(document({ '/things': { post: operation(more) } }, { components }), options);
const planBody = (requestBody: object, components: object = {}) => {
  const { intents, notes } = planOperation({ requestBody }, {}, components);
  return { inputs: intents[0]?.input_parameters ?? [], notes, contentType: intents[0]?.endpoint.content_type };
};
const text = { type: 'string' };
const query = (name: string, more: object = {}) => ({ name, in: 'query', schema: text, ...more });
const json = (schema: object) => ({ content: { 'application/json': { schema } } });

const hidden = '\u{e0041}\u202e\u200b';

test('hidden characters of an OpenAPI document are left out and noted', () => {
  const { intents, notes } = planOperation({ summary: `Act${hidden}`, description: `It acts${hidden}`, tags: [`a${hidden}`] });
  expect(intents).toMatchObject([{ intent_name: 'Act', description: 'It acts', tags: ['a'] }]);
  const path = '/paths/~1things/post';
  const lost = ['name', 'description'].map((member) => ({ path, note: `removed 3 invisible or control characters from the ${member}` }));
  expect(notes).toEqual(expect.arrayContaining(lost));
});

test('hidden characters of a service description are left out and noted', () => {
  const info = { name: `World${hidden}`, description: `Facts${hidden}`, service_url: 'https://world.example' };
  const parameter = { name: 'code', type: 'string', required: true, description: `A code${hidden}` };
  const intent = {
    ...{ intent_uid: 'world.example:get:v1', intent_name: `Get${hidden}`, description: `Gets${hidden}`, tags: [`a${hidden}`] },
    ...{ input_parameters: [parameter], output_parameters: [], endpoint: 'https://world.example/get' },
  };
  const { service, intents, notes } = plan({ 'service-info': info, intents: [intent] });
  expect(service).toMatchObject({ service_name: 'World', description: 'Facts' });
  expect(intents).toMatchObject([{ intent_name: 'Get', description: 'Gets', tags: ['a'], input_parameters: [{ description: 'A code' }] }]);
  const places = ['/service-info', '/intents/0/intent_name', '/intents/0/description', '/intents/0/tags/0'];
  expect(notes.map(({ path }) => path)).toEqual(expect.arrayContaining(places));
});

test.each<[string, object, [name: string, description: string][]]>([
  ['text', { 'text/csv': {}, 'application/xml': {} }, [['value', 'Text of type text/csv or application/xml']]],
  ['bytes', { 'image/png': {} }, [['base64', 'Base64-encoded content of type image/png']]],
  [
    'either',
    { 'text/csv; header=present': {}, 'Application/PDF': {} },
    [
      ['value', 'Text of type text/csv'],
      ['base64', 'Base64-encoded content of type application/pdf'],
    ],
  ],
])('a response that is %s', (_, content, outputs) => {
  const all = [...outputs, ['content_type', 'The media type of the content']];
  expect(planOperation({ responses: { 200: { content } } })).toMatchObject({
    intents: [{ output_parameters: all.map(([name, description]) => ({ name, type: 'string', description })) }],
    skipped: [],
    notes: [],
  });
});

test('a response that is text or JSON is described as JSON', () => {
  const responses = { 200: { content: { 'text/csv': {}, ...json({ type: 'object', properties: { a: text } }).content } } };
  expect(planOperation({ responses })).toMatchObject({ intents: [{ output_parameters: [{ name: 'a', type: 'string' }] }], notes: [] });
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
  test.each<[string, object, string, string]>([
    ['a required cookie', parameters(cookie), '/parameters/0', "needs the cookie sid, and calls do not forward the caller's cookies"],
    ['a parameter without a place', parameters({ name: 'a', schema: text }), '/parameters/0', noPlace],
    ['another document', parameters({ $ref: 'common.yaml#/a' }), '/parameters/0', `cannot be read: the reference ${unread}`],
    ['a form of files', planForm({ properties: { a: binary } }), form, 'takes files only, and a form of this type carries text'],
    [
      'parts that are no form',
      { requestBody: { content: { 'multipart/mixed': { schema: { type: 'array' } } } } },
      '/requestBody/content/multipart~1mixed/schema',
      'takes multipart/mixed, which calls cannot send',
    ],
    [
      'a file',
      planForm({ properties: { a: image, b: text }, required: ['a'] }),
      `${form}/properties/a`,
      `needs the parameter a, but ${noFile}`,
    ],
    ['a header that steers', parameters(forwarded), '/parameters/0', 'needs the header X-Forwarded-For, which callers may not choose'],
    ['more than 100 required parameters', parameters(...many), '', 'needs more than 100 parameters'],
    ['a private server', { servers: [{ url: 'http://10.0.0.1' }] }, '', 'would be refused: /endpoint/url must begin with https://'],
    [
      'a server with a query',
      { servers: [{ url: 'https://a.example/?k=1' }] },
      '',
      'has a server address with a query, which its path cannot follow',
    ],
    ['no absolute server', { servers: [{ url: '/api' }] }, '/servers/0/url', 'has no absolute server address; give one with --base-url'],
  ])('%s', (_, more, path, reason) => {
    const skipped = [{ operation: 'POST /things', path: at + path, reason }];
    expect(planOperation(more)).toMatchObject({ intents: [], skipped, notes: [] });
  });

  const nothing = 'cannot be read: the reference does not exist in this document';
  const label = { get: operation({ parameters: [{ name: 'id', in: 'path', style: 'label', schema: text }] }) };
  test.each<[title: string, item: object, pointer: string, reason: string]>([
    ['GET /things', { get: null }, '/paths/~1things', 'is not described'],
    ['GET /things', { get: { $ref: '#/paths/~1none/get' } }, '/paths/~1things/get', nothing],
    ['GET /things', { get: { $ref: './other.yaml#/get' } }, '/paths/~1things/get', `cannot be read: the reference ${unread}`],
    ['things', { get: operation() }, '/paths/things', 'has a path that does not begin with a slash'],
    ['GET /a#all', { get: operation() }, '/paths/~1a#all/get', 'would be refused: /endpoint/url must not have a fragment'],
    ['GET /a/{id}', label, '/paths/~1a~1{id}/get/parameters/0', 'has the path parameter id in an unsupported style'],
  ])('%s with %j', (title, item, path, reason) => {
    expect(plan(document({ [title.replace('GET ', '')]: item })).skipped).toEqual([{ operation: title, path, reason }]);
  });
});

test('an API without https is skipped with the option that may help', () => {
  const { skipped } = plan({ ...document({ '/things': { get: operation() } }), servers: [{ url: 'http://api.example/v1' }] });
  expect(skipped).toEqual([
    {
      operation: 'GET /things',
      path: '/paths/~1things/get',
      reason: 'is not at https; if the API supports it, give --base-url https://api.example/v1',
    },
  ]);
});

describe('what an intent cannot carry is left out and noted', () => {
  const path = '/paths/~1things/post/requestBody/content/application~1json/schema/properties/a';
  const refused = (member: string, problem: string) => `${member} was left out; the registry refuses it: ${problem}`;
  test.each<[type: string, refused: object, note: string, kept?: object]>([
    ['integer', { enum: ['1', 'two'] }, refused('enum', 'must be an integer, like every value of this parameter')],
    ['number', { minLength: 3 }, refused('minLength', 'must be left out, because it does not apply to type number')],
    ['string', { maxLength: -1 }, refused('maxLength', 'must be at least 0')],
    ['string', { description: 'd'.repeat(4001) }, 'the description was cut to 4000 characters', { description: `${'d'.repeat(3999)}…` }],
  ])('%s with %j', (type, more, note, kept = {}) => {
    const { inputs, notes } = planBody(json({ properties: { a: { type, ...more } } }));
    expect(inputs).toEqual([{ name: 'a', type, ...kept }]);
    expect(notes).toEqual([{ path, note }]);
  });

  test.each([
    [
      { type: 'integer', enum: ['1', 2], default: '1' },
      { enum: [1, 2], description: 'Default: 1' },
    ],
    [{ type: 'number', enum: ['-7.5'] }, { enum: [-7.5] }],
    [
      { type: 'boolean', enum: ['true', false], default: 'false' },
      { enum: [true, false], description: 'Default: false' },
    ],
    [
      { type: 'string', enum: [1, true, 'x'], default: 1 },
      { enum: ['1', 'true', 'x'], description: 'Default: 1' },
    ],
  ])('allowed and default values of %j are in its type', (a, kept) => {
    const { inputs, notes } = planBody(json({ properties: { a } }));
    expect([inputs, notes]).toEqual([[{ name: 'a', type: a.type, ...kept }], []]);
  });

  test('values that a list allows are those of its items', () => {
    const { inputs, notes } = planBody(json({ properties: { a: { type: 'array', items: text, enum: ['x', 'y'] } } }));
    expect([inputs, notes]).toEqual([
      [{ name: 'a', type: 'array', schema: { type: 'array', items: { type: 'string', enum: ['x', 'y'] } } }],
      [],
    ]);
  });

  test.each([
    ['application/json; version=2', 'application/json; version=2', []],
    ['application/vnd.a+json;charset=utf-8; ext="B;c"', 'application/vnd.a+json; ext="B;c"', []],
    ['Application/JSON ; charset="UTF-8";', 'application/json', []],
    ['application/x-www-form-urlencoded;charset=utf-8', 'application/x-www-form-urlencoded', []],
    ['multipart/form-data; boundary=b', 'multipart/form-data', []],
    ['application/json;\t charset\t=utf-8\t;', 'application/json', []],
    ['application/json; ext="https://a.example;charset=b"; charset=utf-8', 'application/json; ext="https://a.example;charset=b"', []],
    ['application/json;charset="utf-8"x', 'application/json', []],
    [
      `application/json${';'.repeat(200_000)}x`,
      'application/json',
      ['the body is sent as application/json, without the parameters of this type'],
    ],
    ['application/json; version', 'application/json', ['the body is sent as application/json, without the parameters of this type']],
  ])('parameters of a media type, case %#', (mediaType, expected, expectedNotes) => {
    const { contentType, inputs, notes } = planBody({ content: { [mediaType]: { schema: { properties: { a: text } } } } });
    expect([contentType, notes.map(({ note }) => note)]).toEqual([expected, expectedNotes]);
    expect(inputs).toEqual([{ name: 'a', type: 'string' }]);
  });

  test('optional parameters beyond the hundredth', () => {
    const parameters = Array.from({ length: 130 }, (_, at) => query(`p${at}`, at === 129 ? { required: true } : {}));
    const { intents, notes } = planOperation({ parameters });
    expect(intents[0]?.input_parameters.map(({ name }) => name)).toEqual([...Array.from({ length: 99 }, (_, at) => `p${at}`), 'p129']);
    expect(notes).toEqual([{ path: '/paths/~1things/post', note: '30 optional parameters were left out: an intent has at most 100' }]);
  });
});

test.each([
  ['a reference', { $ref: '#/components/schemas/Name', nullable: true }],
  ['parts', { allOf: [{ $ref: '#/components/schemas/Name' }], nullable: true }],
  ['a branch that says nothing else', { oneOf: [{ nullable: true, description: 'None' }, { $ref: '#/components/schemas/Name' }] }],
])('nullable is understood beside %s', (_, name) => {
  const schemas = { Name: { type: 'string', maxLength: 9 }, Thing: { type: 'object', required: ['name'], properties: { name } } };
  const { intents } = planOperation({ responses: { 200: json({ $ref: '#/components/schemas/Thing' }) } }, {}, { schemas });
  expect(intents[0]?.output_parameters).toEqual([{ name: 'name', type: 'string', maxLength: 9 }]);
});

test.each<[string, type: string | string[], isNeeded: boolean, isRequired: boolean, inputs: Record<string, boolean>]>([
  ['may be null and need not be there is one input', ['object', 'null'], true, false, { body: false }],
  ['may be null and has to be there is its members', ['object', 'null'], true, true, { a: true }],
  ['may be null and requires none of its members is its members', ['object', 'null'], false, false, { a: false }],
  // most documents that do not say whether a body is required have forgotten to
  ['is an object is its members', 'object', true, false, { a: true }],
])('a body that %s', (_, type, isNeeded, required, expected) => {
  const { inputs } = planBody({ required, ...json({ type, ...(isNeeded && { required: ['a'] }), properties: { a: text } }) });
  expect(inputs.map((input) => [input.name, input.required ?? false])).toEqual(Object.entries(expected));
});

test('a schema that uses the same one many times is resolved once', () => {
  const twice = (name: string) => [{ $ref: `#/components/schemas/${name}` }, { $ref: `#/components/schemas/${name}` }];
  const levels = Array.from({ length: 60 }, (_, at) => [
    [`A${at}`, { allOf: twice(`O${at}`) }],
    [`O${at}`, { oneOf: twice(`A${at + 1}`) }],
  ]).flat();
  const schemas = Object.fromEntries([...levels, ['A60', { properties: { kind: { enum: ['a', 'b'] } } }]]);
  const { inputs } = planBody(json({ $ref: '#/components/schemas/A0' }), { schemas });
  expect(inputs).toEqual([{ name: 'kind', type: 'string', enum: ['a', 'b'] }]);
});

describe('documents that could crash a reader', () => {
  test('lists in 20,000 lists', () => {
    const text = `{"openapi":"3.0.0","x":${'['.repeat(20_000)}${']'.repeat(20_000)}}`;
    expect(() => plan(readDocument(text))).toThrow(new DocumentError('The document is nested more than 500 deep.'));
  });

  test('a map of 40,000 keys in YAML', () => {
    const keys = Array.from({ length: 40_000 }, (_, at) => `k${at}`);
    const startedMs = performance.now();
    expect(readDocument(keys.map((key) => `${key}: 1\n`).join(''))).toEqual(Object.fromEntries(keys.map((key) => [key, 1])));
    // a second or two; a minute if each key were compared with all previous ones
    expect(performance.now() - startedMs).toBeLessThan(20_000);
  }, 120_000);

  test('a text of six million escapes', () => {
    const text = `{"a":"${String.raw`\n`.repeat(6_000_000)}"`;
    expect(Object.keys(readDocument(`${text},"b":1}`) as object)).toEqual(['a', 'b']);
    expect(() => readDocument(`${text},"a":1}`)).toThrow(/^The document has the member \/a a second time at line 1, column 12000009\./);
  });

  test.each([':a', '{', '{:', '{a:', ':a(', '{a*', '/:a?', ' :'])('a path of %s many times', (part) => {
    const item = { get: operation({ parameters: [{ name: 'id', in: 'path', required: true, schema: text }] }) };
    expect(plan(document({ [`/${part.repeat(50_000)}`]: item })).skipped).toHaveLength(1);
  });

  test('3,000 schemas nested in each other', () => {
    const schemas = Object.fromEntries(
      Array.from({ length: 3_000 }, (_, at) => [
        `S${at}`,
        { properties: { [`p${at}`]: text }, allOf: [{ $ref: `#/components/schemas/S${at + 1}` }] },
      ]),
    );
    const { inputs, notes } = planBody(json({ $ref: '#/components/schemas/S0' }), { schemas });
    expect(inputs).toHaveLength(100);
    expect(notes.map(({ note }) => note)).toContain('the schema is made of too many others; that part of it was left out');
  });
});

describe('Swagger 2.0', () => {
  const swagger = (item: object, more: object = {}) => ({
    swagger: '2.0',
    info: { version: '1' },
    host: 'things.example',
    paths: { '/things': item },
    ...more,
  });
  const act = (...parameters: object[]) => ({ post: operation({ parameters }) });
  const field = (name: string, more: object = {}) => ({ name, in: 'formData', type: 'string', ...more });

  test('a body and parameters may be shared, also by all operations of a path', () => {
    const parameters = {
      Body: { name: 'body', in: 'body', schema: { $ref: '#/definitions/Thing' } },
      Page: { name: 'page', in: 'query', type: 'integer' },
    };
    const definitions = { Thing: { properties: { size: { type: 'integer', minimum: 1, exclusiveMinimum: true } } } };
    const item = { parameters: [{ $ref: '#/parameters/Page' }], ...act({ $ref: '#/parameters/Body' }) };
    expect(plan(swagger(item, { parameters, definitions })).intents[0]?.input_parameters).toEqual([
      { name: 'size', type: 'integer', minimum: 2 },
      { name: 'page', type: 'integer', in: 'query' },
    ]);
  });

  test('a form is sent as one, whatever the document says about bodies, and its lists are joined by commas by default', () => {
    const { intents, notes } = plan(swagger(act(field('a'), field('b', { type: 'array' })), { consumes: ['application/json'] }));
    expect(intents[0]?.endpoint.content_type).toBe('application/x-www-form-urlencoded');
    expect(intents[0]?.input_parameters).toEqual([
      { name: 'a', type: 'string' },
      { name: 'b', type: 'array', style: 'commas' },
    ]);
    expect(notes).toEqual([]);
  });

  test.each([
    ['Multipart/Form-Data; charset=utf-8', 'multipart/form-data'],
    ['application/x-www-form-urlencoded; charset=utf-8', 'application/x-www-form-urlencoded'],
  ])('a form of the type %s is sent as %s', (type, expected) => {
    const { intents, notes } = plan(swagger(act(field('a')), { consumes: ['application/json', type] }));
    expect([intents[0]?.endpoint.content_type, notes]).toEqual([expected, []]);
  });

  test('lists of lists are left out, because each may be joined in its own way', () => {
    const lists = { name: 'a', in: 'query', type: 'array', items: { type: 'array', items: text } };
    expect(plan(swagger(act(field('other'), lists))).notes.map(({ note }) => note)).toEqual([
      'the parameter a was left out: its values are serialised in an unsupported way',
    ]);
  });

  test.each([
    ['csv', { style: 'commas' }],
    ['ssv', { style: 'spaces' }],
    ['pipes', { style: 'pipes' }],
    ['multi', {}],
    // left out
    ['tsv', undefined],
  ])('lists that are joined by %s', (collectionFormat, written) => {
    const lists = ['query', 'formData'].map((place) => ({ name: place, in: place, type: 'array', collectionFormat }));
    const read = [
      { name: 'formData', type: 'array', ...written },
      { name: 'query', type: 'array', in: 'query', ...written },
    ];
    const [other, ...inputs] = plan(swagger(act(field('other'), ...lists))).intents[0]?.input_parameters ?? [];
    expect([other, inputs]).toEqual([{ name: 'other', type: 'string' }, written ? read : []]);
  });

  test('only the invalid operation is skipped', () => {
    const item = {
      ...act({ name: 'a', in: 'query', type: 'string' }),
      get: operation({ parameters: [null] }),
      put: operation({ responses: { 200: { $ref: '#/responses/None' } } }),
    };
    const { intents, skipped } = plan(swagger(item, { securityDefinitions: { none: null }, definitions: { none: null } }));
    expect(intents.map(({ endpoint }) => endpoint.method)).toEqual(['POST']);
    expect(skipped).toEqual([
      { operation: 'GET /things', path: '/paths/~1things/get', reason: 'has a parameter without a name or a known place' },
      {
        operation: 'PUT /things',
        path: '/paths/~1things/put/responses/200',
        reason: 'cannot be read: the reference does not exist in this document',
      },
    ]);
  });
});

describe('naming', () => {
  test.each([
    ['listOpenOrders', 'list-open-orders'],
    ['注文一覧', 'post-things'],
    ['a'.repeat(150), `${'a'.repeat(91)}-5b0a8ff5`],
  ])('operationId %s', (operationId, slug) => {
    const [intent] = planOperation({ operationId }).intents;
    expect(intent?.intent_uid.replace(/[0-9a-f]{8}(?=:v1)/, '5b0a8ff5')).toBe(`things.example:${slug}:v1`);
  });

  test('a version that is a number', () => {
    const { intents } = plan(document({ '/things': { get: operation() } }, { info: { title: 'Things', version: 3 } }));
    expect(intents[0]?.intent_uid).toBe('things.example:act:v3');
  });

  test.each<[string, object, string]>([
    ['the summary', { summary: 'List *all* `orders`.', description: 'Other' }, 'List all orders'],
    ['the operationId, not a description', { operationId: 'listOrders', description: '<p>You can list orders.</p>' }, 'List orders'],
    ['a long summary', { operationId: 'cancelOrder', summary: 'word '.repeat(30), description: 'Cancels it.' }, 'Cancel an order'],
    ['method and path', { operationId: undefined }, 'Create a thing'],
    ['words in angle brackets', { summary: 'Send Bearer <token> and snake_case_name' }, 'Send Bearer <token> and snake_case_name'],
  ])('the name from %s', (_, more, name) => {
    expect(planOperation(more).intents[0]?.intent_name).toBe(name);
  });

  test('no two intents have one name', () => {
    const act = (operationId: string) => operation({ operationId, summary: 'Act' });
    const { intents } = plan(document({ '/cats/{id}': { get: act('a'), put: act('b') }, '/dogs/{id}': { get: act('c') } }));
    expect(intents.map(({ intent_name }) => intent_name)).toEqual(['Act (GET /cats/{id})', 'Act (PUT /cats/{id})', 'Act (GET /dogs/{id})']);
    expect(intents.map(({ description }) => description)).toEqual(intents.map(({ intent_name }) => intent_name));
  });

  test('a description loses HTML and Markdown markup', () => {
    const description =
      '<p>Lists <a href="https://a.example">orders</a>:</p><ul><li>open</li><li>**done**</li></ul><br/>\n```\na &amp; b\n```';
    expect(planOperation({ description }).intents[0]?.description).toBe('Lists orders:\n\n- open\n- done\n\na & b');
  });

  test('namespace, version and name can be given', () => {
    const { service, intents } = planOperation({}, { namespace: 'Acme.things', version: 'v7.1', serviceName: 'Our things' });
    expect([service.service_name, intents[0]?.intent_uid]).toEqual(['Our things', 'Acme.things:act:v7.1']);
  });
});

describe('headers', () => {
  const header = (name: string, schema: object = text, more: object = {}) => ({ name, in: 'header', schema, ...more });
  const planHeaders =
    (...lists: object[][]) =>
    (options: Partial<ImportOptions> = {}) => {
      const paths = lists.map((parameters, at) => [`/${at}`, { get: operation({ operationId: `act ${at}`, parameters }) }]);
      const { service, intents, notes, skipped } = plan(document(Object.fromEntries(paths)), options);
      return { headers: service.headers, inputs: intents.map(({ input_parameters }) => input_parameters), notes, skipped };
    };
  const version = (value: string) => header('Api-Version', { type: 'string', enum: [value] }, { required: true });

  test.each<[string, object, string]>([
    ['const', { const: '2' }, '2'],
    ['an enum of one', { type: 'integer', enum: [2] }, '2'],
  ])('%s becomes a header field of the service', (_, schema, value) => {
    const parameters = [header('X-Version', schema)];
    expect(planHeaders(parameters, parameters, [])()).toMatchObject({ headers: { 'X-Version': value }, inputs: [[], [], []] });
  });

  test('different values, or values of few operations, become defaults of inputs', () => {
    const input = (value: string) => ({ name: 'Api-Version', type: 'string', required: true, default: value, enum: [value], in: 'header' });
    expect(planHeaders([version('1')], [version('2')])()).toMatchObject({ headers: undefined, inputs: [[input('1')], [input('2')]] });
    expect(planHeaders([version('1')], [], [])()).toMatchObject({ headers: undefined, inputs: [[input('1')], [], []] });
  });

  test.each<[string, object, object, object]>([
    ['an optional one with one value', { type: 'string', enum: ['1'] }, {}, { type: 'string', enum: ['1'] }],
    ['an optional version', { type: 'string', default: '2' }, {}, { type: 'string', description: 'Default: 2' }],
    [
      'a required version',
      { type: 'integer', default: 2 },
      { required: true },
      { type: 'integer', required: true, description: 'Default: 2' },
    ],
    [
      'a required one with two values',
      { type: 'string', enum: ['1', '2'], default: '2' },
      { required: true },
      { type: 'string', required: true, description: 'Default: 2', enum: ['1', '2'] },
    ],
  ])('the value of %s is never sent', (_, schema, more, kept) => {
    const parameters = [header('Api-Version', schema, more)];
    const isConstant = 'enum' in schema && (schema.enum as string[]).length === 1;
    const lists = isConstant ? [parameters, [], []] : [parameters, parameters];
    const { headers, inputs } = planHeaders(...lists)();
    expect([headers, inputs[0]]).toEqual([undefined, [{ name: 'Api-Version', in: 'header', ...kept }]]);
  });

  test('values of the admin take precedence', () => {
    const planned = planHeaders([version('1'), header('X-Debug')], [version('2')]);
    expect(planned({ headers: { 'api-version': '3' }, ignoreHeaders: ['x-debug'] })).toMatchObject({
      headers: { 'api-version': '3' },
      inputs: [[], []],
    });
    expect(planned({ headers: { 'Api-Version': '3' }, findsHeaders: false }).inputs).toEqual([
      [{ name: 'X-Debug', type: 'string', in: 'header' }],
      [],
    ]);
  });

  test.each(['Authorization', 'token', 'X-Api-Key', 'X-Acme-Access-Token', 'api_key'])('%s is the credential', (name) => {
    const { inputs, notes } = planHeaders([header(name, text, { required: true }), query(name)])();
    expect(inputs).toEqual([name === 'Authorization' ? [{ name, type: 'string' }] : []]);
    expect(notes[0]?.note).toBe(`the header ${name} was left out: it is the service's credential, which the gate adds to its calls`);
  });

  test.each(['X-Request-Id', 'traceparent', 'TraceState'])('%s, which the gate sends itself, is not an input', (name) => {
    expect(planHeaders([header(name, text, { required: true })])()).toMatchObject({ inputs: [[]], notes: [], skipped: [] });
  });

  test.each([
    ['array', {}, 'Several values are separated by commas.'],
    ['object', {}, 'The members are written as a,1,b,2.'],
    ['object', { explode: true }, 'The members are written as a=1,b=2.'],
  ])('an %s is a text with commas: %j', (type, more, described) => {
    expect(planHeaders([header('X-Tags', { type, items: text }, more)])().inputs).toEqual([
      [{ name: 'X-Tags', type: 'string', description: described, in: 'header' }],
    ]);
  });
});

describe('header fields of answers', () => {
  const apiKey = { securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'X-Door' } } };
  const note = (names: string) => [{ path: '/paths/~1things/post', note: `agents do not get these header fields of the answer: ${names}` }];
  const named = Array.from({ length: 52 }, (_, at) => `X-${at}`);

  test.each<[string, responses: Record<string, string[]>, names: string[] | undefined, notes?: object[]]>([
    ['of every success response', { 200: ['X-Total-Count'], 201: ['Location', 'ETag'] }, ['X-Total-Count', 'Location', 'ETag']],
    ['of a range', { '2XX': ['Link'] }, ['Link']],
    ['of the default response if there is no other', { default: ['X-Next-Page-Token'] }, ['X-Next-Page-Token']],
    ['not of refusals', { 200: [], 404: ['X-Reason'], default: ['X-Any'] }, undefined],
    ['once, whatever their case', { 200: ['etag'], 201: ['ETag'] }, ['ETag']],
    ['without Content-Type, which OpenAPI ignores', { 200: ['Content-Type', 'Content-Disposition'] }, ['Content-Disposition']],
    [
      'without credentials',
      { 200: ['Set-Cookie', 'X-Auth-Token', 'x-door', 'X-Left', 'X-Amz-Security-Token', 'Session-Id'] },
      ['X-Left'],
      note('Set-Cookie, X-Auth-Token, x-door, X-Amz-Security-Token, Session-Id'),
    ],
    ['without those of the connection', { 200: ['Transfer-Encoding', 'Keep-Alive'] }, undefined, note('Transfer-Encoding, Keep-Alive')],
    ['without one that the gate adds', { 200: ['Status', 'X-A'] }, ['X-A'], note('Status')],
    ['without what is no name', { 200: ['X A', 'größe', 'X-A'] }, ['X-A'], note('X A, größe')],
    ['at most fifty', { 200: named }, named.slice(0, 50), note('X-50, X-51')],
  ])('are recorded: %s', (_, given, names, notes = []) => {
    const responses = Object.fromEntries(
      Object.entries(given).map(([status, fields]) => [
        status,
        { description: 'Done', headers: Object.fromEntries(fields.map((name) => [name, { schema: text }])) },
      ]),
    );
    const planned = planOperation({ responses }, {}, apiKey);
    expect(planned.intents[0]?.endpoint.response_headers).toEqual(names);
    expect(planned.notes).toEqual(notes);
  });

  test('of Swagger 2.0, and of a response that is a reference', () => {
    const responses = { 201: { $ref: '#/responses/Made' } };
    const { intents } = plan({
      swagger: '2.0',
      info: { title: 'Things', version: '1' },
      host: 'things.example',
      paths: { '/things': { post: { operationId: 'make', responses } } },
      responses: { Made: { description: 'Made', headers: { Location: { type: 'string' } } } },
    });
    expect(intents.map(({ endpoint }) => endpoint.response_headers)).toEqual([['Location']]);
  });
});

test('an operation that is a reference is resolved', () => {
  const act = { get: operation({ summary: 'Do it', parameters: [query('a')] }) };
  const item = { $ref: '#/components/pathItems/Act', post: { $ref: '#/x-operations/act' } };
  const more = { components: { pathItems: { Act: act } }, 'x-operations': { act: operation({ operationId: 'act2', summary: 'Do that' }) } };
  const { intents, skipped } = plan(document({ '/things': item }, more));
  expect(intents.map(({ intent_name, input_parameters }) => [intent_name, input_parameters])).toEqual([
    ['Do it', [{ name: 'a', type: 'string' }]],
    ['Do that', []],
  ]);
  expect(skipped).toEqual([]);
});

describe('OpenAPI 3.2', () => {
  test('is read as 3.1, and its additional methods are skipped by name', () => {
    const item = { get: operation(), query: operation(), additionalOperations: { COPY: operation() } };
    const { intents, skipped, notes } = plan({ ...document({ '/things': item }), openapi: '3.2.0' });
    expect(intents).toHaveLength(1);
    expect(skipped).toEqual([
      { operation: 'QUERY /things', path: '/paths/~1things/query', reason: 'uses QUERY, which intents do not support' },
      { operation: 'COPY /things', path: '/paths/~1things/additionalOperations/COPY', reason: 'uses COPY, which intents do not support' },
    ]);
    expect(notes).toEqual([{ path: '/openapi', note: 'OpenAPI 3.2 is read as 3.1; features that only 3.2 has are left out' }]);
  });

  test('a parameter that is a whole query is left out', () => {
    const whole = { name: 'q', in: 'querystring', content: { 'application/x-www-form-urlencoded': { schema: {} } } };
    const { notes } = plan({ ...document({ '/things': { get: operation({ parameters: [whole] }) } }), openapi: '3.2.0' });
    expect(notes).toContainEqual({
      path: '/paths/~1things/get/parameters/0',
      note: 'the parameter q was left out: it stands for the whole query, which is not supported',
    });
  });
});

describe('an operation at another origin than the service', () => {
  const reason = (origin: string, home = 'https://things.example') =>
    `is at ${origin}, but the service is at ${home}; --allow-origin ${origin} imports it anyway`;
  const elsewhere = (url: string, options?: Partial<ImportOptions>) => planOperation({ servers: [{ url }] }, options);
  const skippedFor = (reason: string) => [{ operation: 'POST /things', path: '/paths/~1things/post', reason }];

  test.each([
    ['https://evil.example', 'https://evil.example'],
    ['https://things.example.evil.example/v1', 'https://things.example.evil.example'],
    ['https://files.things.example', 'https://files.things.example'],
  ])('%s is skipped', (url, origin) => {
    expect(elsewhere(url)).toMatchObject({ intents: [], skipped: skippedFor(reason(origin)) });
  });

  test('is imported if the origin is allowed, or only spelt differently', () => {
    expect(elsewhere('https://evil.example/v1', { allowedOrigins: ['https://evil.example'] }).intents).toHaveLength(1);
    expect(elsewhere('https://THINGS.example:443/v2').intents).toHaveLength(1);
  });

  test('is compared with the service that is imported into', () => {
    const { skipped } = planOperation({}, { serviceUrl: 'https://www.example' });
    expect(skipped).toEqual(skippedFor(reason('https://things.example', 'https://www.example')));
  });

  test('is also skipped in a service description', () => {
    const intent = (slug: string, endpoint: string) => ({
      intent_uid: `things.example:${slug}:v1`,
      intent_name: 'Act',
      description: 'Acts',
      input_parameters: [],
      output_parameters: [],
      endpoint,
    });
    const intents = [intent('at-home', 'https://things.example/a'), intent('away', 'https://evil.example/')];
    const planned = plan({ 'service-info': { name: 'Things', description: 'Things', service_url: 'https://things.example' }, intents });
    expect(planned.intents.map(({ intent_uid }) => intent_uid)).toEqual(['things.example:at-home:v1']);
    expect(planned.skipped).toEqual([{ operation: 'things.example:away:v1', path: '/intents/1', reason: reason('https://evil.example') }]);
  });
});

describe('a service description in a different spelling', () => {
  const info = { name: 'Shop', description: 'Sells things', service_url: 'https://shop.example' };
  const search = {
    intent_uid: 'shop.example:SearchProducts:v1',
    intent_name: 'SearchProducts',
    description: 'Finds products',
    input_parameters: [{ name: 'query', type: 'string', required: true, title: 'Query', example: 'tea' }],
    output_parameters: [{ name: 'products', type: 'array' }],
    endpoint: 'https://shop.example/search',
    tags: ['shop'],
    rate_limit: '1000/hour',
    price: '0.01 USD',
  };

  test('gets slugs in kebab-case, and loses what the registry does not store, with a note for each', () => {
    const { intents, skipped, notes } = plan({
      'service-info': info,
      intents: [search],
      'uim-public-key': 'x',
      'uim-policy-file': 'https://shop.example/uim-policy.json',
      'uim-api-discovery': 'https://shop.example/uim/intents/search',
      'uim-api-execute': 'https://shop.example/uim/execute',
      'uim-license': 'https://shop.example/licence',
      'uim-compliance': { standards: ['ISO27001'] },
    });
    expect(skipped).toEqual([]);
    expect(intents).toEqual([
      {
        intent_uid: 'shop.example:search-products:v1',
        intent_name: 'SearchProducts',
        description: 'Finds products',
        input_parameters: [{ name: 'query', type: 'string', required: true }],
        output_parameters: [{ name: 'products', type: 'array' }],
        endpoint: { url: 'https://shop.example/search', method: 'POST', content_type: 'application/json' },
        tags: ['shop'],
      },
    ]);
    expect(notes).toEqual([
      { path: '/uim-license', note: 'uim-license was left out: the registry does not store it' },
      { path: '/uim-compliance', note: 'uim-compliance was left out: the registry does not store it' },
      { path: '/intents/0/rate_limit', note: 'the member rate_limit was left out: the registry does not store it' },
      { path: '/intents/0/price', note: 'the member price was left out: the registry does not store it' },
      { path: '/intents/0/input_parameters/0/example', note: 'the member example was left out: the registry does not store it' },
      {
        path: '/intents/0/intent_uid',
        note: 'the intent_uid became shop.example:search-products:v1: a slug has lower-case letters, digits and hyphens',
      },
      { path: '/intents/0/endpoint', note: 'the endpoint is only an address; it will be called with POST and JSON' },
    ]);
  });

  test('may have parameters by name, as JSON Schema has them', () => {
    const properties = {
      location: { title: 'Location', type: 'string' },
      min_price: { default: null, title: 'Min Price', type: 'integer' },
      near: { type: ['null', 'boolean'] },
      anything: {},
    };
    const { intents, skipped } = plan({
      'service-info': info,
      intents: [{ ...search, input_parameters: properties, output_parameters: { type: 'object', properties, required: ['location'] } }],
    });
    expect(skipped).toEqual([]);
    const named = [
      { name: 'location', type: 'string' },
      { name: 'min_price', type: 'integer' },
      { name: 'near', type: 'boolean' },
      { name: 'anything', type: 'any' },
    ];
    expect(intents[0]?.input_parameters).toEqual(named);
    expect(intents[0]?.output_parameters).toEqual(named.map((one) => (one.name === 'location' ? { ...one, required: true } : one)));
  });

  test('may have a parameter that is called properties', () => {
    const output_parameters = { properties: { title: 'Properties', type: 'array', items: {} }, total: { type: 'integer' } };
    const { intents } = plan({ 'service-info': info, intents: [{ ...search, output_parameters }] });
    expect(intents[0]?.output_parameters).toEqual([
      { name: 'properties', type: 'array' },
      { name: 'total', type: 'integer' },
    ]);
  });

  test('may use other member names, and omit responses', () => {
    const { intent_name: name, input_parameters, output_parameters: _, rate_limit, price, ...rest } = search;
    const { intents, notes } = plan({
      service_info: info,
      intents: [{ ...rest, name, parameters: { query: { type: 'string', required: true } } }],
    });
    expect(intents[0]).toMatchObject({
      intent_name: 'SearchProducts',
      input_parameters: [{ name: 'query', type: 'string', required: true }],
      output_parameters: [],
    });
    expect(notes).toEqual(
      expect.arrayContaining([
        { path: '/intents/0/name', note: 'the member name was taken as intent_name' },
        { path: '/intents/0/parameters', note: 'the member parameters was taken as input_parameters' },
        { path: '/intents/0', note: 'the response is not described, so it is not checked' },
      ]),
    );
  });

  test.each([
    ['https://shop.example', 'https://api.shop.example', true],
    ['https://www.shop.example/start', 'https://api.shop.example', true],
    ['https://shop.example', 'https://a.b.shop.example', true],
    ['https://shop.example', 'https://myshop.example', false],
    ['https://shop.example', 'https://shop.example.evil.example', false],
    ['https://shop.example', 'https://api.shop.example:8443', false],
    ['https://shop.example', 'http://api.shop.example', false],
    ['https://api.shop.example', 'https://shop.example', false],
    ['https://example', 'https://shop.example', false],
    ['https://shop.example', 'shop://api.shop.example', false],
  ])('of %s may lead to %s: %s', (service_url, origin, isTaken) => {
    const { intents, notes } = plan({ 'service-info': { ...info, service_url }, intents: [{ ...search, endpoint: `${origin}/search` }] });
    expect(intents).toHaveLength(isTaken ? 1 : 0);
    const note = { path: '/intents/0/endpoint', note: `is called at ${origin}, a subdomain of the service's host` };
    expect(notes.filter(({ path }) => path === note.path)).toEqual(isTaken ? expect.arrayContaining([note]) : []);
  });

  test('may come from another gate, which percent-encodes path variables', () => {
    const inputs = [{ name: 'id', type: 'string', required: true }];
    const intent = { ...search, intent_uid: 'shop.example:get:v1', input_parameters: inputs, version: '1.0' };
    const { intents, notes } = plan({
      'service-info': info,
      intents: [{ ...intent, endpoint: 'https://shop.example/products/%7Bid%7D/%7Bother%7D' }],
    });
    expect(intents[0]?.endpoint.url).toBe('https://shop.example/products/{id}/%7Bother%7D');
    expect(intents[0]).not.toHaveProperty('version');
    expect(notes).toContainEqual({ path: '/intents/0/version', note: 'the version was left out: it is that of the intent_uid' });
  });

  test('is imported in part: colliding slugs and intents without an address are skipped', () => {
    const { intents, skipped, notes } = plan({
      'service-info': info,
      intents: [search, { ...search, intent_uid: 'shop.example:search_products:v1' }, { ...search, endpoint: undefined }],
    });
    expect(intents).toHaveLength(1);
    expect(skipped.map(({ operation, path }) => [operation, path])).toEqual([
      ['shop.example:search_products:v1', '/intents/1'],
      ['shop.example:SearchProducts:v1', '/intents/2'],
    ]);
    expect(notes.filter(({ path }) => !path.startsWith('/intents/0'))).toEqual([]);
  });

  test.each<[string, object]>([
    [
      'with an underscore',
      { service_info: { ...info, service_logo_url: 'https://shop.example/logo' }, 'uim-policy-file': 'https://shop.example/policy' },
    ],
    [
      'in the overview form',
      {
        service: {
          name: 'Shop',
          description: 'Sells things',
          urls: { base_url: 'https://shop.example', logo: 'https://shop.example/logo' },
        },
        security: { public_key: 'x', policy_url: 'https://shop.example/policy', supported_auth_methods: [] },
      },
    ],
  ])('is read %s', (_, members) => {
    const { service, intents } = plan({ ...members, intents: [search] });
    expect(service).toEqual({
      service_name: 'Shop',
      description: 'Sells things',
      service_url: 'https://shop.example',
      policy_url: 'https://shop.example/policy',
      service_logo_url: 'https://shop.example/logo',
    });
    expect(intents).toHaveLength(1);
  });

  test('lists the credentials that the API requires', () => {
    const security = { supported_auth_methods: ['jwt', 'oauth2'] };
    expect(plan({ service: info, security, intents: [search] }).credentials).toEqual(['jwt', 'oauth2']);
  });
});

describe('the options that set the credential', () => {
  const schemes = {
    header: { type: 'apiKey', in: 'header', name: 'X-Key' },
    query: { type: 'apiKey', in: 'query', name: "k'ey" },
    cookie: { type: 'apiKey', in: 'cookie', name: 'sid' },
    bearer: { type: 'http', scheme: 'bearer' },
    basic: { type: 'http', scheme: 'Basic' },
    digest: { type: 'http', scheme: 'digest' },
    oauth: { type: 'oauth2' },
    host: { type: 'apiKey', in: 'header', name: 'Host' },
  };
  test.each<[(keyof typeof schemes)[], object[], string[]]>([
    [['header', 'query'], [], ['--header X-Key']],
    [['query', 'header'], [], ["--query 'k'\\''ey'"]],
    [['header', 'bearer'], [{ bearer: [] }], ['--bearer']],
    [['header', 'basic'], [{ basic: [] }], ['--basic']],
    [['header', 'digest'], [{ digest: [] }], ['--header Authorization']],
    [['header', 'query', 'bearer'], [{ header: [], query: [] }], ['--header X-Key', "--query 'k'\\''ey'"]],
    [['header', 'cookie'], [{ cookie: [] }], ['--header X-Key']],
    [['oauth', 'bearer'], [{ oauth: [], bearer: [] }], ['--bearer']],
    [['cookie', 'host'], [{ cookie: [] }, {}], []],
    [[], [{ unknown: [] }], []],
  ])('of %j with the requirements %j', (names, security, options) => {
    const securitySchemes = Object.fromEntries(names.map((name) => [name, schemes[name]]));
    expect(plan(document({}, { components: { securitySchemes }, security })).credentialLocations.map(credentialOption)).toEqual(options);
  });
});

test.each<[says: boolean | undefined, keepDeprecated: boolean, expected: boolean | undefined]>([
  [true, false, true],
  [true, true, false],
  [false, false, false],
  // the document omits it, so it is kept
  [undefined, false, undefined],
])('deprecated: %p, with keepDeprecated: %p', (deprecated, keepDeprecated, expected) => {
  const [intent] = planOperation({ deprecated }, { keepDeprecated }).intents;
  expect(intent?.deprecated).toBe(expected);
  expect(Object.hasOwn(intent ?? {}, 'deprecated')).toBe(expected !== undefined);
});

test('relative servers are relative to the address of the document', () => {
  const { service } = plan(document({}, { servers: [{ url: '../v2/' }] }), { documentUrl: 'https://docs.example/specs/openapi.json' });
  expect(service.service_url).toBe('https://docs.example/v2');
});

describe('a document that cannot be imported', () => {
  const noAddress = 'The document has no absolute server address; give one with --base-url, for example https://api.example.com/v1.';
  const unknown =
    'The document cannot be imported. It must be OpenAPI 3.0, 3.1 or 3.2 (openapi: 3.1.0), Swagger 2.0 (swagger: "2.0") or a service description (service-info and intents).';
  test.each([
    ['another format', { openapi: '4.0.0' }, unknown],
    ['a text', 'hello', unknown],
    ['a registry file', { registry: 1 }, 'The document is a registry file. Use "apply" for it.'],
    ['no server', { openapi: '3.0.0' }, noAddress],
    ['a Swagger without host', { swagger: '2.0', basePath: '/v1' }, noAddress],
    [
      'a server in IPv6',
      { openapi: '3.1.0', servers: [{ url: 'https://[::1]/' }] },
      'A namespace has at most 80 letters, digits, dots and hyphens, for example api.example.com. Give one with --namespace.',
    ],
  ])('%s', (_, input, message) => {
    expect(() => plan(input)).toThrow(new DocumentError(message));
  });
});

describe('readDocument', () => {
  const comments = (what: string, line: number, column: number) =>
    `The document is not JSON: it has a ${what} at line ${line}, column ${column}. Remove its comments and trailing commas.`;
  test.each([
    ['nothing', ' \n', 'The document is empty.'],
    ['neither JSON nor YAML', '{"a": [}', /^The document is neither JSON nor YAML: .* at line 1, column 8/],
    [
      'a key that comes twice',
      'a:\n  b: 1\n  b: 2',
      /^The document is neither JSON nor YAML: Map keys must be unique at line 3, column 3$/,
    ],
    [
      'a member that comes twice',
      '{"a": 1,\n "a": 2}',
      'The document has the member /a a second time at line 2, column 2. Remove or rename one of the two.',
    ],
    [
      'a member that comes twice in another spelling, deep inside',
      '{"a": ["{\\"", {"b/c": 1, "d": [{"b/c": 1}],\r\n\t"b\\u002fc": 1}], "a\\"": 2}',
      'The document has the member /a/1/b~1c a second time at line 2, column 2. Remove or rename one of the two.',
    ],
    [
      'a path that comes twice',
      '{"paths":{"/a":{},"/b":{},"/a":{}}}',
      /^The document has the member \/paths\/~1a a second time at line 1, column 27\./,
    ],
    [
      'an empty name that comes twice in a list',
      '[{"":1},{"":1,"":1}]',
      /^The document has the member \/1\/ a second time at line 1, column 15\./,
    ],
    [
      '__proto__ that comes twice',
      '{"__proto__":1,"__proto__":1}',
      /^The document has the member \/__proto__ a second time at line 1, column 16\./,
    ],
    ['JSON with a comment', '{\n  // the first\n  "a": "https://a.example"\n}', comments('comment', 2, 3)],
    ['JSON with a comment before it', '\n/* {"a":1} */ {"a":1}', comments('comment', 2, 1)],
    ['JSON with a comment after it', '{"a":"/*",} // "the end', comments('comment', 1, 13)],
    ['large JSON with a trailing comma', `{"a":[",]",\n"${'x'.repeat(1_000_000)}" , ],"b":1}`, comments('trailing comma', 2, 1_000_004)],
    [
      'large JSON that is cut',
      `{"a":"${'x'.repeat(1_000_000)}",`,
      'The document is not JSON: at line 1, column 1000009, the text ends; expected a member name in double quotes.',
    ],
    ['a circle of aliases', 'a: &a\n  b: *a', /^The document's YAML aliases cannot be resolved: /],
    [
      'aliases that multiply',
      [
        'a: &a [x, x, x, x, x, x, x, x, x, x]',
        ...[...'bcdefg'].map((name, at) => `${name}: &${name} [${`*${'abcdef'[at]}, `.repeat(10)}]`),
      ].join('\n'),
      /^The document's YAML aliases cannot be resolved: /,
    ],
  ])('refuses %s', (_, input, message) => {
    expect(() => readDocument(input)).toThrow(DocumentError);
    expect(() => readDocument(input)).toThrow(message);
  });

  test.each([
    ['JSON with a byte order mark', '\ufeff{"a": 1}', { a: 1 }],
    ['YAML that begins with a brace', '{a: 1}', { a: 1 }],
    ['YAML that looks like JSON with comments', '{"a": //x, b: "/* y */",} # z', { a: '//x', b: '/* y */' }],
    ['one name in several objects', '{"a":{"a":[{"a":1},{"a":"a"}]},"b":{"a":1}}', { a: { a: [{ a: 1 }, { a: 'a' }] }, b: { a: 1 } }],
    ['names that differ in case', '{"a":1,"A":2}', { a: 1, A: 2 }],
    ['no as a text, numbers as names', 'no: no\n200: yes', { no: 'no', 200: 'yes' }],
    ['merge keys', 'a: &a { x: 1 }\nb: { <<: *a, y: 2 }', { a: { x: 1 }, b: { x: 1, y: 2 } }],
  ])('reads %s', (_, input, value) => {
    expect(readDocument(input)).toEqual(value);
  });
});

test.each([
  ['the same summary', { summary: 'Get a thing' }],
  ['no name', {}],
  ['the same operationId', { operationId: 'act' }],
])('20,000 operations with %s are planned with distinct names and uids', (_, more) => {
  const steps = { count: 0, ends: 0 };
  const progress = (what: string, total: number) => {
    expect([what, total]).toEqual(['Planning', 20_000]);
    return { step: () => void steps.count++, end: () => void steps.ends++ };
  };
  const paths = Object.fromEntries(
    Array.from({ length: 20_000 }, (_, at) => [`/things/${at}`, { get: { responses: { 204: { description: 'Done' } }, ...more } }]),
  );
  const { intents } = plan(document(paths), { progress });
  expect(new Set(intents.map(({ intent_name }) => intent_name)).size).toBe(20_000);
  expect(new Set(intents.map(({ intent_uid }) => intent_uid)).size).toBe(20_000);
  expect(steps).toEqual({ count: 20_000, ends: 1 });
});
