import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { checkOutput, compileParameters, type NullRule } from '../../../../functions/core/parameters/compile.ts';
import { type Numeric, parseExact } from '../../../../schemas/number.ts';
import { type NestedSchema, type Parameter, parameterTypes } from '../../../../schemas/parameter.ts';

/** The problems that one value has as the value of a parameter `p`. */
function problems(definition: Partial<Parameter>, value: unknown): string[] {
  const { issues = [] } = compileParameters([{ name: 'p', type: 'any', ...definition }])({ p: value });
  for (const { path } of issues) expect(path).toBe('/parameters/p');
  return issues.map(({ problem }) => problem);
}

const integer = 'must be an integer';

describe('types', () => {
  test.each<[Parameter['type'], unknown, string]>([
    ['string', 1, 'must be a string'],
    ['number', '1', 'must be a number'],
    ['integer', '1', integer],
    ['integer', 1.5, integer],
    ['integer', parseExact('9007199254740993.5'), integer],
    ['integer', parseExact('1e-400'), integer],
    ['object', parseExact('1.0'), 'must be an object'],
    ['string', parseExact('1.0'), 'must be a string'],
    ['boolean', 'true', 'must be true or false'],
    ['array', {}, 'must be an array'],
    ['object', [], 'must be an object'],
    ['null', false, 'must be null'],
  ])('types are never coerced: %s does not take %j', (type, value, problem) => {
    expect(problems({ type, required: true }, value)).toEqual([problem]);
  });

  test.each<[Parameter['type'], unknown]>([
    ['string', ''],
    ['number', -0.5],
    ['integer', JSON.parse('1.0')],
    ['integer', JSON.parse('1e3')],
    ['integer', parseExact('9007199254740993')],
    ['integer', parseExact('1e400')],
    ['number', parseExact('0.1234567890123456789')],
    ['any', parseExact('1.10')],
    ['boolean', false],
    ['array', []],
    ['object', {}],
    ['null', null],
    ['any', null],
    ['any', [1]],
  ])('the type %s takes %j', (type, value) => {
    expect(compileParameters([{ name: 'p', type }])({ p: value })).toEqual({ values: { p: value } });
  });
});

describe('null for a parameter', () => {
  const given = (definition: Partial<Parameter>) => compileParameters([{ name: 'p', type: 'string', ...definition }])({ p: null });

  test.each<[string, Partial<Parameter>, object]>([
    ['that is optional means that it was left out', {}, {}],
    ['that is optional and has constraints, too', { enum: ['a'], minLength: 1, format: 'date' }, {}],
    ['with a default means the default', { default: 'a' }, { p: 'a' }],
    ['of any type is a value', { type: 'any' }, { p: null }],
    ['of type null is a value', { type: 'null' }, { p: null }],
    ['whose schema allows null is a value', { default: 'a', enum: ['a'], schema: { type: ['string', 'null'] } }, { p: null }],
    ['that is required is one, too', { required: true, format: 'date', schema: { type: ['string', 'null'] } }, { p: null }],
  ])('null for a parameter %s', (_, definition, values) => {
    expect(given(definition)).toEqual({ values });
  });

  test.each<[NullRule, object]>([
    ['left out', { required: null }],
    ['value if allowed', { nullable: null, any: null, required: null }],
    ['value', { text: null, nullable: null, any: null, some: null, required: null }],
  ])('null for a parameter is sent, if null is a %s, for these parameters alone', (rule, values) => {
    const definitions: Parameter[] = [
      { name: 'text', type: 'string', enum: ['a'] },
      { name: 'nullable', type: 'string', schema: { type: ['string', 'null'] } },
      { name: 'any', type: 'any' },
      { name: 'some', type: 'any', schema: { type: ['string', 'integer'] } },
      { name: 'required', type: 'any', required: true },
    ];
    const nulls = Object.fromEntries(definitions.map(({ name }) => [name, null]));
    expect(compileParameters(definitions, () => rule)(nulls)).toEqual({ values });
  });

  test('an empty text that an optional parameter does not take is refused with the way out', () => {
    const given = { pattern: '^[a-z]{2}$' };
    const problem = 'must match the pattern ^[a-z]{2}$ and have at most 16384 characters';
    expect(problems(given, '')).toEqual([`${problem}, or be left out`]);
    expect(problems({ ...given, required: true }, '')).toEqual([problem]);
    expect(problems(given, 'A')).toEqual([problem]);
  });
});

