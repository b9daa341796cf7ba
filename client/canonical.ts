import { stringifyJson } from './json.ts';
import { sha256 } from './jws.ts';

/** The canonical form of a JSON value (RFC 8785): equal values have equal texts, whatever the order of their members. */
export function toCanonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(toCanonicalJson).join()}]`;
  if (typeof value !== 'object' || value === null) return stringifyJson(value);
  // sort() compares UTF-16 code units, as section 3.2.3 requires
  const names = Object.keys(value).sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${toCanonicalJson((value as Record<string, unknown>)[name])}`).join()}}`;
}

/** SHA-256 of the canonical form, in base64url. */
export const digestOf = (value: unknown): Promise<string> => sha256(toCanonicalJson(value));
