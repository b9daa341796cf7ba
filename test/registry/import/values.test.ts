import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { compileParameters } from '../../../functions/core/parameters/compile.ts';
import { readDocument } from '../../../registry/import/document.ts';
import { parseExact } from '../../../schemas/number.ts';
import type { Parameter } from '../../../schemas/parameter.ts';
import { type Recording, startRecording } from '../../support/imported.ts';

let recording: Recording;

beforeAll(async () => {
  recording = await startRecording();
});

afterAll(() => recording.stop());

const text = { type: 'string' };
const json = (schema: unknown) => ({ requestBody: { required: true, content: { 'application/json': { schema } } } });
const object = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more });
const query = (name: string, schema: object, more: object = {}) => ({ name, in: 'query', schema, ...more });

function planOne(operation: object, more: object = {}, method = 'post') {
  const one = { operationId: 'act', responses: { 204: { description: 'Done' } }, ...operation };
  const servers = [{ url: recording.origin }];
  const document = { openapi: '3.1.0', info: { title: 'Case', version: '1' }, servers, paths: { '/a': { [method]: one } }, ...more };
  // a copy, because planning annotates the objects of a document
  const { intents, notes, skipped } = recording.plan(parseExact(JSON.stringify(document)));
  const [intent] = intents;
  if (intent === undefined) throw new Error(JSON.stringify(skipped));
  return { intent, inputs: intent.input_parameters, notes: notes.map(({ note }) => note) };
}

const planSchema = (schema: unknown, more: object = {}) => planOne(json(object({ v: schema })), more);

const sentBy = async (operation: object, parameters: Record<string, unknown> = {}, method = 'post') => {
  const { intent } = planOne(operation, {}, method);
  const { url, body, headers } = await recording.execute(intent, parameters);
  return { url, body, headers };
};

