import { describe, expect, test } from '@jest/globals';
import { checkDefinitions } from '../../../../functions/core/parameters/definitions.ts';
import { compilePattern, countAtoms } from '../../../../functions/core/parameters/pattern.ts';
import type { Parameter } from '../../../../schemas/parameter.ts';

const check = (definition: Partial<Parameter>) =>
  checkDefinitions({
    input_parameters: [
      { name: 'first', type: 'any' },
      { name: 'p', type: 'string', ...definition },
    ],
    output_parameters: [],
  });

const ecmaScript = 'must be a regular expression as ECMAScript defines it, with the flag u';
const linear =
  'must be one that RE2 can match in linear time: no back-references, no look-around, counts of at most 1000 (nested ones multiplied), no surrogate pairs as escapes';
const large = 'is too large when its repetitions are written out; use smaller counts or minLength and maxLength';

describe('an input that is a header field', () => {
  const place = { in: 'header' } as const;
  const carried = 'must not be a header field that calls already carry or that controls the connection or the call';
  const value = 'must be 1 to 4096 visible ASCII characters and spaces between them, because it is sent as a header field';
  const like = `${value}, like every value of this parameter`;

  test.each<[Partial<Parameter>, string, string]>([
    [{ name: 'Authorization' }, '/name', "must not be Authorization, which belongs to the service's credential"],
    ...[
      ...['Cookie', 'host', 'content_length', 'Transfer-Encoding', 'Proxy-Authenticate', 'X-Forwarded-Host', 'Connection'],
      ...['TE', 'agent_key', 'Idempotency-Key', 'Signature-Input', 'Intent-Uid', 'traceparent'],
    ].map((name): [Partial<Parameter>, string, string] => [{ name }, '/name', carried]),
    [{ name: 'X Page' }, '/name', 'must be the name of a header field, for example Authorization'],
    ...(['array', 'object', 'null', 'any'] as const).map((type): [Partial<Parameter>, string, string] => [
      { name: 'X-Page', type },
      '/type',
      'must be string, number, integer or boolean for a header field',
    ]),
    [{ name: 'X-Page', default: 'a\r\nX-Admin: 1' }, '/default', like],
    [{ name: 'X-Page', enum: ['a', 'é'] }, '/enum/1', like],
  ])('an input that is a header field is refused: %j', (definition, path, problem) => {
    expect(check({ ...place, ...definition })).toEqual([{ path: `/input_parameters/1${path}`, problem }]);
  });

  test.each<Partial<Parameter>>([
    { name: 'X-Page', type: 'integer', default: 1 },
    { name: 'Accept-Language', enum: ['de', 'en'] },
    { name: 'X-Flag', type: 'boolean' },
    { name: 'X-Rate', type: 'number', default: 1e300 },
  ])('an input that is a header field is accepted: %j', (definition) => {
    expect(check({ ...place, ...definition })).toEqual([]);
  });

  test('an input that is a header field has a name of its own, and is no output', () => {
    const both = [
      { name: 'X-Page', type: 'string', ...place },
      { name: 'x_page', type: 'string', ...place },
    ] satisfies Parameter[];
    expect(checkDefinitions({ input_parameters: both, output_parameters: both.slice(0, 1) })).toEqual([
      { path: '/input_parameters/1/name', problem: 'must not repeat the name of another header field in another spelling' },
      { path: '/output_parameters/0/in', problem: 'must be left out, because an output is part of the answer' },
    ]);
  });
});

