import { createHash } from 'node:crypto';
import { canonicalText } from '../../../schemas/canonical.ts';
import { isObject } from '../json.ts';

export { canonicalText };

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
  /** what stands between members and between elements */
  comma: string;
  /** what stands between a name and its value */
  colon: string;
  /** `sort_keys=True` */
  isSorted: boolean;
  /** `indent`: what each level is indented by; without it, all is on one line */
  indent?: string;
}

/** What Python's `json.dumps(..., ensure_ascii=False)` makes of a policy that it has read from our JSON. */
function pythonText(value: unknown, options: DumpOptions, level = 0): string {
  const { comma, colon, isSorted, indent } = options;
  const lineBreak = (depth: number): string => (indent === undefined ? '' : `\n${indent.repeat(depth)}`);
  const enclose = (open: string, parts: string[], close: string): string =>
    parts.length === 0 ? open + close : open + lineBreak(level + 1) + parts.join(comma + lineBreak(level + 1)) + lineBreak(level) + close;
  if (Array.isArray(value)) {
    return enclose(
      '[',
      value.map((element) => pythonText(element, options, level + 1)),
      ']',
    );
  }
  if (typeof value === 'number') return pythonNumber(value);
  if (!isObject(value)) return JSON.stringify(value);
  const members = Object.entries(value);
  const parts = (isSorted ? members.sort(byCodePoint) : members).map(
    ([name, member]) => `${JSON.stringify(name)}${colon}${pythonText(member, options, level + 1)}`,
  );
  return enclose('{', parts, '}');
}

const escapeNonAscii = (text: string): string =>
  text.replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** With any `separators` on one line; indented as most people have it, by two or four spaces. */
const layouts: Omit<DumpOptions, 'isSorted'>[] = [
  { comma: ', ', colon: ': ' },
  { comma: ',', colon: ':' },
  { comma: ',', colon: ': ' },
  { comma: ', ', colon: ':' },
  { comma: ',', colon: ': ', indent: '  ' },
  { comma: ',', colon: ': ', indent: '    ' },
];

const dumps: DumpOptions[] = layouts.flatMap((layout) => [false, true].map((isSorted) => ({ ...layout, isSorted })));

/**
 * The texts of one policy that agents sign: as it was sent, in canonical form, and as Python's `json.dumps` writes it (with and without `ensure_ascii`
 * and `sort_keys`, with any `separators`, and with an `indent` of 2 or 4). All say the same, so a signature over any of them is consent to it.
 */
export function signableTexts(policy: unknown): string[] {
  const pythons = dumps.map((options) => pythonText(policy, options));
  return [...new Set([JSON.stringify(policy), canonicalText(policy), ...pythons, ...pythons.map(escapeNonAscii)])];
}