describe('defaults', () => {
  const defaults = object({
    name: text,
    private: { type: 'boolean', default: false },
    count: { type: 'integer', default: 0 },
    tags: { type: 'array', items: text, default: [] },
    settings: object({ colour: { ...text, default: 'red' } }, { default: { colour: 'blue' } }),
    nothing: { type: ['string', 'null'], default: null },
    mistyped: { type: 'integer', default: 'one' },
    anything: { default: 1 },
  });

  test.each<{ what: string; method: string; operation: object; parameters?: object; body: string }>([
    { what: 'members of a JSON body', method: 'patch', operation: json(defaults), parameters: { name: 'a' }, body: '{"name":"a"}' },
    {
      what: 'members that allOf combines',
      method: 'put',
      operation: json({ allOf: [defaults, { properties: { count: { default: 3 } } }] }),
      body: '{}',
    },
    {
      what: 'members of alternatives',
      method: 'post',
      operation: json({ oneOf: [defaults, object({ other: { ...text, default: 'x' } })] }),
      body: '{}',
    },
    { what: 'members with a default of the whole', method: 'post', operation: json({ ...defaults, default: { name: 'a' } }), body: '{}' },
    {
      what: 'nested members',
      method: 'post',
      operation: json(object({ all: { type: 'array', items: defaults } })),
      parameters: { all: [{}] },
      body: '{"all":[{}]}',
    },
    {
      what: 'the whole body',
      method: 'put',
      operation: json({ type: 'array', items: text, default: ['a'] }),
      parameters: { body: [] },
      body: '[]',
    },
    {
      what: 'a merge patch',
      method: 'patch',
      operation: { requestBody: { content: { 'application/merge-patch+json': { schema: defaults } } } },
      body: '',
    },
    {
      what: 'a form',
      method: 'post',
      operation: { requestBody: { content: { 'application/x-www-form-urlencoded': { schema: defaults } } } },
      parameters: { name: 'a' },
      body: 'name=a',
    },
  ])('a default is never sent in a body: $what', async ({ method, operation, parameters = {}, body }) => {
    expect(await sentBy(operation, parameters as Record<string, unknown>, method)).toMatchObject({ url: '/a', body });
  });

  test('a default of a part of a multipart form is never sent', async () => {
    const operation = { requestBody: { content: { 'multipart/form-data': { schema: defaults } } } };
    const { body } = await sentBy(operation, { name: 'a' });
    expect([...body.matchAll(/ name="(\w+)"/g)].map(([, name]) => name)).toEqual(['name']);
  });

  test.each<[string, object[]]>([
    ['a query', [query('limit', { type: 'integer', default: 20 }), query('sort', { ...text, enum: ['up'], default: 'up' })]],
    ['a deep object', [query('filter', object({ a: { ...text, default: 'b' } }, { default: { a: 'b' } }), { style: 'deepObject' })]],
    ['JSON in a query', [{ name: 'q', in: 'query', content: { 'application/json': { schema: { ...text, default: 'a' } } } }]],
    ['a header field', [{ name: 'X-Mode', in: 'header', schema: { ...text, default: 'fast' } }]],
    ['an optional header field with one value', [{ name: 'X-Mode', in: 'header', schema: { ...text, enum: ['fast'], default: 'fast' } }]],
    ['a version', [{ name: 'Api-Version', in: 'header', schema: { ...text, default: '2' } }]],
    ['a cookie', [{ name: 'mode', in: 'cookie', schema: { ...text, default: 'fast' } }]],
  ])('a default of a parameter is never sent: %s', async (_, parameters) => {
    // of three operations, so that no header field becomes one of the service
    const others = { get: { operationId: 'b', responses: {} }, delete: { operationId: 'c', responses: {} } };
    const act = { operationId: 'act', parameters, responses: {} };
    const document = { openapi: '3.0.0', info: { title: 'Case', version: '1' }, paths: { '/a': { ...others, post: act } } };
    const { service, intents } = recording.plan({ ...document, servers: [{ url: recording.origin }] });
    const intent = intents.find(({ intent_uid }) => intent_uid === 'case.example:act:v1');
    const { url, headers } = await recording.execute(intent as (typeof intents)[number], {});
    expect([service.headers, url, headers['x-mode'], headers['api-version'], headers.cookie]).toEqual([undefined, '/a', ...Array(3)]);
  });

  test('a required header field with one value is always sent', async () => {
    const constant = (name: string, schema: object) => ({ name, in: 'header', required: true, schema });
    const parameters = [
      constant('X-A', { enum: ['1'] }),
      constant('X-B', { const: 2 }),
      constant('X-C', { allOf: [{ enum: ['x', 'y'] }, { enum: ['y', 'z'] }] }),
    ];
    const rest = { get: { operationId: 'b' }, put: { operationId: 'c' } };
    const document = { openapi: '3.1.0', info: { title: 'Case', version: '1' }, servers: [{ url: recording.origin }] };
    const { intents } = recording.plan({ ...document, paths: { '/a': { post: { operationId: 'act', parameters }, ...rest } } });
    const [intent] = intents.filter(({ input_parameters }) => input_parameters.length > 0);
    const { headers } = await recording.execute(intent as (typeof intents)[number], {});
    expect([headers['x-a'], headers['x-b'], headers['x-c']]).toEqual(['1', '2', 'y']);
  });

  test.each<[string, object]>([
    ['in Swagger', { parameters: [{ name: 'limit', in: 'query', type: 'integer', default: 20 }] }],
    [
      'in a form of Swagger',
      { consumes: ['multipart/form-data'], parameters: [{ name: 'limit', in: 'formData', type: 'integer', default: 20 }] },
    ],
  ])('a default of Swagger 2.0 is never sent: %s', (_, operation) => {
    const paths = { '/a': { post: { operationId: 'act', responses: {}, ...operation } } };
    const { intents } = recording.plan({ swagger: '2.0', info: { title: 'Case', version: '1' }, host: 'case.example', paths });
    expect(intents[0]?.input_parameters).toEqual([expect.objectContaining({ name: 'limit', type: 'integer', description: 'Default: 20' })]);
    expect(intents[0]?.input_parameters[0]).not.toHaveProperty('default');
  });

  test('a default of a service description is never sent', () => {
    const input_parameters = [
      { name: 'limit', type: 'integer', default: 20, description: 'How many' },
      { name: 'X-A', type: 'string', in: 'header', required: true, enum: ['1'] },
    ];
    const intent = {
      intent_uid: 'case.example:act:v1',
      intent_name: 'Act',
      description: 'Acts',
      input_parameters,
      endpoint: 'https://case.example/a',
    };
    const { intents } = recording.plan({ 'service-info': { name: 'Case', service_url: 'https://case.example' }, intents: [intent] });
    expect(intents[0]?.input_parameters).toEqual([
      { name: 'limit', type: 'integer', description: 'How many. Default: 20' },
      { name: 'X-A', type: 'string', in: 'header', required: true, enum: ['1'], default: '1' },
    ]);
  });
});

