import { type PatClaims, patType } from '../../../schemas/pat.ts';
import type { SigningKeys } from './signing-keys.ts';

/** Maximum size of a PAT: API Gateway accepts at most 10,240 bytes of headers. */
export const maxPatBytes = 6_144;

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** The only accepted encoding of a PAT header for this key. */
export const headerSegment = (kid: string): string => encode({ alg: 'ES256', typ: patType, kid });

/**
 * @throws ApiError SERVICE_UNAVAILABLE if KMS does not sign
 * @throws RangeError if the PAT would be too large to be sent back in a header
 */
export async function signPat(signingKeys: SigningKeys, claims: PatClaims): Promise<string> {
  const { kid } = await signingKeys.current();
  const signingInput = `${headerSegment(kid)}.${encode(claims)}`;
  const token = `${signingInput}.${Buffer.from(await signingKeys.sign(signingInput)).toString('base64url')}`;
  if (token.length > maxPatBytes) throw new RangeError('the PAT is larger than 6144 bytes');
  return token;
}