test.each<[Partial<Parameter>, string, string]>([
  [{ type: 'integer' }, '1.0', '1'],
  [{ type: 'integer' }, '2e3', '2000'],
  [{ type: 'integer', default: parseExact('1e2') }, '', '100'],
  [{ type: 'integer' }, '9007199254740993', '9007199254740993'],
  [{ type: 'number' }, '1.10', '1.10'],
  [{ type: 'number', enum: [1.1] }, '1.10', '1.10'],
  [{ default: parseExact('[9007199254740993,1.10]') }, '', '[9007199254740993,1.10]'],
])('numbers keep every digit, and an integer is sent as one: %j of %s', (definition, text, sent) => {
  const given = text === '' ? {} : { p: parseExact(text) };
  expect(JSON.stringify(compileParameters([{ name: 'p', type: 'any', ...definition }])(given).values?.p)).toBe(sent);
});

const wholes: NestedSchema = { type: 'array', items: { type: 'integer' } };

test.each<[string, NestedSchema, string, string]>([
  ['in a list', wholes, '[1.0,2,3e2]', '[1,2,300]'],
  [
    'in an object',
    { properties: { n: { type: 'integer' }, x: { type: 'number' } } },
    '{"n":2.0,"x":2.0,"y":2.0}',
    '{"n":2,"x":2.0,"y":2.0}',
  ],
  ['deep inside', { items: { properties: { list: { items: wholes } } } }, '[{"list":[[2.0],[]]},{},7.0]', '[{"list":[[2],[]]},{},7.0]'],
  ['in a map', { additionalProperties: { type: 'integer' }, properties: { x: {} } }, '{"a":-2.0,"x":1.0}', '{"a":-2,"x":1.0}'],
  ['beside null or text', { items: { type: ['null', 'integer', 'string'] } }, '[1.0,null,"1.0"]', '[1,null,"1.0"]'],
  ['in a branch', { items: { anyOf: [{ type: 'integer' }, wholes, { type: 'string' }] } }, '[1.0,[2.0],"3.0"]', '[1,[2],"3.0"]'],
  ['of the whole value', { type: ['integer', 'string'] }, '2.0', '2'],
  ['where fractions are allowed', { items: { type: ['integer', 'number'] } }, '[2.0,1.50]', '[2.0,1.50]'],
  ['beyond doubles', wholes, '[9007199254740993.0,1e22,-0.0]', '[9007199254740993,10000000000000000000000,0]'],
  ['with too many zeros', wholes, '[1e101]', '[1e101]'],
])('an integer loses its fraction of zeros and its exponent %s', (_, schema, text, sent) => {
  const { values } = compileParameters([{ name: 'p', type: 'any', schema }])({ p: parseExact(text) });
  expect(JSON.stringify(values?.p)).toBe(sent);
});

describe('keywords', () => {
  test.each<[Partial<Parameter>, unknown, string]>([
    [{ minimum: 1 }, 0.999, 'must be at least 1'],
    [{ maximum: 1 }, 1.001, 'must be at most 1'],
    [{ minimum: parseExact('9007199254740993') as Numeric }, 2 ** 53, 'must be at least 9007199254740993'],
    [{ maximum: 2 ** 53 }, parseExact('9007199254740993'), 'must be at most 9007199254740992'],
    [{ maximum: 1 }, parseExact('1.00000000000000000001'), 'must be at most 1'],
    [{ maximum: 1 }, parseExact('1e400'), 'must be at most 1'],
    [{ enum: [2 ** 53] }, parseExact('9007199254740993'), 'must be one of 9007199254740992'],
    [{ minLength: 2 }, '😀', 'must have at least 2 characters'],
    [{ maxLength: 2 }, '😀😀😀', 'must have at most 2 characters'],
    [{ pattern: '^a+$' }, 'ab', 'must match the pattern ^a+$ and have at most 16384 characters'],
    [{ pattern: 'a' }, 'a'.repeat(16_385), 'must match the pattern a and have at most 16384 characters'],
    [{ format: 'date' }, '2026-02-30', 'must be a date such as 2026-02-28'],
    [{ enum: ['b', 'a'] }, 'c', 'must be one of "b", "a"'],
    [{ enum: [1] }, '1', 'must be one of 1'],
    [{ enum: [parseExact('9007199254740993'), parseExact('1.50')] }, 2, 'must be one of 9007199254740993, 1.50'],
    [{ enum: [{ a: 1, b: [2] }] }, { a: 1, b: [3] }, 'must be one of {"a":1,"b":[2]}'],
    [{ enum: ['\u00e9'] }, 'e\u0301', 'must be one of "\u00e9"'],
    [{ enum: Array.from({ length: 12 }, (_, index) => index) }, 12, 'must be one of 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and others'],
  ])('the keywords %j refuse %j', (definition, value, problem) => {
    expect(problems(definition, value)).toEqual([problem]);
  });

  test.each<[Partial<Parameter>, unknown]>([
    [{ minimum: 1, maximum: 1 }, 1],
    [{ minLength: 2, maxLength: 2 }, '😀😀'],
    [{ pattern: 'b' }, 'abc'],
    [{ enum: [{ a: 1, b: [2] }] }, { b: [2], a: 1 }],
    [{ enum: [0] }, -0],
    [{ enum: [null] }, null],
    [{ minimum: 5, maxLength: 0, pattern: 'x' }, true],
  ])('the keywords %j accept %j', (definition, value) => {
    expect(problems(definition, value)).toEqual([]);
  });
});