describe('descriptions of defaults', () => {
  test.each<[string, object, string | undefined]>([
    ['a number', { type: 'integer', default: 20 }, 'Default: 20'],
    ['a number with all its digits', { type: 'number', default: JSON.rawJSON('1.50') }, 'Default: 1.50'],
    ['a quoted number', { type: 'integer', default: '20' }, 'Default: 20'],
    ['false', { type: 'boolean', default: false }, 'Default: false'],
    ['a text', { ...text, default: 'open' }, 'Default: open'],
    ['an empty text', { ...text, default: '' }, 'Default: ""'],
    ['a text of white space', { ...text, default: ' \n' }, 'Default: " \\n"'],
    ['a text with markup', { ...text, default: '**<b>' }, 'Default: **<b>'],
    ['a text with invisible characters', { ...text, default: 'a\u202eb' }, 'Default: "ab"'],
    ['a list', { type: 'array', default: ['a'] }, 'Default: ["a"]'],
    ['an object', { type: 'object', default: { a: { b: 1 } } }, 'Default: {"a":{"b":1}}'],
    ['a sentence before it', { ...text, description: 'Where it goes', default: 'a' }, 'Where it goes. Default: a'],
    ['a full stop before it', { ...text, description: 'Where it goes.', default: 'a' }, 'Where it goes. Default: a'],
    ['a long value', { ...text, default: 'x'.repeat(5000) }, `Default: "${'x'.repeat(198)}…`],
    ['a long description', { ...text, description: 'y'.repeat(5000), default: 'a' }, `${'y'.repeat(3987)}…. Default: a`.replace('….', '…')],
    ['null', { type: ['string', 'null'], default: null }, undefined],
  ])('a description states the default: %s', (_, schema, description) => {
    expect(planSchema(schema).inputs[0]?.description).toBe(description);
  });

  test('a description states the defaults inside lists and objects, where they are as long as fits', () => {
    const { inputs } = planSchema({
      items: object({ a: { type: 'integer', default: 3 }, b: { ...text, description: 'The b', default: 'x'.repeat(900) } }),
    });
    const { a, b } = (inputs[0]?.schema?.items?.properties ?? {}) as Record<string, { description: string }>;
    expect([a?.description, b?.description]).toEqual(['Default: 3', `The b. Default: "${'x'.repeat(189)}…`]);
  });

  test.each<[string, object, string]>([
    ['of another type', { type: 'integer', default: 'one' }, 'must be an integer'],
    ['that the values do not include', { ...text, enum: ['a'], default: 'b' }, 'must be one of "a"'],
    ['out of bounds', { type: 'integer', minimum: 1, default: 0 }, 'must be at least 1'],
    ['an object for a list', { type: 'array', default: {} }, 'must be an array'],
  ])('a default is left out of the description and noted: %s', (_, schema, problem) => {
    const { inputs, notes } = planSchema(schema);
    expect(inputs[0]).not.toHaveProperty('description');
    expect(inputs[0]).not.toHaveProperty('default');
    expect(notes).toEqual([`default was left out; the registry refuses it: ${problem}, like every value of this parameter`]);
    expect(planSchema({ items: schema }).inputs[0]?.schema?.items).not.toHaveProperty('description');
  });
});

