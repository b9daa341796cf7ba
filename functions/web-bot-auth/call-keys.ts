import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { canonicalDigest } from '../../schemas/canonical.ts';
import { type Kms, openKms, reachKeys } from '../core/aws/kms.ts';
import { keepSuccess } from '../core/runtime/keep-success.ts';
import { readSignatureEnvironment } from './environment.ts';

/** An Ed25519 key that signs calls. */
export interface CallKey {
  /** RFC 7638 thumbprint, which is also the Web Bot Auth `keyid` */
  keyid: string;
  key: KeyObject;
  /** base64url of the public half */
  x: string;
}

/** Length of a key's period, in milliseconds. */
export const periodMs = 30 * 24 * 60 * 60 * 1_000;

/** PKCS #8 header that precedes a 32-byte Ed25519 private key (RFC 8410 section 7). */
const privatePrefix = Buffer.from('302e020100300506032b657004220420', 'hex');

/**
 * Opens the keys that sign calls, one per period of 30 days. All are derived from one KMS key, so nothing is stored and no job has to rotate them. Each
 * key is published one period before and one period after the period in which it signs.
 * @param keyId - key id or ARN of a KMS key for HMAC-SHA-256
 */
export function openCallKeys(kms: Pick<Kms, 'generateMac'>, keyId: string, now: () => number = Date.now) {
  const readers = new Map<number, () => Promise<CallKey>>();
  let kept: { period: number; key: CallKey } | undefined;

  async function derive(period: number): Promise<CallKey> {
    const secret = await reachKeys('The keys that sign calls', () => kms.generateMac(keyId, `intent-gate calls ${period}`));
    const key = createPrivateKey({ key: Buffer.concat([privatePrefix, secret]), format: 'der', type: 'pkcs8' });
    const { kty, crv, x = '' } = createPublicKey(key).export({ format: 'jwk' });
    return { keyid: canonicalDigest({ kty, crv, x }), key, x };
  }

  async function read(period: number): Promise<CallKey> {
    const reader = readers.get(period) ?? keepSuccess(() => derive(period), now);
    readers.set(period, reader);
    return reader();
  }

  const currentPeriod = () => Math.floor(now() / periodMs);

  return {
    /**
     * The current signing key. It is derived once per period; when a period ends, calls use the previous key until the new one is derived.
     * @throws ApiError SERVICE_UNAVAILABLE if no key is available because KMS cannot be reached
     */
    signing: async (): Promise<CallKey> => {
      const period = currentPeriod();
      if (kept?.period === period) return kept.key;
      const fetched = read(period).then((key) => {
        kept = { period, key };
        return key;
      });
      if (kept?.period !== period - 1) return fetched;
      fetched.catch(() => {});
      return kept.key;
    },
    /** The keys of the current, the next and the previous period, in this order. */
    published: (): Promise<CallKey[]> => Promise.all([0, 1, -1].map((offset) => read(currentPeriod() + offset))),
  };
}

export type CallKeys = ReturnType<typeof openCallKeys>;

export const callKeysFromEnvironment = (): CallKeys => openCallKeys(openKms(), readSignatureEnvironment(['callKey']).callKey);
