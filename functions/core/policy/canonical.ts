import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { isObject } from '../json.ts';

/** The canonical form of a JSON value (RFC 8785): equal values have equal texts. */
export const canonicalText = (value: unknown): string => canonicalize(value) ?? '';

/** SHA-256 of the canonical form, base64url. */
export const canonicalDigest = (value: unknown): string => createHash('sha256').update(canonicalText(value)).digest('base64url');

/** What Python writes for a number that it has read from our JSON: fractions below 0.0001 have an exponent, of at least two digits. */
function pythonNumber(value: number): string {
  const text = JSON.stringify(value);
  const isFraction = /[.e]/.test(text);
  return isFraction && Math.abs(value) < 1e-4 ? value.toExponential().replace(/e-(\d)$/, 'e-0$1') : text;
}

/** As Python sorts texts: by code point. */
function byCodePoint([left]: [string, unknown], [right]: [string, unknown]): number {
  return Buffer.compare(Buffer.from(left), Buffer.from(right));
}

interface DumpOptions {
  /** `, ` and `: ` between the parts, unless `separators` says otherwise */
  isSpaced: boolean;
  /** `sort_keys=True` */
  isSorted: boolean;
}

/** What Python's `json.dumps(..., ensure_ascii=False)` makes of a policy that it has read from our JSON. */
function pythonText(value: unknown, options: DumpOptions): string {
  const [comma, colon] = options.isSpaced ? [', ', ': '] : [',', ':'];
  if (Array.isArray(value)) return `[${value.map((element) => pythonText(element, options)).join(comma)}]`;
  if (typeof value === 'number') return pythonNumber(value);
  if (!isObject(value)) return JSON.stringify(value);
  const members = Object.entries(value);
  return `{${(options.isSorted ? members.sort(byCodePoint) : members)
    .map(([name, member]) => `${JSON.stringify(name)}${colon}${pythonText(member, options)}`)
    .join(comma)}}`;
}

const escapeNonAscii = (text: string): string =>
  text.replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);

const dumps: DumpOptions[] = [true, false].flatMap((isSpaced) => [false, true].map((isSorted) => ({ isSpaced, isSorted })));

/**
 * The texts of one policy that agents sign: as it was sent, in canonical form, and as Python's `json.dumps` writes it on one line (with and without
 * `ensure_ascii`, `sort_keys` and the spaces between its parts). All say the same, so a signature over any of them is consent to it.
 */
export function signableTexts(policy: unknown): string[] {
  const pythons = dumps.map((options) => pythonText(policy, options));
  return [...new Set([JSON.stringify(policy), canonicalText(policy), ...pythons, ...pythons.map(escapeNonAscii)])];
}