describe('issues and defaults', () => {
  const validate = compileParameters([
    { name: 'city', type: 'string', required: true, minLength: 3, pattern: '^[A-Z]' },
    { name: 'days', type: 'integer', required: true },
    { name: 'unit', type: 'string', enum: ['metric', 'imperial'], default: 'metric' },
    { name: 'a/b~c', type: 'boolean' },
  ]);

  test('every issue is named by its pointer, and nothing that was given is quoted', () => {
    expect(validate({ city: 'ä', 'a/b~c': 'secret', town: 'secret' })).toEqual({
      issues: [
        { path: '/parameters/town', problem: 'is not a parameter of this intent; remove it' },
        { path: '/parameters/city', problem: 'must have at least 3 characters' },
        { path: '/parameters/city', problem: 'must match the pattern ^[A-Z] and have at most 16384 characters' },
        { path: '/parameters/days', problem: `is required and ${integer}` },
        { path: '/parameters/a~1b~0c', problem: 'must be true or false' },
      ],
    });
  });

  test('defaults fill in for absent parameters', () => {
    expect(validate({ city: 'Ulm', days: 1 })).toEqual({ values: { city: 'Ulm', days: 1, unit: 'metric' } });
  });

  test('a default is a new value each time', () => {
    const given = compileParameters([{ name: 'list', type: 'array', default: [1] }]);
    const first = given({}).values?.list as number[];
    first.push(2);
    expect(given({})).toEqual({ values: { list: [1] } });
  });

  test('fifteen costly patterns on long texts do not cost more than one', () => {
    const pattern = '(?:.{0,40}a){25}[0-9]';
    const definitions = Array.from({ length: 15 }, (_, index): Parameter => ({ name: `p${index}`, type: 'string', pattern }));
    const given = Object.fromEntries(definitions.map(({ name }) => [name, 'b'.repeat(16_000)]));
    const { issues = [] } = compileParameters(definitions)(given);
    const problem = `must be shorter, because matching the pattern ${pattern} takes too long`;
    expect(issues.filter((issue) => issue.problem === problem).length).toBeGreaterThanOrEqual(14);
    const short = Object.fromEntries(definitions.map(({ name }) => [name, 'bba'.repeat(25).concat('1')]));
    expect(compileParameters(definitions)(short)).toEqual({ values: short });
  });

  test('an endless name is not repeated', () => {
    expect(compileParameters([])({ ['x'.repeat(201)]: 1 })).toEqual({
      issues: [{ path: '/parameters', problem: 'contains an unknown member whose name has more than 200 characters; remove it' }],
    });
  });
});

test.each(['toString', 'constructor'])('%s of Object.prototype is neither given nor answered', (name) => {
  const definitions: Parameter[] = [{ name, type: 'any', required: true }];
  const validate = compileParameters(definitions);
  expect(validate({})).toEqual({ issues: [{ path: `/parameters/${name}`, problem: 'is required and must be a value' }] });
  expect(validate({ [name]: 1 })).toEqual({ values: { [name]: 1 } });
  expect(compileParameters([])({ [name]: 1 }).issues).toHaveLength(1);
  expect(checkOutput(definitions, {})).toHaveLength(1);
});

test('whatever is given, the outcome is values with the right names, or issues', () => {
  const definitions = fc.uniqueArray(
    fc.record({
      name: fc.string({ minLength: 1, maxLength: 5 }).filter((name) => name !== '__proto__'),
      type: fc.constantFrom(...parameterTypes),
      required: fc.boolean(),
    }),
    { selector: ({ name }) => name, maxLength: 5 },
  );
  fc.assert(
    fc.property(definitions, fc.dictionary(fc.string({ maxLength: 5 }), fc.jsonValue()), (parameters, given) => {
      const { values, issues } = compileParameters(parameters)(given);
      if (values === undefined) expect(issues?.length).toBeGreaterThan(0);
      else expect(values).toEqual(given);
    }),
  );
});
