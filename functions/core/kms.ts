import { setTimeout as pause } from 'node:timers/promises';
import { unavailable } from './api-error.ts';
import { bounded } from './invocation.ts';
import { type AwsAccess, openSignedRequests, serviceEndpoint } from './signed-request.ts';

/** Per attempt, in milliseconds. */
const requestTimeoutMs = 1_000;

const maxAttempts = 3;

/** Timeout of one operation with all its attempts, in milliseconds. */
const operationTimeoutMs = 2_500;

/** Maximum pause before the first retry, in milliseconds; it doubles with each further one. */
const firstPauseMs = 100;

/** Responses after which a retry may succeed. */
const isTransient = (status: number, name: string): boolean => status >= 500 || /Throttl|LimitExceeded|RequestTimeout/.test(name);

/**
 * The KMS operations that the gate uses: the SDK's client would be a fifteenth of each function that verifies PATs. `AWS_ENDPOINT_URL_KMS` overrides
 * the endpoint.
 */
export function openKms({ region = process.env.AWS_REGION ?? '', endpoint = serviceEndpoint('kms', region), credentials }: AwsAccess = {}) {
  const send = openSignedRequests(requestTimeoutMs, { service: 'kms', region, credentials });
  const url = new URL(endpoint);

  async function attempt(
    operation: string,
    input: object,
  ): Promise<{ answer?: Record<string, string>; failure: Error; mayRetry: boolean }> {
    const headers = { 'content-type': 'application/x-amz-json-1.1', 'x-amz-target': `TrentService.${operation}` };
    try {
      const { status, body } = await send({ method: 'POST', url, headers, body: JSON.stringify(input) });
      const answer = JSON.parse(body);
      const name = String(answer.__type ?? '').replace(/^.*#/, '');
      const failure = Object.assign(new Error(`KMS answered ${status}`), { name: name || 'Error' });
      return { ...(status === 200 && { answer }), failure, mayRetry: isTransient(status, name) };
    } catch (error) {
      return { failure: error as Error, mayRetry: (error as Error).name !== 'AbortError' };
    }
  }

  async function call(operation: string, input: object): Promise<Record<string, string>> {
    for (let attempts = 1; ; attempts++) {
      const { answer, failure, mayRetry } = await attempt(operation, input);
      if (answer) return answer;
      if (!mayRetry || attempts === maxAttempts) throw failure;
      await pause(Math.random() * firstPauseMs * 2 ** (attempts - 1));
    }
  }

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
    return await bounded(operationTimeoutMs, operation);
  } catch (error) {
    throw unavailable(`${keys} cannot be reached. Try again after Retry-After.`, error);
  }
}
