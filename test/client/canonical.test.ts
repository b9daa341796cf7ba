import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { canonicalOf, digestOf, toCanonicalJson } from '../../client/canonical.ts';
import { canonicalDigest, canonicalText } from '../../schemas/canonical.ts';
import { parseExact } from '../../schemas/number.ts';

test('the canonical form and its digest are those of the gate', async () => {
  await fc.assert(
    fc.asyncProperty(fc.jsonValue(), async (value) => {
      expect(toCanonicalJson(value)).toBe(canonicalText(value));
      expect(await digestOf(value)).toBe(canonicalDigest(value));
    }),
  );
});

test.each<[unknown, string]>([
  [{ b: [{ y: 1, x: null }], a: 'é' }, '{"a":"é","b":[{"x":null,"y":1}]}'],
  // names that are integers, which objects reorder
  [{ 9: 1, 10: 2 }, '{"10":2,"9":1}'],
  // section 3.2.3 sorts by UTF-16 code units, not by code points
  [{ '\u{1f600}': 1, '\ufb33': 2 }, '{"\u{1f600}":1,"\ufb33":2}'],
  [[1e21, 0.000001, -0, 1.0], '[1e+21,0.000001,0,1]'],
])('the client writes %j in the canonical form', (value, text) => {
  expect(toCanonicalJson(value)).toBe(text);
  expect(canonicalText(value)).toBe(text);
});

test('numbers of any size and spelling are spelt as by the gate', () => {
  const digits = (max: number) => fc.stringMatching(new RegExp(`^[0-9]{1,${max}}$`));
  const whole = digits(25).map((text) => text.replace(/^0+(?=\d)/, ''));
  const number = fc
    .tuple(fc.constantFrom('', '-'), whole, fc.option(digits(20)), fc.option(fc.integer({ min: -400, max: 400 })))
    .map(
      ([minus, start, fraction, power]) => `${minus}${start}${fraction === null ? '' : `.${fraction}`}${power === null ? '' : `e${power}`}`,
    );
  fc.assert(
    fc.property(number, (text) => expect(canonicalOf(`{"a":[${text}]}`)).toBe(canonicalText(parseExact(`{"a":[${text}]}`)))),
    {
      numRuns: 2_000,
    },
  );
  expect(toCanonicalJson({ a: 9007199254740993n, b: 10n })).toBe(canonicalText(parseExact('{"a":9007199254740993,"b":10}')));
});
