import { createPublicKey, verify } from 'node:crypto';
import { type Kms, reachKeys } from '../core/aws/kms.ts';
import { thumbprintOf } from '../core/pat/agent-key.ts';
import { keepSuccess } from '../core/runtime/keep-success.ts';

/** Opens an Ed25519 key in KMS, whose public key is read once. @param id - key id or ARN */
export function openEvidenceKey(kms: Pick<Kms, 'getPublicKey' | 'signMessage'>, id: string) {
  const read = keepSuccess(async () => {
    const { publicKey } = await reachKeys('The keys that sign receipts', () => kms.getPublicKey(id));
    const key = createPublicKey({ key: publicKey, format: 'der', type: 'spki' });
    const { x } = key.export({ format: 'jwk' });
    if (key.asymmetricKeyType !== 'ed25519' || x === undefined) throw new TypeError('an evidence key is not of ECC_NIST_EDWARDS25519');
    return { key, x, kid: thumbprintOf(key), publicKey: Buffer.from(x, 'base64url') };
  }, Date.now);
  return {
    /** The public key; `x` is that of its JWK (RFC 8037), `kid` its RFC 7638 thumbprint, `publicKey` its 32 raw bytes. */
    read,

    /**
     * @returns the signature, 64 bytes, verified against the public key
     * @throws ApiError SERVICE_UNAVAILABLE
     */
    async sign(message: Buffer): Promise<Buffer> {
      const { key } = await read();
      const signature = await reachKeys('The keys that sign receipts', () => kms.signMessage(id, message));
      if (!verify(null, message, key, signature)) throw new Error('KMS returned a signature that its own public key does not verify');
      return signature;
    },
  };
}

export type EvidenceKey = ReturnType<typeof openEvidenceKey>;

/** The name of the log that a key signs. It is derived from the key, so that no two logs share a name. @param id - key id or ARN */
export const originOf = (id: string): string => `intent-gate/log/${id.split('/').at(-1)}`;
