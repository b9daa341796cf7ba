import { characters, foldName } from '../../../schemas/text.ts';
import type { JsonValue } from '../json/json.ts';
import { invalidSignature, type Refuse } from './refusals.ts';

export interface SingleUse {
  jti: string;
  /** when the document expires, in seconds since the epoch */
  expiresAt: number;
}

export interface FreshnessOptions {
  baseUrl: string;
  nowMs: number;
  agentId: string;
  isFreshRequired: boolean;
}

/** Maximum difference between `iat` and the gate's clock, in either direction. */
const maxAgeSeconds = 300;
const maxJtiLength = 255;

/** Maximum remaining life of a document with a `jti`, which is stored until it expires. */
const maxLifeSeconds = 24 * 3_600;

/** RFC 7519 section 2: seconds since the epoch, which may have a fraction. */
const isNumericDate = (value: JsonValue | undefined): value is number =>
  typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER;

/** RFC 7519 section 4.1.3: a single string, or a list of recipients, which must contain no other. */
const isAudience = (aud: JsonValue, expected: string): boolean =>
  Array.isArray(aud) ? aud.length === 1 && aud[0] === expected : aud === expected;

/**
 * @param what - the document's name in messages
 * @returns when the document expires, in seconds since the epoch
 */
export function checkIssuedAt(iat: JsonValue | undefined, what: string, nowMs: number, refuse: Refuse): number {
  if (!isNumericDate(iat)) throw refuse(`The iat of the ${what} must be a number of seconds since 1970. Sign it again.`);
  if (Math.abs(nowMs / 1000 - iat) > maxAgeSeconds) {
    throw refuse(`The iat of the ${what} must be within ${maxAgeSeconds} seconds of the gate's time. Set your clock, and sign it again.`);
  }
  return iat + maxAgeSeconds;
}

export function checkJti(jti: JsonValue | undefined, what: string, refuse: Refuse): string {
  if (typeof jti === 'string' && jti !== '' && characters(jti) <= maxJtiLength) return jti;
  throw refuse(
    `The jti of the ${what} must be a string of 1 to ${maxJtiLength} characters that differs for every signature. Sign it again.`,
  );
}

/**
 * Checks claims that libraries add to every JWT: they must not contradict the request.
 * @throws ApiError INVALID_SIGNATURE
 */
export function checkSigner({ iss, sub, nbf }: Record<string, JsonValue>, { agentId, nowMs }: FreshnessOptions): void {
  for (const [name, value] of Object.entries({ iss, sub })) {
    if (value === undefined || (typeof value === 'string' && foldName(value) === foldName(agentId))) continue;
    throw invalidSignature(`The ${name} of the signed policy must be the agent_id of the request, or be left out. Sign it again.`);
  }
  if (nbf !== undefined && !(isNumericDate(nbf) && nbf <= nowMs / 1000 + maxAgeSeconds)) {
    throw invalidSignature(
      'The nbf of the signed policy must be a number of seconds since 1970, not in the future, or be left out. Sign it again.',
    );
  }
}

/**
 * Checks iat, exp, aud and jti of a signed policy, as far as they are present.
 * @throws ApiError INVALID_SIGNATURE
 */
export function checkFreshness(claims: Record<string, JsonValue>, options: FreshnessOptions): SingleUse | undefined {
  const what = 'signed policy';
  const { iat, exp, aud, jti } = claims;
  if (options.isFreshRequired && [iat, exp, aud, jti].includes(undefined)) {
    throw invalidSignature(
      'The signed policy must be a JWS with the claims iat, exp, aud and jti in its header or payload. Sign it again.',
    );
  }
  const ends: number[] = [];
  if (iat !== undefined) ends.push(checkIssuedAt(iat, what, options.nowMs, invalidSignature));
  if (exp !== undefined) {
    if (!isNumericDate(exp) || exp <= options.nowMs / 1000) {
      throw invalidSignature(
        `The exp of the ${what} must be a number of seconds since 1970, and not yet past. Sign it again; if that does not help, set your clock.`,
      );
    }
    ends.push(exp);
  }
  if (aud !== undefined && !isAudience(aud, options.baseUrl)) {
    throw invalidSignature(`The aud of the ${what} must be the address of this gate, and no other: ${options.baseUrl}. Sign it again.`);
  }
  if (jti === undefined) return undefined;
  const checked = checkJti(jti, what, invalidSignature);
  if (ends.length === 0) {
    throw invalidSignature(
      `With a jti, the ${what} must have an exp or an iat, so that the jti does not have to be stored forever. Sign it again.`,
    );
  }
  if (typeof exp === 'number' && exp > options.nowMs / 1000 + maxLifeSeconds) {
    throw invalidSignature(`With a jti, the exp of the ${what} must be at most 24 hours ahead. Sign it again.`);
  }
  return { jti: checked, expiresAt: Math.min(...ends) };
}
