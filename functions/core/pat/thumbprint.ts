import type { KeyObject } from 'node:crypto';
import { canonicalDigest } from '../../../schemas/canonical.ts';

/** The SHA-256 thumbprint of a public key: of the required members of its JWK (RFC 7638 section 3). */
export function thumbprintOf(key: KeyObject): string {
  const { kty, crv, x, y, n, e } = key.export({ format: 'jwk' });
  return canonicalDigest({ kty, crv, x, y, n, e });
}
