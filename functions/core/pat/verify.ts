import type { KeyObject } from 'node:crypto';
import { compactVerify, errors } from 'jose';
import QuickLRU from 'quick-lru';
import { type PatClaims, patClaims } from '../../../schemas/pat.ts';
import { invalidToken } from '../http/bearer.ts';
import { isCanonicalSignature } from './ecdsa.ts';
import { readJson, readJws } from './jws.ts';
import { type SigningKeys, signingKeysFromEnvironment } from './signing-keys.ts';
import { headerSegment, maxPatBytes } from './token.ts';

/** Verifies the signature and claims of a PAT; the caller checks revocation and the policy in force. */
export type VerifyPat = (token: string, at: { baseUrl: string; nowMs: number }) => Promise<PatClaims>;

const thumbprint = /^[A-Za-z0-9_-]{43}$/;

const notOurs = (cause?: unknown) =>
  invalidToken('The PAT was not issued by this gate for this address. Get one with POST /api/pat/issue.', cause);
const expired = () => invalidToken('The PAT has expired. Get a new one with POST /api/pat/issue.');

/** Maximum number of verified tokens that an instance caches. */
const maxRemembered = 500;

/**
 * Accepts only one encoding of a token: canonical base64url, the header that this gate writes, and the signature with the lower s. The signature
 * is verified once per token and key; the claims, and whether the key still belongs to the deployment, are checked every time.
 * @returns a function that throws ApiError UNAUTHORIZED, or SERVICE_UNAVAILABLE if the key cannot be read
 */
export function openPatVerifier({ findKey }: { findKey: SigningKeys['find'] }): VerifyPat {
  const remembered = new QuickLRU<string, { kid: string; key: KeyObject; claims: PatClaims }>({ maxSize: maxRemembered });

  async function readSigned(token: string): Promise<PatClaims> {
    const known = remembered.get(token);
    const kid = known?.kid ?? readKid(token);
    const key = await findKey(kid);
    if (!key) throw notOurs();
    if (known?.key === key) return known.claims;
    const { payload } = await compactVerify(token, key, { algorithms: ['ES256'] }).catch((error: unknown) => {
      throw error instanceof errors.JOSEError ? notOurs(error) : error;
    });
    const claims = patClaims.safeParse(readJson(Buffer.from(payload)));
    if (!claims.success) throw notOurs();
    remembered.set(token, { kid, key, claims: claims.data });
    return claims.data;
  }

  return async (token, { baseUrl, nowMs }) => {
    const claims = await readSigned(token);
    const nowSeconds = Math.floor(nowMs / 1000);
    if (claims.iss !== baseUrl || claims.aud !== baseUrl || claims.nbf > nowSeconds) throw notOurs();
    if (claims.exp <= nowSeconds) throw expired();
    return claims;
  };
}

export const patVerifierFromEnvironment = (): VerifyPat => openPatVerifier({ findKey: signingKeysFromEnvironment().find });

function readKid(token: string): string {
  if (token.length > maxPatBytes) throw notOurs();
  const jws = readJws(token, 'PAT', () => notOurs());
  const { kid } = jws.header;
  if (typeof kid !== 'string' || !thumbprint.test(kid) || jws.headerSegment !== headerSegment(kid)) throw notOurs();
  if (!isCanonicalSignature(jws.signature)) throw notOurs();
  return kid;
}
