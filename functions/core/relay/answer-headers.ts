import type { Issue } from '../../../schemas/errors.ts';
import type { Intent } from '../../../schemas/intent.ts';
import type { UpstreamAnswer } from './call.ts';
import { staysEncoded } from './content-coding.ts';
import type { Cut } from './cut.ts';

/** Longest value of a header field, in bytes. */
const maxFieldBytes = 1_024;

/** Longest header fields of an answer together, in bytes. */
const maxHeadBytes = 4_096;

const prefix = 'Upstream-';

/** Header fields that every caller gets, unless `fields` limits what may leave the gate. */
const usualNames = ['Location', 'Link', 'ETag', 'Operation-Location'];

export type Head = Pick<Intent, 'fields'> & { endpoint?: Intent['endpoint'] };

/** The header fields of answers that may leave the gate. */
const namesOf = ({ fields, endpoint }: Head): string[] => {
  const names = [...(fields === undefined ? usualNames : []), ...(endpoint?.response_headers ?? [])];
  return [...new Map(names.toReversed().map((name) => [name.toLowerCase(), name])).values()].reverse();
};

/**
 * The head of an answer: `Upstream-Status`, and as `Upstream-<name>` the header fields that may leave the gate. `Upstream-Cut` names those that are too long
 * and were left out, or in the case of `Link` shortened. Bytes beyond ASCII are percent-encoded.
 */
export function describeHead({ status, headers, redactor }: UpstreamAnswer, intent: Head): Record<string, string> {
  const head: Record<string, string> = { [`${prefix}Status`]: String(status) };
  const cut: string[] = [];
  let left = maxHeadBytes;
  for (const name of [...(staysEncoded(headers['content-encoding']) ? ['Content-Encoding'] : []), ...namesOf(intent)]) {
    const field = Object.hasOwn(headers, name.toLowerCase()) ? headers[name.toLowerCase()] : undefined;
    if (field === undefined) continue;
    const whole = toVisible(redactor.hideBytes(Buffer.from(String(field), 'latin1')).toString('latin1'));
    const value = keepFitting(name, whole, Math.min(maxFieldBytes, left - prefix.length - name.length));
    if (value !== whole) cut.push(name);
    if (value === '') continue;
    head[prefix + name] = value;
    left -= prefix.length + name.length + value.length;
  }
  return { ...head, ...(cut.length > 0 && { [`${prefix}Cut`]: joinFitting(cut, Math.min(maxFieldBytes, left - `${prefix}Cut`.length)) }) };
}

const toVisible = (value: string): string =>
  value
    .replace(/[\x80-\xff]/g, (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase()}`)
    .replace(/[^\x20-\x7e]+/g, ' ')
    .trim();

/** A value if it fits, or of `Link` the links that do, the next page first (RFC 8288). */
function keepFitting(name: string, value: string, maxLength: number): string {
  if (value.length <= maxLength) return value;
  if (name.toLowerCase() !== 'link') return '';
  const next = /\brel="?[^";]*\bnext\b/i;
  return value
    .split(/,\s*(?=<)/)
    .sort((one, other) => Number(next.test(other)) - Number(next.test(one)))
    .reduce((kept, link) => {
      const longer = kept === '' ? link : `${kept}, ${link}`;
      return longer.length <= maxLength ? longer : kept;
    }, '');
}

/** The header fields of a stored answer, without those that may no longer leave the gate. Those of an intent that is gone are kept. */
export function narrowHead(headers: Record<string, string>, intent: Head): Record<string, string> {
  if (intent.endpoint === undefined && intent.fields === undefined) return headers;
  const allowed = ['Status', 'Cut', 'Content-Encoding', ...namesOf(intent)].map((name) => (prefix + name).toLowerCase());
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith(prefix) || allowed.includes(name.toLowerCase())));
}

/** A JSON pointer in visible ASCII. Other characters, commas, quotation marks and percent signs are percent-encoded. */
const toField = (pointer: string): string => pointer.replace(/[^\x21-\x24\x26-\x2b\x2d-\x7e]|["\\]/gu, encodeURIComponent);

/** `Answer-Issues`: JSON pointers to mismatches with the output_parameters, separated by commas; ends with `...` if some do not fit. */
export function describeIssues(issues: readonly Issue[]): { 'Answer-Issues': string } {
  return { 'Answer-Issues': joinFitting([...new Set(issues.map(({ path }) => toField(path)))]) };
}

/** `Answer-Missing`: the requested JSON pointers that select nothing, in the form of `Answer-Issues`. */
export const describeMissing = (pointers: readonly string[]): Record<string, string> =>
  pointers.length > 0 ? { 'Answer-Missing': joinFitting(pointers.map(toField)) } : {};

/** Joins items, or those that fit and `...` */
function joinFitting(items: readonly string[], maxLength = maxFieldBytes): string {
  let field = items.join(', ');
  for (let count = items.length - 1; field.length > maxLength && count >= 0; count--) field = [...items.slice(0, count), '...'].join(', ');
  return field;
}

/** `Answer-Cut`: where an answer was cut, and the total number of items or members (a dictionary of RFC 9651). */
export const describeCut = ({ at, total }: Cut): { 'Answer-Cut': string } => ({ 'Answer-Cut': `at="${toField(at)}", total=${total}` });
