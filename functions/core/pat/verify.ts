import type { KeyObject } from 'node:crypto';
import { errors, jwtVerify } from 'jose';
import { type PatClaims, patClaims, patType } from '../../../schemas/pat.ts';
import { invalidToken } from '../http/bearer.ts';
import { isObject } from '../json.ts';
import { isCanonicalSignature } from './ecdsa.ts';
import { decodeCanonical, readJson } from './jws.ts';
import { headerSegment, maxPatBytes } from './token.ts';

export interface PatVerifierParts {
  /** finds a key among those of the deployment; see {@link ./signing-keys.ts} */
  findKey(kid: string): Promise<KeyObject | undefined>;
}

/** Verifies a PAT's own text and claims. The caller checks revocation and the policy in force. */
export type VerifyPat = (token: string, at: { baseUrl: string; nowMs: number }) => Promise<PatClaims>;

const grammar = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]{86}$/;
const thumbprint = /^[A-Za-z0-9_-]{43}$/;

const notOurs = (cause?: unknown) =>
  invalidToken('The PAT is not one that this gate issued, or not for this address. Ask for one at POST /api/pat/issue.', cause);
const expired = () => invalidToken('The PAT has expired. Ask for a new one at POST /api/pat/issue.');

/**
 * Everything that can be refused without a key is refused first, and a token has one spelling only: canonical base64url, the one header that
 * this gate writes, and the signature with the lower s.
 * @returns a check that throws ApiError UNAUTHORIZED, or SERVICE_UNAVAILABLE if the key cannot be read just now
 */
export function openPatVerifier({ findKey }: PatVerifierParts): VerifyPat {
  return async (token, { baseUrl, nowMs }) => {
    const key = await findKey(readKid(token));
    if (!key) throw notOurs();
    const { payload } = await jwtVerify(token, key, {
      algorithms: ['ES256'],
      typ: patType,
      issuer: baseUrl,
      audience: baseUrl,
      requiredClaims: ['sub', 'iat', 'nbf', 'exp', 'jti'],
      currentDate: new Date(nowMs),
    }).catch((error: unknown) => {
      if (error instanceof errors.JWTExpired) throw expired();
      if (error instanceof errors.JOSEError) throw notOurs(error);
      throw error;
    });
    const claims = patClaims.safeParse(payload);
    if (!claims.success) throw notOurs();
    return claims.data;
  };
}

/** The `kid` of a token whose spelling is canonical in every part. */
function readKid(token: string): string {
  if (token.length > maxPatBytes || !grammar.test(token)) throw notOurs();
  const [header = '', payload = '', signature = ''] = token.split('.');
  const [headerBytes, payloadBytes, signatureBytes] = [header, payload, signature].map(decodeCanonical);
  if (!headerBytes || !payloadBytes || !signatureBytes || !isCanonicalSignature(signatureBytes)) throw notOurs();
  const members = readJson(headerBytes);
  const kid = isObject(members) ? members.kid : undefined;
  if (typeof kid !== 'string' || !thumbprint.test(kid) || header !== headerSegment(kid)) throw notOurs();
  return kid;
}
