import { canonicalText } from '../../../schemas/canonical.ts';
import { isObject } from '../json/json.ts';

/** Python's spelling of a number from our JSON: fractions below 0.0001 have an exponent of at least two digits. */
function pythonNumber(value: number): string {
  const text = JSON.stringify(value);
  const isFraction = /[.e]/.test(text);
  return isFraction && Math.abs(value) < 1e-4 ? value.toExponential().replace(/e-(\d)$/, 'e-0$1') : text;
}

/** A replacer for `sort_keys=True`: Python sorts names by code point. */
function sortMembers(_name: string, value: unknown): unknown {
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([left], [right]) => Buffer.compare(Buffer.from(left), Buffer.from(right))));
}

/** `json.dumps(policy, ensure_ascii=False, indent=indent)` */
const indented = (policy: unknown, indent: number): string =>
  JSON.stringify(policy, (_name, value) => (typeof value === 'number' ? JSON.rawJSON(pythonNumber(value)) : value), indent);

/** `separators=(comma, colon)`: an indented text on one line. */
const onOneLine = (text: string, comma: string, colon: string): string =>
  text
    .replace(/^( *"(?:[^"\\]|\\.)*"): /gm, `$1${colon}`)
    .replace(/,\n */g, comma)
    .replace(/\n */g, '');

function pythonTexts(policy: unknown): string[] {
  const lines = indented(policy, 2);
  const joined = [', ', ','].flatMap((comma) => [': ', ':'].map((colon) => onOneLine(lines, comma, colon)));
  return [...joined, lines, indented(policy, 4)];
}

const escapeNonAscii = (text: string): string =>
  text.replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);

/**
 * The texts of a policy that agents may sign: as it was sent, in canonical form, and as Python's `json.dumps` writes it (with and without `ensure_ascii`
 * and `sort_keys`, with any `separators`, and with an `indent` of 2 or 4). All have the same content, so a signature over any of them is consent.
 */
export function signableTexts(policy: unknown): string[] {
  const sorted = JSON.parse(JSON.stringify(policy, sortMembers));
  const pythons = [policy, sorted].flatMap(pythonTexts);
  return [...new Set([JSON.stringify(policy), canonicalText(policy), ...pythons, ...pythons.map(escapeNonAscii)])];
}
