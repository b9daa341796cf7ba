import { describe, expect, test } from '@jest/globals';
import canonicalize from 'canonicalize';
import fc from 'fast-check';
import { canonicalText } from '../../schemas/canonical.ts';
import {
  canonicalNumber,
  compareNumbers,
  isNumeric,
  isRawNumber,
  isWhole,
  type Numeric,
  parseExact,
  toDouble,
} from '../../schemas/number.ts';

const read = (text: string) => parseExact(text) as Numeric;

describe('digits', () => {
  test('numbers keep the digits that double precision loses', () => {
    for (const text of ['9007199254740993', '0.1234567890123456789', '1.10', '1.0', '1e400', '1E+2', '-0', '1e-400', '9'.repeat(1000)]) {
      expect([isRawNumber(read(text)), isNumeric(read(text))]).toEqual([true, true]);
      expect(JSON.stringify({ a: [read(text)] })).toBe(`{"a":[${text}]}`);
    }
  });

  test.each(['0', '1', '-1.5', '1e+21', '1e-7', '9007199254740991', '0.1'])('%s is a number', (text) => {
    expect(read(text)).toBe(Number(text));
  });

  test('numbers keep every digit however they are written', () => {
    const digits = fc.stringMatching(/^[0-9]{1,30}$/);
    const number = fc
      .record({
        whole: fc.stringMatching(/^-?(0|[1-9][0-9]{0,30})$/),
        fraction: fc.option(digits),
        power: fc.option(fc.stringMatching(/^[eE][+-]?[0-9]{1,4}$/)),
      })
      .map(({ whole, fraction, power }) => `${whole}${fraction === null ? '' : `.${fraction}`}${power ?? ''}`);
    fc.assert(
      fc.property(fc.array(number), (numbers) => {
        const text = `{"a":[${numbers.join(',')}]}`;
        expect(JSON.stringify(parseExact(text))).toBe(text);
        expect(numbers.map((one) => compareNumbers(read(one), read(one)))).toEqual(numbers.map(() => 0));
      }),
    );
  });

  test('an object that looks like a number is none', () => {
    expect(isNumeric(JSON.parse('{"rawJSON":"1"}'))).toBe(false);
    expect(canonicalText(parseExact('[{"rawJSON":"1.0"}]'))).not.toBe(canonicalText(parseExact('[1.0]')));
  });
});

describe('comparisons', () => {
  const ordered = [
    ...[`-1e${'9'.repeat(1_001)}`, `-1e${'9'.repeat(1_000)}`, '-1e1000000000000000000000', '-1e400', '-9007199254740993'],
    ...['-9007199254740992', '-1.5', '-1e-400', '0', `1e-${'9'.repeat(1_001)}`, `1e-${'9'.repeat(1_000)}`, '1e-401', '1e-400', '0.1'],
    ...['0.10000000000000000000001', '1', '1.00000000000000000001', '2', '9007199254740992', '9007199254740993', '9007199254740994'],
    ...['1e400', '1.1e400', '1e401'],
  ];
  test('numbers are ordered exactly', () => {
    for (const [at, left] of ordered.entries())
      for (const [other, right] of ordered.entries())
        expect([left, right, Math.sign(compareNumbers(read(left), read(right)))]).toEqual([left, right, Math.sign(at - other)]);
  });

  test.each([
    ['1.0', '1'],
    ['1e2', '100'],
    ['0.10', '0.1'],
    ['-0', '0'],
    ['0e5', '0.000'],
    ['100000e-2', '1e3'],
    ['1.5e400', '15e399'],
    ['9007199254740993.0', '9007199254740993'],
    ['900719925474099300e-2', '9007199254740993'],
    [`1e${'0'.repeat(2_000)}400`, '1e400'],
    [`1e+${'0'.repeat(2_000)}`, '1'],
  ])('the numbers %s and %s are equal', (left, right) => {
    expect(compareNumbers(read(left), read(right))).toBe(0);
    expect(canonicalNumber(read(left))).toBe(canonicalNumber(read(right)));
  });

  test('numbers are whole or not by their exact value', () => {
    const whole = ['1.0', '1e400', '9007199254740993', '10e-1', '0.0'];
    const fractions = ['9007199254740993.5', '1e-1', '1e-400'];
    expect([...whole, ...fractions].filter((text) => isWhole(read(text)))).toEqual(whole);
  });

  test('a double that would be rounded is not an exact number', () => {
    expect(['1.10', '9007199254740992'].map((text) => toDouble(read(text)))).toEqual([1.1, 9007199254740992]);
    for (const text of ['9007199254740993', '1e400', '0.1234567890123456789']) expect(toDouble(read(text))).toBeUndefined();
  });

  test('a million digits, and a power of a million digits, take no time', () => {
    const zeros = `${'10'.repeat(500_000)}.${'0'.repeat(500_000)}1`;
    const startedMs = performance.now();
    expect(compareNumbers(read(zeros), read(`${zeros}0`))).toBe(0);
    expect(isWhole(read(zeros))).toBe(false);
    const power = '9'.repeat(1_000_000);
    for (let times = 0; times < 10; times++) {
      expect([`1e${power}`, `1e-${power}`].map((text) => compareNumbers(read(text), 1))).toEqual([1, -1]);
      expect(isWhole(read(`1e-${power}`))).toBe(false);
      expect(canonicalNumber(read(`1e${power}`)) === canonicalNumber(read(`1e${power}9`))).toBe(false);
    }
    expect(performance.now() - startedMs).toBeLessThan(10_000);
  });
});

test('the canonical form is that of RFC 8785, and different numbers have different ones', () => {
  fc.assert(
    fc.property(fc.jsonValue({ noUnicodeString: false }), (value) => {
      expect(canonicalText(value)).toBe(canonicalize(value));
    }),
  );
  expect(canonicalText(undefined)).toBe('');
  expect(canonicalText({ b: undefined, a: [undefined, { '10': 1, '9': 2, é: 3 }] })).toBe('{"a":[null,{"10":1,"9":2,"é":3}]}');
  expect(canonicalText(parseExact('[9007199254740993,9007199254740992,1.0,1e400]'))).toBe('[9007199254740993e0,9007199254740992,1,1e400]');
});

test('where numbers have no text, as in older browsers, they are rounded', () => {
  const { parse, isRawJSON } = JSON;
  try {
    Object.assign(JSON, {
      isRawJSON: undefined,
      parse: (text: string, reviver: (name: string, value: unknown) => unknown) => parse(text, (name, value) => reviver(name, value)),
    });
    expect(parseExact('[1.10, 2]')).toEqual([1.1, 2]);
    expect(isRawNumber({ rawJSON: '1' })).toBe(false);
  } finally {
    Object.assign(JSON, { parse, isRawJSON });
  }
});