const takes = (inputs: readonly Parameter[], v: unknown) => compileParameters(inputs)({ v }).issues === undefined;

describe('branches', () => {
  const a = object({ a: { type: 'integer' } });
  test.each<[string, unknown[], unknown[], unknown[]]>([
    ['a free branch', [a, {}], [{ a: 'x' }, 'text', [1]], []],
    ['the branch true', [a, true], [{ a: [] }, 3], []],
    ['a branch that only says what is required', [a, { required: ['b'] }], [{ a: 'x', b: 1 }, 'text'], []],
    ['an object of any members', [a, { type: 'object' }], [{ a: 'x' }, {}], ['text', 1]],
    ['a map of texts', [a, { type: 'object', additionalProperties: text }], [{ a: 'x', b: 'y' }, { a: 1 }], [{ a: [] }, 'text']],
    ['an object with further members', [a, object({ b: text }, { additionalProperties: true })], [{ a: 'x', b: 'y' }], [{ b: 1 }]],
    ['a text beside a free object', [a, { type: 'object' }, text], [{ a: 'x' }, 'text'], [1]],
    ['a free branch in a branch', [a, { anyOf: [text, {}] }], [{ a: 'x' }, 'text', 1], []],
    ['closed objects', [a, object({ b: text }, { additionalProperties: false })], [{ a: 1 }, { b: 'x' }], [{ a: 'x' }, 'text']],
    ['types of one member', [a, object({ a: text })], [{ a: 1 }, { a: 'x' }], [{ a: [] }]],
  ])('a value is accepted if one branch allows it: %s', (_, branches, accepted, refused) => {
    for (const keyword of ['oneOf', 'anyOf']) {
      const { inputs } = planSchema({ [keyword]: branches });
      expect(accepted.filter((value) => !takes(inputs, value))).toEqual([]);
      expect(refused.filter((value) => takes(inputs, value))).toEqual([]);
    }
  });

  test.each<[string, unknown[], Record<string, unknown>, string]>([
    ['anything', [a, {}], { body: ['x'] }, '["x"]'],
    ['any object', [a, { type: 'object' }], { body: { a: 1, b: 2 } }, '{"a":1,"b":2}'],
    ['any value of another branch', [a, { anyOf: [text, true] }], { body: 'x' }, '"x"'],
  ])('a body can be %s', async (_, oneOf, parameters, body) => {
    expect(await sentBy(json({ oneOf }), parameters)).toMatchObject({ body });
  });

  test('a member keeps its description where another branch allows any value', () => {
    const described = object({ a: { type: 'integer', description: 'The a', default: 3 } });
    const { inputs } = planSchema({ oneOf: [described, { type: 'object' }] });
    expect(inputs[0]?.schema?.properties).toEqual({ a: { description: 'The a' } });
  });
});

