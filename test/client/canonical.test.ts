import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { digestOf, toCanonicalJson } from '../../client/canonical.ts';
import { canonicalDigest, canonicalText } from '../../schemas/canonical.ts';

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
  // names that are whole numbers, which objects put in another order
  [{ 9: 1, 10: 2 }, '{"10":2,"9":1}'],
  // section 3.2.3: by UTF-16 code units, not by code points
  [{ '\u{1f600}': 1, '\ufb33': 2 }, '{"\u{1f600}":1,"\ufb33":2}'],
  [[1e21, 0.000001, -0, 1.0], '[1e+21,0.000001,0,1]'],
])('%j', (value, text) => {
  expect(toCanonicalJson(value)).toBe(text);
  expect(canonicalText(value)).toBe(text);
});
