import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { parseJson, stringifyJson } from '../../client/json.ts';

test('integers keep every digit, in both directions', () => {
  const text =
    '{"id":9007199254740993,"list":[-12345678901234567890,1,9007199254740991],"price":1.5,"text":"9007199254740993 \\" 9007199254740993"}';
  const value = parseJson(text);
  expect(value).toEqual({
    id: 9007199254740993n,
    list: [-12345678901234567890n, 1, 9007199254740991],
    price: 1.5,
    text: '9007199254740993 " 9007199254740993',
  });
  expect(stringifyJson(value)).toBe(text);
});

test.each<[unknown, string]>([
  [{ parameters: { 'a/b': [1, { c: Number.NaN }] } }, '/parameters/a~1b/1/c is NaN, which JSON cannot represent'],
  [-Infinity, 'the value is -Infinity, which JSON cannot represent'],
])('what would become null is refused', (value, message) => {
  expect(() => stringifyJson(value)).toThrow(new TypeError(message));
});

/** Integers to which a double may have been rounded: below 1e21, `JSON.stringify` writes all their digits. */
const toExact = (_: string, member: unknown) =>
  typeof member === 'number' && !Number.isSafeInteger(member) && /^-?\d+$/.test(String(member)) ? BigInt(String(member)) : member;

test('everything else is read and written as by JSON.parse and JSON.stringify', () => {
  const value = fc.oneof(fc.jsonValue(), fc.dictionary(fc.constantFrom('a', '__proto__', '1234567890123456'), fc.jsonValue()));
  fc.assert(
    fc.property(value, (given) => {
      const text = JSON.stringify(given);
      // long digits in the text select the slower path
      expect(parseJson(`[${text},"1234567890123456"]`)).toEqual([JSON.parse(text, toExact), '1234567890123456']);
      expect(stringifyJson(given)).toBe(text);
    }),
    { examples: [[9007199254740992], [-1e20], [1e21]] },
  );
  expect(parseJson('[1234567890123456.5,1e22,12345678901234567e1]')).toEqual([1234567890123456.5, 1e22, Number('12345678901234567e1')]);
  expect(() => parseJson('{"a":12345678901234567')).toThrow(SyntaxError);
});