describe('null', () => {
  const patch = (schema: object, type = 'application/merge-patch+json') => ({
    requestBody: { required: true, content: { [type]: { schema } } },
  });
  const label = object({ label: text });
  test.each<{ what: string; method: string; operation: object; parameters: Record<string, unknown>; body: string }>([
    {
      what: 'removes a member with a merge patch',
      method: 'patch',
      operation: patch(label),
      parameters: { label: null },
      body: '{"label":null}',
    },
    {
      what: 'removes one that has few values',
      method: 'patch',
      operation: patch(object({ label: { ...text, enum: ['a'], pattern: '^a$' } })),
      parameters: { label: null },
      body: '{"label":null}',
    },
    {
      what: 'removes a list',
      method: 'patch',
      operation: patch(object({ list: { type: 'array', items: text } })),
      parameters: { list: null },
      body: '{"list":null}',
    },
    {
      what: 'removes a member of a member',
      method: 'patch',
      operation: patch(object({ of: label })),
      parameters: { of: { label: null } },
      body: '{"of":{"label":null}}',
    },
    {
      what: 'removes one with a parameter in the type',
      method: 'patch',
      operation: patch(label, 'application/merge-patch+json; v=2'),
      parameters: { label: null },
      body: '{"label":null}',
    },
    {
      what: 'is a value of a nullable member',
      method: 'post',
      operation: json(object({ label: { ...text, nullable: true } })),
      parameters: { label: null },
      body: '{"label":null}',
    },
    {
      what: 'is a value in a list of types',
      method: 'post',
      operation: json(object({ label: { type: ['null', 'integer'] } })),
      parameters: { label: null },
      body: '{"label":null}',
    },
    {
      what: 'is a value of a branch',
      method: 'post',
      operation: json(object({ label: { oneOf: [text, { type: 'null' }] } })),
      parameters: { label: null },
      body: '{"label":null}',
    },
    {
      what: 'is one of the values',
      method: 'post',
      operation: json(object({ label: { enum: ['a', null] } })),
      parameters: { label: null },
      body: '{"label":null}',
    },
    {
      what: 'means left out elsewhere',
      method: 'post',
      operation: json(object({ label: text, other: text })),
      parameters: { label: null, other: 'a' },
      body: '{"other":"a"}',
    },
    {
      what: 'means left out in a form',
      method: 'post',
      operation: patch(object({ label: { ...text, nullable: true }, other: text }), 'application/x-www-form-urlencoded'),
      parameters: { label: null, other: 'a' },
      body: 'other=a',
    },
  ])('null $what', async ({ method, operation, parameters, body }) => {
    expect(await sentBy(operation, parameters, method)).toMatchObject({ body });
  });

  test.each<[string, object, string]>([
    ['a merge patch', object({ label: text, id: text }, { required: ['id'] }), 'application/merge-patch+json'],
    ['JSON', object({ label: { type: ['string', 'null'] }, id: text }, { required: ['id'] }), 'application/json'],
    ['JSON of any type', object({ label: {}, id: text }, { required: ['id'] }), 'application/json'],
  ])('null in an optional body makes its required members required: %s', async (_, schema, type) => {
    const operation = { requestBody: { content: { [type]: { schema } } } };
    const issues = [{ path: '/parameters/id', problem: 'is required and must be a string' }];
    await expect(sentBy(operation, { label: null }, 'patch')).rejects.toMatchObject({ details: { issues } });
    expect(await sentBy(operation, { label: null, id: 'a' }, 'patch')).toMatchObject({ body: '{"label":null,"id":"a"}' });
  });

  test('null is not sent in a query', async () => {
    const parameters = [query('a', {}), query('b', { type: ['string', 'null'] }), query('c', text)];
    expect(await sentBy({ parameters }, { a: null, b: null, c: 'x' })).toMatchObject({ url: '/a?c=x' });
  });

  test('agents see that a merge patch removes members', () => {
    const { inputs } = planOne(patch(object({ label: text, id: text }, { required: ['id'] })), {}, 'patch');
    expect(inputs).toEqual([
      { name: 'label', type: 'string', schema: { type: ['string', 'null'] } },
      { name: 'id', type: 'string', required: true },
    ]);
  });
});

test('integers that hosts write as floats are sent in digits', async () => {
  const schema = object({
    n: { type: 'integer' },
    list: { type: 'array', items: object({ n: { type: 'integer' }, x: { type: 'number' } }) },
  });
  const parameters = readDocument('{"n":2.0,"list":[{"n":1e3,"x":1.0}]}') as Record<string, unknown>;
  expect(await sentBy(json(schema), parameters)).toMatchObject({ body: '{"n":2,"list":[{"n":1000,"x":1.0}]}' });
  const inQuery = query('ids', { type: 'array', items: { type: 'integer' } });
  expect(await sentBy({ parameters: [inQuery] }, readDocument('{"ids":[2.0,3.0]}') as Record<string, unknown>)).toMatchObject({
    url: '/a?ids=2&ids=3',
  });
});

