import { isObject, type JsonObject, type JsonValue, parseJson } from '../json/json.ts';
import type { Refuse } from './refusals.ts';

/** The parts of a compact JWS (RFC 7515 section 7.1), not verified. */
export interface Jws {
  header: JsonObject;
  headerSegment: string;
  /** empty if the payload is detached */
  payloadSegment: string;
  signature: Buffer;
}

/** Decodes base64url; undefined for non-canonical spellings (padding, spare bits, other alphabets). */
export function decodeCanonical(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64url');
  return bytes.toString('base64url') === text ? bytes : undefined;
}

export function readJson(bytes: Buffer): JsonValue | undefined {
  try {
    return parseJson(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch {
    return undefined;
  }
}

/**
 * Reads a compact JWS in its canonical spelling. jose would also accept other spellings of one token, objects with duplicate members, and
 * headers with a key.
 * @throws the error of `refuse`
 */
export function readJws(text: string, what: string, refuse: Refuse): Jws {
  const [headerSegment = '', payloadSegment = '', signatureSegment = '', ...more] = text.split('.');
  const header = decodeCanonical(headerSegment);
  const signature = decodeCanonical(signatureSegment);
  if (!header?.length || !signature?.length || decodeCanonical(payloadSegment) === undefined || more.length > 0) {
    throw refuse(`The ${what} is not a compact JWS: three parts in base64url without padding, separated by dots. Sign it again.`);
  }
  const members = readJson(header);
  if (!isObject(members)) throw refuse(`The header of the ${what} must be a JSON object. Sign it again.`);
  return { header: members, headerSegment, payloadSegment, signature };
}
