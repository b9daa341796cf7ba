import { GenerateMacCommand, GetPublicKeyCommand, KMSClient, SignCommand, type SignCommandInput } from '@aws-sdk/client-kms';
import { unavailable } from '../runtime/api-error.ts';
import { bounded } from '../runtime/invocation.ts';
import { type AwsAccess, awsClientSettings } from './aws-client.ts';

/** Timeout of one operation with all its attempts, in milliseconds. */
const operationTimeoutMs = 2_500;

/** The KMS operations that the gate uses. */
export function openKms(access: AwsAccess = {}) {
  const client = new KMSClient({ ...awsClientSettings(1_000), ...access });
  const sign = async (input: SignCommandInput) => Buffer.from((await client.send(new SignCommand(input))).Signature ?? []);

  return {
    /** @returns the key's ARN, and its public key in DER (SPKI) */
    getPublicKey: async (keyId: string) => {
      const { KeyId = keyId, PublicKey = new Uint8Array() } = await client.send(new GetPublicKeyCommand({ KeyId: keyId }));
      return { arn: KeyId, publicKey: Buffer.from(PublicKey) };
    },
    /**
     * @param digest - SHA-256
     * @returns an ECDSA signature in DER
     */
    sign: (keyId: string, digest: Buffer) =>
      sign({ KeyId: keyId, Message: digest, MessageType: 'DIGEST', SigningAlgorithm: 'ECDSA_SHA_256' }),
    /** @returns an Ed25519 signature (RFC 8032) */
    signMessage: (keyId: string, message: Buffer) =>
      sign({ KeyId: keyId, Message: message, MessageType: 'RAW', SigningAlgorithm: 'ED25519_SHA_512' }),
    /** @returns HMAC-SHA-256 of a message, 32 bytes */
    generateMac: async (keyId: string, message: string) => {
      const command = new GenerateMacCommand({ KeyId: keyId, Message: Buffer.from(message), MacAlgorithm: 'HMAC_SHA_256' });
      return Buffer.from((await client.send(command)).Mac ?? []);
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
    return await bounded(operationTimeoutMs, operation);
  } catch (error) {
    throw unavailable(`${keys} cannot be reached. Try again after Retry-After.`, error);
  }
}
