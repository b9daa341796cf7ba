import { expect, test } from '@jest/globals';
import { compileParameters } from '../../../../functions/core/parameters/compile.ts';
import { checkDefinitions } from '../../../../functions/core/parameters/definitions.ts';
import { type NestedSchema, parameters } from '../../../../schemas/parameter.ts';

const find = (schema: NestedSchema, value: unknown) =>
  compileParameters([{ name: 'p', type: 'any', schema }])({ p: value }).issues?.map(({ path, problem }) => `${path} ${problem}`) ?? [];

const line: NestedSchema = {
  type: 'object',
  required: ['sku', 'price'],
  properties: {
    sku: { type: 'string', pattern: '^[A-Z]+$', maxLength: 4 },
    price: { type: 'number', exclusiveMinimum: 0, multipleOf: 0.01 },
    count: { type: 'integer', minimum: 1, maximum: 9 },
    kind: { enum: ['a', 'b'] },
    note: { type: ['string', 'null'] },
  },
};
const lines: NestedSchema = { type: 'array', minItems: 1, maxItems: 3, items: line };

test.each<[string, unknown, string[]]>([
  ['what fits', [{ sku: 'A', price: 0.29, count: 9, kind: 'a', note: null, unknown: [1] }], []],
  ['null for a member that may be left out', [{ sku: 'A', price: 1, count: null, kind: null }], []],
  ['another type', {}, ['/parameters/p must be an array']],
  ['too few', [], ['/parameters/p must have at least 1 items']],
  ['what is missing', [{ price: 1 }], ['/parameters/p/0/sku is required']],
  [
    'several places at once',
    [
      { sku: 'abcde', price: 0 },
      { sku: null, price: '1', count: 1.5, kind: 'c', note: 1 },
    ],
    [
      '/parameters/p/0/sku must have at most 4 characters',
      '/parameters/p/0/sku must match the pattern ^[A-Z]+$',
      '/parameters/p/0/price must be greater than 0',
      '/parameters/p/1/sku must be a string',
      '/parameters/p/1/price must be a number',
      '/parameters/p/1/count must be an integer',
      '/parameters/p/1/kind must be one of "a", "b"',
      '/parameters/p/1/note must be a string or null',
    ],
  ],
])('a nested value is checked against its schema: %s', (_, value, problems) => {
  expect(find(lines, value)).toEqual(problems);
});

test.each<[string, NestedSchema, unknown, string[]]>([
  ['keywords that it does not know', { not: {}, if: false, oneOf: [], $ref: '#/x', discriminator: 7 }, 1, []],
  ['formats', { type: 'string', format: 'date-time' }, 'yesterday', []],
  ['a pattern that is not linear', { pattern: '^(a+)+\\1$' }, 'x', []],
  ['multiples, as doubles round them', { items: { multipleOf: 0.1 } }, [0.3, 0.1 + 0.2, 0, -1.7, 1e300], []],
  ['what is close to a large multiple', { multipleOf: 1 }, 1e9 + 0.5, ['/parameters/p must be a multiple of 1']],
  ['what is close to zero', { multipleOf: 0.01 }, 1e-12, ['/parameters/p must be a multiple of 0.01']],
  ['a multiple in another spelling', { multipleOf: JSON.rawJSON('0.10') }, JSON.rawJSON('1.0'), []],
  ['what is no multiple, in another spelling', { multipleOf: 3 }, JSON.rawJSON('1.0'), ['/parameters/p must be a multiple of 3']],
  ['numbers that a double cannot hold', { multipleOf: 3 }, JSON.rawJSON('1e400'), []],
  ['members of a map', { additionalProperties: { type: 'string' } }, { a: 1 }, ['/parameters/p/a must be a string']],
  ['a closed object', { additionalProperties: false }, { b: 1 }, ['/parameters/p/b is not a known member; remove it']],
  ['one of several', { anyOf: [{ type: 'string' }, { type: 'object', required: ['a'] }] }, { a: 1 }, []],
  [
    'none of several: the branch that fits best is told',
    { anyOf: [{ required: ['x', 'y'] }, { required: ['z'] }] },
    {},
    ['/parameters/p/z is required'],
  ],
  ['values of a list or object', { enum: [[1], { a: 1 }] }, [1], []],
])('the keywords of a nested schema are checked: %s', (_, schema, value, problems) => {
  expect(find(schema, value)).toEqual(problems);
});

