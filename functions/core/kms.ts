import { unavailable } from './api-error.ts';
import { openJsonService } from './aws-json.ts';
import type { AwsAccess } from './signed-request.ts';

/** The KMS operations that the gate uses. `AWS_ENDPOINT_URL_KMS` overrides the endpoint. */
export function openKms(access?: AwsAccess) {
  const call = openJsonService('kms', 'TrentService', access);
  const bytes = (text = ''): Buffer => Buffer.from(text, 'base64');
  const sign = async (keyId: string, message: Buffer, MessageType: 'DIGEST' | 'RAW', SigningAlgorithm: string) => {
    const Message = message.toString('base64');
    return bytes((await call('Sign', { KeyId: keyId, Message, MessageType, SigningAlgorithm })).Signature);
  };

  return {
    /** @returns the key's ARN, and its public key in DER (SPKI) */
    getPublicKey: async (keyId: string) => {
      const { KeyId = keyId, PublicKey } = await call('GetPublicKey', { KeyId: keyId });
      return { arn: KeyId, publicKey: bytes(PublicKey) };
    },
    /**
     * @param digest - SHA-256
     * @returns an ECDSA signature in DER
     */
    sign: (keyId: string, digest: Buffer) => sign(keyId, digest, 'DIGEST', 'ECDSA_SHA_256'),
    /** @returns an Ed25519 signature (RFC 8032) */
    signMessage: (keyId: string, message: Buffer) => sign(keyId, message, 'RAW', 'ED25519_SHA_512'),
    /** @returns HMAC-SHA-256 of a message, 32 bytes */
    generateMac: async (keyId: string, message: string) => {
      const Message = Buffer.from(message).toString('base64');
      return bytes((await call('GenerateMac', { KeyId: keyId, Message, MacAlgorithm: 'HMAC_SHA_256' })).Mac);
    },
  };
}

export type Kms = ReturnType<typeof openKms>;

/**
 * Runs one operation of KMS.
 * @param keys - what its keys are for; the error names them
 * @throws ApiError SERVICE_UNAVAILABLE
 */
export async function reachKeys<T>(keys: string, operation: () => Promise<T>): Promise<T> {
  try {
    return await operation();
  } catch (error) {
    throw unavailable(`${keys} cannot be reached. Try again after Retry-After.`, error);
  }
}
