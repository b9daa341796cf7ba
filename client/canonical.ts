import { stringifyJson } from './json.ts';
import { sha256 } from './jws.ts';

/** A JSON number as it was written. */
class Numeral {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** Sign, digits without leading and trailing zeros, and the power of ten of the last digit. */
function readDecimal(text: string): { minus: string; digits: string; power: number } {
  const [, minus = '', whole = '', fraction = '', power = '0'] = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(text) ?? [];
  const all = (whole + fraction).replace(/^0+/, '');
  // a loop, because a regular expression would take quadratic time on zeros in the middle
  let end = all.length;
  while (all[end - 1] === '0') end--;
  return {
    minus: all === '' ? '' : minus,
    digits: all.slice(0, end),
    power: all === '' ? 0 : Number(power) - fraction.length + all.length - end,
  };
}

/** The canonical spelling of a number: as in RFC 8785 if a double represents it exactly, else its digits and their power of ten, as gates write it. */
function canonicalNumber(text: string): string {
  const double = JSON.stringify(Number(text));
  const [exact, held] = [readDecimal(text), readDecimal(double)];
  const isHeld = exact.minus === held.minus && exact.digits === held.digits && exact.power === held.power;
  return isHeld ? double : `${exact.minus}${exact.digits}e${exact.power}`;
}

/**
 * The canonical form of a JSON text. Numbers keep every digit if the engine's `JSON.parse` provides source text.
 * @throws SyntaxError
 */
export const canonicalOf = (text: string): string =>
  toCanonicalJson(
    JSON.parse(text, (_name: string, value: unknown, context?: { source?: string }) =>
      typeof value === 'number' && context?.source !== undefined ? new Numeral(context.source) : value,
    ),
  );

/** The canonical form of a JSON value (RFC 8785), which is the same for equal values in any order of members. */
export function toCanonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(toCanonicalJson).join()}]`;
  if (value instanceof Numeral) return canonicalNumber(value.text);
  if (typeof value === 'bigint') return canonicalNumber(String(value));
  if (typeof value !== 'object' || value === null) return stringifyJson(value);
  // sort() compares UTF-16 code units, as section 3.2.3 requires
  const names = Object.keys(value).sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${toCanonicalJson((value as Record<string, unknown>)[name])}`).join()}}`;
}

/** SHA-256 of the canonical form, in base64url. */
export const digestOf = (value: unknown): Promise<string> => sha256(toCanonicalJson(value));