const many = (length: number, schema: NestedSchema): NestedSchema => ({
  anyOf: Array.from({ length: 100 }, () => ({ anyOf: Array.from({ length: length / 100 }, () => schema) })),
});
const names = Array.from({ length: 1_000 }, (_, at) => `r${at}`);
const members = Object.fromEntries(Array.from({ length: 40_000 }, (_, at) => [`k${at.toString(36)}`, 1]));

test.each<[string, NestedSchema, unknown]>([
  ['the length of a long text', many(900, { minLength: 300_000 }), 'x'.repeat(250_000)],
  ['a long list among lists', many(900, { enum: [[1]] }), Array.from({ length: 120_000 }, () => 1)],
  ['a long number', many(800, { type: 'integer', minimum: 1e300 }), JSON.rawJSON('1'.repeat(250_000))],
  ['many members', many(800, { properties: { a: {} } }), members],
  ['many members of maps', many(300, { additionalProperties: { type: 'string' } }), members],
  ['many items', many(600, { items: { minLength: 1 } }), Array.from({ length: 120_000 }, () => 1)],
  ['a long name', many(300, { additionalProperties: { items: { type: 'string' } } }), { ['n'.repeat(250_000)]: names }],
  ['many that are required', { items: { anyOf: [{ required: names }, {}] } }, Array.from({ length: 80_000 }, () => ({}))],
])('the check of a nested value takes a bounded time: %s', (_, schema, value) => {
  const startedMs = performance.now();
  find(schema, value);
  // a fifth of a second outside of tests; without a bound, up to minutes
  expect(performance.now() - startedMs).toBeLessThan(5_000);
});

test('one bound applies to the checks of all inputs of a request', () => {
  const schemas: NestedSchema[] = [{ anyOf: Array.from({ length: 20 }, () => ({ minLength: 1 })) }, { type: 'string' }];
  const definitions = schemas.map((schema, at) => ({ name: `p${at}`, type: 'any' as const, schema }));
  const check = (long: string) => compileParameters(definitions)({ p0: long, p1: 1 });
  expect(check('x'.repeat(100_000))).toEqual({ issues: [{ path: '/parameters/p1', problem: 'must be a string' }] });
  expect(check('x'.repeat(250_000))).toMatchObject({ values: { p1: 1 } });
});

test('a refusal names a bounded number of places, and none by a long name', () => {
  const ones = Array.from({ length: 5_000 }, () => 1);
  expect(find({ items: { type: 'string' } }, ones)).toHaveLength(20);
  expect(find({ additionalProperties: { items: { type: 'string' } } }, { ['n'.repeat(201)]: [1], n: [1] })).toEqual([
    '/parameters/p must be a string',
    '/parameters/p/n/0 must be a string',
  ]);
});

test('a mistake in a schema is reported when it is registered', () => {
  const schema: NestedSchema = { properties: { 'a/b': { items: { pattern: '(?=x)' } } }, anyOf: [{ pattern: '(' }, { $ref: '#/$defs/b' }] };
  const check = (schema: NestedSchema) =>
    checkDefinitions({ input_parameters: [{ name: 'p', type: 'object', schema }], output_parameters: [] }).map(({ path }) => path);
  expect(check(schema)).toEqual([
    '/input_parameters/0/schema/properties/a~1b/items/pattern',
    '/input_parameters/0/schema/anyOf/0/pattern',
    '/input_parameters/0/schema/anyOf/1/$ref',
  ]);
  expect(check({ properties: { $ref: {} } })).toEqual([]);
  expect(checkDefinitions({ input_parameters: [], output_parameters: [{ name: 'p', type: 'object', schema: {} }] })).toEqual([
    { path: '/output_parameters/0/schema', problem: 'must be left out, because an output is part of the answer' },
  ]);
  const large = { name: 'p', type: 'object', schema: { description: 'x'.repeat(3_900) } } as const;
  const result = parameters.safeParse(['a', 'b', 'c', 'd', 'e'].map((name) => ({ ...large, name })));
  expect(result.error?.issues.map(({ message }) => message)).toEqual(['must have schemas of at most 16384 bytes together']);
});
