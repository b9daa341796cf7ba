import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { DocumentError, readDocument } from '../../../registry/import/document.ts';
import { document, json, operation, plan, planBody, planOperation, query, text } from './planning.ts';

const read = (file: string) => readDocument(readFileSync(new URL(`described/${file}`, import.meta.url), 'utf8'));

/** Omits the registry's explanation of patterns from the comparison. */
const shorten = (value: unknown): unknown => JSON.parse(JSON.stringify(value).replace(/(RE2 can match in linear time)[^"]*/g, '$1'));

test.each([
  { what: 'OpenAPI 3.0', file: 'bakery.yaml', more: {} },
  { what: 'OpenAPI 3.1', file: 'library.yaml', more: { baseUrl: 'https://library.example/v1' } },
  { what: 'Swagger 2.0', file: 'warehouse.yaml', more: {} },
  { what: 'a service description', file: 'weather.yaml', more: {} },
])('$what is planned as its .plan.yaml says', ({ file, more }) => {
  expect(shorten(plan(read(file), more))).toEqual(shorten(read(file.replace(/\.\w+$/, '.plan.yaml'))));
});

test.each([
  { what: 'a reference', name: { $ref: '#/components/schemas/Name', nullable: true } },
  { what: 'parts', name: { allOf: [{ $ref: '#/components/schemas/Name' }], nullable: true } },
  {
    what: 'a branch that says nothing else',
    name: { oneOf: [{ nullable: true, description: 'None' }, { $ref: '#/components/schemas/Name' }] },
  },
])('nullable is understood beside $what', ({ name }) => {
  const schemas = { Name: { type: 'string', maxLength: 9 }, Thing: { type: 'object', required: ['name'], properties: { name } } };
  const { intents } = planOperation({ responses: { 200: json({ $ref: '#/components/schemas/Thing' }) } }, {}, { schemas });
  expect(intents[0]?.output_parameters).toEqual([{ name: 'name', type: 'string', maxLength: 9 }]);
});

test.each<{ what: string; type: string | string[]; isNeeded: boolean; required: boolean; expected: Record<string, boolean> }>([
  {
    what: 'may be null and need not be there is one input',
    type: ['object', 'null'],
    isNeeded: true,
    required: false,
    expected: { body: false },
  },
  {
    what: 'may be null and has to be there is its members',
    type: ['object', 'null'],
    isNeeded: true,
    required: true,
    expected: { a: true },
  },
  {
    what: 'may be null and requires none of its members is its members',
    type: ['object', 'null'],
    isNeeded: false,
    required: false,
    expected: { a: false },
  },
  // most documents that do not say whether a body is required have forgotten to
  { what: 'is an object is its members', type: 'object', isNeeded: true, required: false, expected: { a: true } },
])('a body that $what', ({ type, isNeeded, required, expected }) => {
  const { inputs } = planBody({ required, ...json({ type, ...(isNeeded && { required: ['a'] }), properties: { a: text } }) });
  expect(inputs.map((input) => [input.name, input.required ?? false])).toEqual(Object.entries(expected));
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
  test('OpenAPI 3.2 is read as 3.1, and its additional methods are skipped by name', () => {
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

test.each<{ deprecated?: boolean; keepDeprecated: boolean; expected?: boolean }>([
  { deprecated: true, keepDeprecated: false, expected: true },
  { deprecated: true, keepDeprecated: true, expected: false },
  { deprecated: false, keepDeprecated: false, expected: false },
  // the document omits it, so it is kept
  { keepDeprecated: false },
])(
  'an operation with deprecated: $deprecated becomes $expected with keepDeprecated: $keepDeprecated',
  ({ deprecated, keepDeprecated, expected }) => {
    const [intent] = planOperation({ deprecated }, { keepDeprecated }).intents;
    expect(intent?.deprecated).toBe(expected);
    expect(Object.hasOwn(intent ?? {}, 'deprecated')).toBe(expected !== undefined);
  },
);

test('relative servers are relative to the address of the document', () => {
  const { service } = plan(document({}, { servers: [{ url: '../v2/' }] }), { documentUrl: 'https://docs.example/specs/openapi.json' });
  expect(service.service_url).toBe('https://docs.example/v2');
});

describe('a document that cannot be imported', () => {
  const noAddress = 'The document has no absolute server address; give one with --base-url, for example https://api.example.com/v1.';
  const unknown =
    'The document cannot be imported. It must be OpenAPI 3.0, 3.1 or 3.2 (openapi: 3.1.0), Swagger 2.0 (swagger: "2.0") or a service description (service-info and intents).';
  test.each([
    { what: 'another format', input: { openapi: '4.0.0' }, message: unknown },
    { what: 'a text', input: 'hello', message: unknown },
    { what: 'a registry file', input: { registry: 1 }, message: 'The document is a registry file. Use "apply" for it.' },
    { what: 'no server', input: { openapi: '3.0.0' }, message: noAddress },
    { what: 'a Swagger without host', input: { swagger: '2.0', basePath: '/v1' }, message: noAddress },
    {
      what: 'a server in IPv6',
      input: { openapi: '3.1.0', servers: [{ url: 'https://[::1]/' }] },
      message: 'A namespace has at most 80 letters, digits, dots and hyphens, for example api.example.com. Give one with --namespace.',
    },
  ])('a document that is $what cannot be imported', ({ input, message }) => {
    expect(() => plan(input)).toThrow(new DocumentError(message));
  });
});

test.each([
  { what: 'the same summary', more: { summary: 'Get a thing' } },
  { what: 'no name', more: {} },
  { what: 'the same operationId', more: { operationId: 'act' } },
])('10,000 operations with $what get distinct names and uids', ({ more }) => {
  const steps = { count: 0, ends: 0 };
  const progress = (what: string, total: number) => {
    expect([what, total]).toEqual(['Planning', 10_000]);
    return { step: () => void steps.count++, end: () => void steps.ends++ };
  };
  const paths = Object.fromEntries(
    Array.from({ length: 10_000 }, (_, at) => [`/things/${at}`, { get: { responses: { 204: { description: 'Done' } }, ...more } }]),
  );
  const { intents } = plan(document(paths), { progress });
  expect(new Set(intents.map(({ intent_name }) => intent_name)).size).toBe(10_000);
  expect(new Set(intents.map(({ intent_uid }) => intent_uid)).size).toBe(10_000);
  expect(steps).toEqual({ count: 10_000, ends: 1 });
});