describe('unquoted values in YAML', () => {
  test.each<[string, string]>([
    ['{ type: string, enum: [001, 010, 1.10] }', '{"type":"string","enum":["001","010","1.10"]}'],
    ['{ type: string, enum: [0x1F, 1e3, 0o17, .5, +1, 1_000] }', '{"type":"string","enum":["0x1F","1e3","0o17",".5","+1","1_000"]}'],
    ['{ type: string, enum: [yes, on, NO, True, false] }', '{"type":"string","enum":["yes","on","NO","True","false"]}'],
    ['{ type: string, enum: [2024-01-01, 12:30], const: 007 }', '{"type":"string","enum":["2024-01-01","12:30"],"const":"007"}'],
    ['{ type: string, default: 001, example: 1.0, examples: [02] }', '{"type":"string","default":"001","example":"1.0","examples":["02"]}'],
    ['{ type: [string, "null"], enum: [001, null, ~] }', '{"type":["string","null"],"enum":["001",null,null]}'],
    ['{ type: string, oneOf: [{ const: 01, title: 1 }] }', '{"type":"string","oneOf":[{"const":"01","title":1}]}'],
    ['{ allOf: [{ type: string }, { enum: [001] }], default: 001 }', '{"allOf":[{"type":"string"},{"enum":["001"]}],"default":"001"}'],
    [
      '{ type: array, items: { type: string }, enum: [01], default: [02] }',
      '{"type":"array","items":{"type":"string"},"enum":["01"],"default":["02"]}',
    ],
    [
      '{ properties: { a: { type: string } }, default: { a: 01, b: 02 } }',
      '{"properties":{"a":{"type":"string"}},"default":{"a":"01","b":2}}',
    ],
    [
      '{ additionalProperties: { type: string }, default: { a: [01], b: 02 } }',
      '{"additionalProperties":{"type":"string"},"default":{"a":[1],"b":"02"}}',
    ],
    ['{ type: integer, enum: [001], default: 0x1F }', '{"type":"integer","enum":[1],"default":31}'],
    ['{ type: [string, integer], enum: [001] }', '{"type":["string","integer"],"enum":[1]}'],
    ['{ enum: [001], type: { type: string, default: 01 } }', '{"enum":[1],"type":{"type":"string","default":"01"}}'],
    ['{ url: x, variables: { v: { default: 007, enum: [007] } } }', '{"url":"x","variables":{"v":{"default":"007","enum":["007"]}}}'],
  ])('unquoted values in YAML keep their spelling where a schema says string: %s', (written, expected) => {
    expect(JSON.stringify(readDocument(`x: ${written}`))).toBe(`{"x":${expected}}`);
  });

  test('unquoted values keep their spelling in YAML 1.1, too', () => {
    const written = 'x: { type: string, enum: [yes, 010, 2024-01-01, 1_000, 12:30:45] }';
    expect(readDocument(`%YAML 1.1\n---\n${written}`)).toEqual({
      x: { type: 'string', enum: ['yes', '010', '2024-01-01', '1_000', '12:30:45'] },
    });
  });

  test('unquoted values are parsed in a registry file', () => {
    expect(readDocument('registry: 1\nx: { type: string, default: 01 }')).toEqual({ registry: 1, x: { type: 'string', default: 1 } });
  });

  test('a caller may give the values that are unquoted in YAML', () => {
    const document = readDocument(`
openapi: 3.0.3
info: { title: Areas, version: '1' }
servers: [{ url: '${recording.origin}' }]
paths:
  /a:
    get: { parameters: [{ name: v, in: query, schema: { type: string, enum: [001, 1e3, True] } }] }
`);
    const inputs = recording.plan(document).intents[0]?.input_parameters ?? [];
    expect(['001', '1e3', 'True', '1', '1000', 'true'].map((value) => takes(inputs, value))).toEqual([
      true,
      true,
      true,
      false,
      false,
      false,
    ]);
  });
});

