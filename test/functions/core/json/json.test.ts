import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import * as z from 'zod';
import { parse, parseJson, pointer } from '../../../../functions/core/json/json.ts';
import { ApiError } from '../../../../functions/core/runtime/api-error.ts';

const duplicate = 'must not contain two members with the same name in one object';
const range = 'must not contain a number beyond the range of IEEE 754 double precision';
const depth = 'must not be nested more than 32 levels deep';

function refusalOf(act: () => unknown): unknown {
  try {
    act();
  } catch (error) {
    return error;
  }
  return undefined;
}
const refusal = (text: string) => refusalOf(() => parseJson(text));
const issuesOf = (act: () => unknown) => (refusalOf(act) as ApiError).details.issues;

describe('parseJson', () => {
  test.each<{ what: string; text: string; problem: string; path?: string }>([
    { what: 'an empty text', text: '', problem: 'is not JSON: at line 1, column 1, the text ends; expected a value' },
    { what: 'a byte order mark', text: '\ufeff{}', problem: 'is not JSON: it begins with a byte order mark' },
    { what: 'NaN', text: '{"a":NaN}', problem: 'is not JSON: at line 1, column 6, expected a value' },
    { what: 'a trailing comma', text: '{"a":1,}', problem: 'is not JSON: at line 1, column 8, expected a member name in double quotes' },
    { what: 'two texts', text: '{}{}', problem: 'is not JSON: at line 1, column 3, expected the end of the text' },
    {
      what: 'a trailing comma, lines below',
      text: '{\r\n  "a": [1,\n    2,\n  ]\n}',
      problem: 'is not JSON: at line 4, column 3, expected a value',
    },
    { what: 'single quotes', text: "{'a':1}", problem: 'is not JSON: at line 1, column 2, expected a member name in double quotes or }' },
    { what: 'duplicate members', text: '{"a":1,"a":2}', problem: duplicate },
    { what: 'duplicates through escapes', text: '{"a":1,"\\u0061":2}', problem: duplicate },
    { what: 'duplicates deep inside', text: '{"x":[{"a":{},"b":[],"a":1}]}', problem: duplicate, path: '/x/0' },
    { what: 'duplicates under names that are too long to be repeated', text: `{"${'x'.repeat(300)}":{"a":1,"a":2}}`, problem: duplicate },
    { what: '__proto__', text: '{"__proto__":{"admin":true}}', problem: 'must not contain a member named __proto__' },
    {
      what: '__proto__ through escapes',
      text: '{"a":{"\\u005f_proto__":1}}',
      problem: 'must not contain a member named __proto__',
      path: '/a',
    },
    { what: '1e400', text: '{"a":1e400}', problem: range },
    { what: '33 levels', text: '['.repeat(33) + ']'.repeat(33), problem: depth },
    { what: '5,000 levels', text: `${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`, problem: depth },
    { what: 'a lone surrogate', text: '{"a":"\\ud800"}', problem: 'must not contain a lone surrogate' },
    { what: 'a lone surrogate in a name', text: '{"\\udc00":1}', problem: 'must not contain a lone surrogate' },
  ])('parseJson refuses $what', ({ text, problem, path = '' }) => {
    const error = refusal(text);
    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({ code: 'INVALID_PARAMETER', status: 400, details: { issues: [{ path, problem }] } });
  });

  test('parseJson agrees with JSON.parse on everything else', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 20 }), (text) => {
        const value = JSON.parse(text);
        fc.pre(!text.includes('__proto__'));
        expect(parseJson(text)).toEqual(value);
        expect(parseJson(JSON.stringify(value, null, 2))).toEqual(value);
      }),
    );
  });

  test('parseJson finds a place within every text that is not JSON', () => {
    fc.assert(
      fc.property(fc.json(), fc.nat(), fc.nat({ max: 3 }), fc.string({ maxLength: 3 }), (text, at, count, more) => {
        const start = at % (text.length + 1);
        const altered = text.slice(0, start) + more + text.slice(start + count);
        const error = refusal(altered) as ApiError | undefined;
        expect(error === undefined || error instanceof ApiError).toBe(true);
        const [, column, end = ''] =
          /^is not JSON: at line 1, column (\d+), (the text ends)?/.exec(
            String((error?.details.issues as { problem: string }[])?.[0]?.problem),
          ) ?? [];
        fc.pre(column !== undefined && !/[\r\n]/.test(altered));
        const place = Number(column) - 1;
        // what is before the place can be completed, so the error is not before it
        expect(place).toBeLessThanOrEqual(altered.length);
        expect(end !== '').toBe(place === altered.length);
      }),
    );
  });

  test('parseJson keeps every digit where it is to', () => {
    const text = '{"a":[9007199254740993,1.10,1e400,-0,1.5],"b":{"c":0.1234567890123456789}}';
    expect(JSON.stringify(parseJson(text, { isExact: true }))).toBe(text);
    expect(refusal('{"a":1e400}')).toBeInstanceOf(ApiError);
  });

  test('parseJson leaves prototypes alone', () => {
    parseJson('{"constructor":{"prototype":{"admin":true}}}');
    expect(({} as Record<string, unknown>).admin).toBeUndefined();
  });
});

test('pointer escapes as RFC 6901 says', () => {
  expect(pointer(['a/b', 'm~n', 0])).toBe('/a~1b/m~0n/0');
});

describe('parse', () => {
  const schema = z.strictObject({
    n: z.int().min(1),
    any: z.unknown(),
    o: z.strictObject({}).optional(),
    u: z.union([z.number(), z.string()]).optional(),
  });
  const parseText = (text: string) => parse(schema, parseJson(text, { isExact: true }));

  test('parse gives a number where the schema wants one, and every digit where it takes anything', () => {
    expect(JSON.stringify(parseText('{"n":1e1,"any":{"x":[1.10]},"u":2.0}'))).toBe('{"n":10,"any":{"x":[1.10]},"u":2}');
  });

  test.each([
    ['{"n":9007199254740993,"any":1}', '/n', 'must be a number'],
    ['{"n":1.50,"any":1}', '/n', 'must be an integer'],
    ['{"n":1,"any":1,"o":1.0}', '/o', 'must be an object'],
  ])('parse refuses %s', (text, path, problem) => {
    expect(issuesOf(() => parseText(text))).toEqual([{ path, problem }]);
  });

  test.each([
    ['20,000 unknown members', Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`unknown-${index}`, 1])), 101],
    ['one unknown member with an endless name', { ['x'.repeat(200_000)]: 1 }, 1],
    ['20,000 wrong items', { list: Array(20_000).fill('text') }, 101],
  ])('parse answers %s in brief', (_, input, count) => {
    const schema = z.strictObject({ list: z.array(z.number()).optional() });
    const issues = issuesOf(() => parse(schema, input));
    expect(issues).toHaveLength(count);
    expect(JSON.stringify(issues).length).toBeLessThan(10_000);
  });
});
