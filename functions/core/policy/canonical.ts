import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { JsonValue } from '../json.ts';

/** The canonical form of a JSON value (RFC 8785): equal values have equal texts. */
export const canonicalText = (value: unknown): string => canonicalize(value) ?? '';

/** SHA-256 of the canonical form, base64url. */
export const canonicalDigest = (value: unknown): string => createHash('sha256').update(canonicalText(value)).digest('base64url');

/** JSON with `", "` and `": "` between its parts: what Python's `json.dumps` makes of a parsed policy, but for its escapes. */
function spacedText(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(spacedText).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([name, member]) => `${JSON.stringify(name)}: ${spacedText(member)}`)
    .join(', ')}}`;
}

const escapeNonAscii = (text: string): string =>
  text.replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);

/**
 * The texts of one policy that agents sign: as it was sent, in canonical form, and as Python's `json.dumps` writes it
 * (with and without `ensure_ascii`). All say the same, so a signature over any of them is consent to it.
 */
export function signableTexts(policy: JsonValue): string[] {
  const spaced = spacedText(policy);
  return [...new Set([JSON.stringify(policy), canonicalText(policy), spaced, escapeNonAscii(spaced)])];
}