describe('references to names', () => {
  const point = object({ lat: { type: 'number' } }, { required: ['lat'] });
  test.each<[string, object, object]>([
    ['$anchor', { $ref: '#point' }, { Point: { $anchor: 'point', ...point } }],
    ['$dynamicAnchor', { $ref: '#point' }, { Point: { $dynamicAnchor: 'point', ...point } }],
    ['an $id that is a fragment', { $ref: '#point' }, { Point: { $id: '#point', ...point } }],
    ['an absolute $id', { $ref: 'https://case.example/point' }, { Point: { $id: 'https://case.example/point', ...point } }],
    ['a relative $id', { $ref: 'point.json' }, { Point: { $id: 'point.json', ...point } }],
    [
      'an $id relative to another',
      { $ref: '#/components/schemas/Line' },
      { Line: { $id: 'https://case.example/v1/line', $ref: 'point' }, Point: { $id: 'https://case.example/v1/point', ...point } },
    ],
    ['an $id and a pointer', { $ref: 'shapes.json#/$defs/point' }, { Shapes: { $id: 'shapes.json', $defs: { point } } }],
    ['an $id and an $anchor', { $ref: 'shapes.json#p' }, { Shapes: { $id: 'shapes.json', $defs: { point: { $anchor: 'p', ...point } } } }],
    [
      'a pointer inside of an $id',
      { $ref: '#/components/schemas/Shapes' },
      { Shapes: { $id: 'https://case.example/shapes', $ref: '#/$defs/point', $defs: { point } } },
    ],
    ['a reference to a reference', { $ref: '#two' }, { One: { $anchor: 'one', ...point }, Two: { $anchor: 'two', $ref: '#one' } }],
  ])('a reference to a name is resolved: %s', (_, schema, schemas) => {
    const { inputs, notes } = planSchema(schema, { components: { schemas } });
    expect([inputs, notes]).toEqual([[{ name: 'v', type: 'object', schema: point }], []]);
  });

  test.each<[string, object, string]>([
    [
      'an unknown anchor',
      { $ref: '#point' },
      'the reference names an $anchor that does not exist in this document; anything is allowed in its place',
    ],
    ['an anchor of itself', { $anchor: 'v', $ref: '#v' }, 'the reference points back to itself; anything is allowed in its place'],
    ['a dynamic reference', { $dynamicRef: '#point' }, '$dynamicRef was left out: a parameter cannot express it'],
  ])('a reference to a name is noted if it cannot be resolved: %s', (_, schema, note) => {
    const { inputs, notes } = planSchema(schema);
    expect([inputs, notes]).toEqual([[{ name: 'v', type: 'any' }], [note]]);
  });

  test('a parameter that refers to an unknown anchor is skipped', () => {
    expect(() => planOne({ parameters: [{ $ref: '#page' }] })).toThrow(
      'cannot be read: the reference names an $anchor that does not exist in this document',
    );
  });
});

describe('patterns between slashes', () => {
  const note = 'pattern was left out: it is written between slashes, as in JavaScript, and would refuse every value without them';
  test.each(['/^[a-z]+$/i', '/^\\d{4}-\\d{2}$/', '/[/]x/gu', '/a\\/b/', '/x/'])('the pattern %s is left out and noted', (pattern) => {
    const { inputs, notes } = planSchema({ ...text, pattern });
    expect([inputs, notes]).toEqual([[{ name: 'v', type: 'string' }], [note]]);
    const nested = planSchema({ items: { ...text, pattern } });
    expect([nested.inputs[0]?.schema?.items, nested.notes]).toEqual([{ type: 'string' }, [note]]);
  });

  test.each(['^/[a-z]+/$', '/users/.*', '/a/b/', '/', '//', '/abc', '[a-z]+/i'])('%s is not between slashes', (pattern) => {
    expect(planSchema({ ...text, pattern })).toMatchObject({ inputs: [{ name: 'v', type: 'string', pattern }], notes: [] });
  });
});
