/**
 * A number that JavaScript would serialise differently from its source, such as `9007199254740993`, `1.10` or `1e400`: its text, wrapped by
 * `JSON.rawJSON`. `JSON.stringify` writes that text unchanged. Every other number is a `number`, so nothing is ever rounded.
 */
export interface RawNumber {
  readonly rawJSON: string;
}

/** A number of any size and precision. */
export type Numeric = number | RawNumber;

declare global {
  interface JSON {
    rawJSON(text: string): RawNumber;
    isRawJSON?(value: unknown): value is RawNumber;
    // biome-ignore lint/suspicious/noExplicitAny: as the other declaration of JSON.parse
    parse(text: string, reviver: (name: string, value: unknown, context: { source?: string }) => unknown): any;
  }
}

/** Always false in browsers without raw JSON, which round numbers. */
export const isRawNumber = (value: unknown): value is RawNumber => JSON.isRawJSON?.(value) ?? false;

export const isNumeric = (value: unknown): value is Numeric => typeof value === 'number' || isRawNumber(value);

/** Whether JavaScript serialises a number exactly as in this JSON source. */
export const survivesRoundTrip = (source: string): boolean => String(Number(source)) === source;

export const numberText = (value: Numeric): string => (typeof value === 'number' ? JSON.stringify(value) : value.rawJSON);

/** Matches whatever may be a number that does not survive a round trip, also in strings. */
const remarkable = /(?:^|[[:,])\s*(?:-0|-?(?:\d{16}|\d+[.e]))/i;

/** Parses a JSON text so that its numbers keep every digit. @throws SyntaxError */
export const parseExact = (text: string): unknown =>
  remarkable.test(text)
    ? JSON.parse(text, (_name, value, context?: { source?: string }) =>
        typeof value === 'number' && context?.source !== undefined ? toNumeric(context.source) : value,
      )
    : // a fifth of the time and memory
      JSON.parse(text);

/** Reads a JSON number without losing a digit. */
export const toNumeric = (source: string): Numeric => (survivesRoundTrip(source) ? Number(source) : JSON.rawJSON(source));

/** Digits without zeros at either end, and the power of ten of the last: 1500 is 15 and 2. Zero has no digits. */
interface Decimal {
  isNegative: boolean;
  digits: string;
  exponent: bigint;
  /** the exponent is too long to compute with: it is beyond every other, and equal to others that are beyond */
  isBeyond: boolean;
}

/** Maximum number of digits of an exponent that is computed with: a million of them would take seconds. */
const maxPowerDigits = 1_000;

function toDecimal(value: Numeric): Decimal {
  const [, sign = '', whole = '', fraction = '', power = '0'] = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(numberText(value)) ?? [];
  const digits = whole + fraction;
  // loops, because a pattern such as /0+$/ takes quadratic time on zeros in the middle
  let start = 0;
  while (digits[start] === '0') start++;
  let end = digits.length;
  while (end > start && digits[end - 1] === '0') end--;
  if (start === end) return { isNegative: false, digits: '', exponent: 0n, isBeyond: false };
  let first = 0;
  while (/[+0-]/.test(power[first] ?? '')) first++;
  const isBeyond = power.length - first > maxPowerDigits;
  const size = isBeyond ? 10n ** BigInt(maxPowerDigits + 1) : BigInt(power.slice(first));
  const exponent = (power.startsWith('-') ? -size : size) + BigInt(digits.length - end - fraction.length);
  return { isNegative: sign === '-', digits: digits.slice(start, end), exponent, isBeyond };
}

/** Compares exactly, whatever the spelling: negative, 0 or positive. Exponents are compared up to a thousand digits. */
export function compareNumbers(left: Numeric, right: Numeric): number {
  if (typeof left === 'number' && typeof right === 'number') return Math.sign(left - right);
  const [a, b] = [toDecimal(left), toDecimal(right)];
  if (a.digits === '' || b.digits === '' || a.isNegative !== b.isNegative) return signOf(a) - signOf(b);
  // the magnitude of the first digit decides, then the digits, which have no zeros at either end
  const [aPlace, bPlace] = [a, b].map(({ digits, exponent }) => exponent + BigInt(digits.length)) as [bigint, bigint];
  const order = aPlace === bPlace ? Number(a.digits > b.digits) - Number(a.digits < b.digits) : aPlace > bPlace ? 1 : -1;
  return a.isNegative ? 0 - order : order;
}

const signOf = ({ isNegative, digits }: Decimal): number => (digits === '' ? 0 : isNegative ? -1 : 1);

/** Whether a number is an integer: 1.0 and 1e400 are. */
export const isWhole = (value: Numeric): boolean => (typeof value === 'number' ? Number.isInteger(value) : toDecimal(value).exponent >= 0n);

/** The same number as a `number`; undefined if that is not exact. */
export function toDouble(value: Numeric): number | undefined {
  if (typeof value === 'number') return value;
  const double = Number(value.rawJSON);
  return Number.isFinite(double) && compareNumbers(double, value) === 0 ? double : undefined;
}

/**
 * The same text for all spellings of a number: that of RFC 8785 if a `number` represents it exactly, else its digits and exponent. A number whose
 * exponent is too long to compute with keeps its spelling.
 */
export function canonicalNumber(value: Numeric): string {
  const double = toDouble(value);
  if (double !== undefined) return JSON.stringify(double);
  const { isNegative, digits, exponent, isBeyond } = toDecimal(value);
  return isBeyond ? numberText(value) : `${isNegative ? '-' : ''}${digits}e${exponent}`;
}

/** Highest exponent that is written as zeros. */
const maxPower = 100;

/** A whole number in digits alone, such as 1 for 1.0 and 1000 for 1e3. Fractions and numbers with more zeros keep their spelling. */
export function toWhole(value: Numeric): Numeric {
  if (!/[.e]|^-0/i.test(numberText(value))) return value;
  const { isNegative, digits, exponent } = toDecimal(value);
  if (exponent < 0n || exponent > maxPower) return value;
  return toNumeric(`${isNegative ? '-' : ''}${digits || '0'}${'0'.repeat(Number(exponent))}`);
}

/** The text of a number outside of JSON: 1e3 as 1000, because many services accept only digits for an integer. Others keep their spelling. */
export const withoutExponent = (value: Numeric): string => numberText(/e/i.test(numberText(value)) ? toWhole(value) : value);