describe('patterns', () => {
  test.each<string[]>([
    [linear, '(a)\\1', '(?=a)b', '(?<=a)b', '(?<!a)b', '(?<n>a)\\k<n>', '\\ud83d\\ude00', '\\\\\\uD83D', 'a{1001}', '(a{0,30}){0,50}'],
    [large, '(a{1000}){1000}', '(abc){1000}'],
    [ecmaScript, '(', '(?P<n>a)', '\\Q.\\E'],
  ])('a pattern %s: %s', (problem, ...patterns) => {
    for (const pattern of patterns) expect(check({ pattern })).toEqual([{ path: '/input_parameters/1/pattern', problem }]);
  });

  test.each([
    ['^(a+)+$', `${'a'.repeat(16_000)}!`],
    ['(x+x+)+y', 'x'.repeat(16_000)],
    ['(.*)*(.*)*=', 'a'.repeat(16_000)],
    ['^(([a-z])+.)+[A-Z]([a-z])+$', 'a'.repeat(16_000)],
    ['[ab]*a[ab]{300}[cd]', 'ab'.repeat(8_000)],
  ])('the pattern %s cannot be made to explode', (pattern, text) => {
    expect(check({ pattern })).toEqual([]);
    expect(compilePattern(pattern).matches(text)).toBe(false);
  });

  test.each([
    ['b', 'abc', true],
    ['^b', 'abc', false],
    ['^\\u{1F600}$', '😀', true],
    ['^.$', '😀', true],
    ['^\\p{L}+$', 'Zürich', true],
    ['^\\d{4}-\\d{2}$', '2026-11', true],
    ['^[\\w.\\-]+\\/$', 'a.b-c/', true],
    ['a$', 'a\n', false],
    ['^\\\\k$', '\\k', true],
  ])('the pattern %s gives the right result for %j', (pattern, text, isMatch) => {
    expect(compilePattern(pattern).matches(text)).toBe(isMatch);
  });

  test('two hundred patterns are checked quickly, even if each would take a second to compile', () => {
    const parameters = (pattern: string) =>
      Array.from({ length: 100 }, (_, index): Parameter => ({ name: `p${index}`, type: 'string', pattern }));
    const wanted = { input_parameters: parameters('(a|b){0,200}'), output_parameters: parameters('^[a-z]{1,900}$') };
    expect(checkDefinitions(wanted)).toEqual([]);
    const huge = parameters(`(${'a'.repeat(980)}){1000}`);
    const issues = checkDefinitions({ input_parameters: huge, output_parameters: huge });
    expect(issues).toHaveLength(200);
    expect(issues[199]).toEqual({ path: '/output_parameters/99/pattern', problem: large });
  });

  test.each<[string, number]>([
    ['', 0],
    ['^abc$', 3],
    ['a*b+?c?', 3],
    ['a{3}', 3],
    ['a{2,5}b', 6],
    ['a{2,}', 2],
    ['a{0}', 1],
    ['(ab|c){10}', 30],
    ['((?:a{10}){10}(?<n>b)){10}x', 1011],
    ['[^\\]{9}]{2}\\{3\\}', 5],
    ['\\p{Lu}\\u0061\\u{1F600}\\x41\\cA\\.{2}😀', 8],
  ])('the pattern %s has %i characters and classes when written out', (pattern, count) => {
    expect(() => new RegExp(pattern, 'u')).not.toThrow();
    expect(countAtoms(pattern)).toBe(count);
  });
});

describe('definitions that contradict themselves', () => {
  const idle = (type: string) => `must be left out, because it does not apply to type ${type}`;
  const like = (problem: string) => `${problem}, like every value of this parameter`;
  test.each<{ what: string; definition: Partial<Parameter>; path: string; problem: string }>([
    {
      what: 'bounds',
      definition: { type: 'number', minimum: 2, maximum: 1 },
      path: '/minimum',
      problem: 'must not be greater than maximum',
    },
    { what: 'lengths', definition: { minLength: 2, maxLength: 1 }, path: '/minLength', problem: 'must not be greater than maxLength' },
    { what: 'minimum of text', definition: { minimum: 1 }, path: '/minimum', problem: idle('string') },
    { what: 'pattern of a number', definition: { type: 'number', pattern: 'a' }, path: '/pattern', problem: idle('number') },
    { what: 'default of another type', definition: { default: 1 }, path: '/default', problem: like('must be a string') },
    {
      what: 'default out of bounds',
      definition: { type: 'integer', maximum: 1, default: 2 },
      path: '/default',
      problem: like('must be at most 1'),
    },
    { what: 'allowed value of another type', definition: { enum: ['a', 1] }, path: '/enum/1', problem: like('must be a string') },
  ])('a definition that contradicts itself is refused: $what', ({ definition, path, problem }) => {
    expect(check(definition)).toEqual([{ path: `/input_parameters/1${path}`, problem }]);
  });

  test('a definition that makes sense is accepted', () => {
    expect(check({ minLength: 1, maxLength: 5, pattern: '^[a-z]+$', enum: ['abc', 'de'], default: 'de' })).toEqual([]);
    expect(check({ type: 'any', minimum: 1, maxLength: 5, format: 'date', default: null })).toEqual([]);
  });
});
