import { setTimeout as pause } from 'node:timers/promises';
import { openSignedRequests, type Signing, serviceEndpoint } from './signed-request.ts';

/** The KMS operations that PATs and signed calls need. The SDK's client would be a fifteenth of each function that verifies PATs. */
export interface Kms {
  /** @returns the key's ARN, and its public key in DER (SPKI) */
  getPublicKey(keyId: string): Promise<{ arn: string; publicKey: Buffer }>;
  /**
   * @param digest - SHA-256
   * @returns an ECDSA signature in DER
   */
  sign(keyId: string, digest: Buffer): Promise<Buffer>;
  /** @returns HMAC-SHA-256 of a message, 32 bytes */
  generateMac(keyId: string, message: string): Promise<Buffer>;
}

export interface KmsAccess extends Partial<Pick<Signing, 'region' | 'credentials'>> {
  endpoint?: string;
}

/** Per attempt, in milliseconds. */
const requestTimeoutMs = 1_000;

const maxAttempts = 3;

/** Longest wait before the first retry, in milliseconds; it doubles with each. */
const firstPauseMs = 100;

/** Responses after which the same request may succeed. The log shows their names. */
const isTransient = (status: number, name: string): boolean => status >= 500 || /Throttl|LimitExceeded|RequestTimeout/.test(name);

/** `AWS_ENDPOINT_URL_KMS` redirects it. */
export function openKms({
  region = process.env.AWS_REGION ?? '',
  endpoint = serviceEndpoint('kms', region),
  credentials,
}: KmsAccess = {}): Kms {
  const send = openSignedRequests(requestTimeoutMs, { service: 'kms', region, ...(credentials && { credentials }) });
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

  return {
    getPublicKey: async (keyId) => {
      const { KeyId = keyId, PublicKey } = await call('GetPublicKey', { KeyId: keyId });
      return { arn: KeyId, publicKey: bytes(PublicKey) };
    },
    sign: async (keyId, digest) => {
      const Message = digest.toString('base64');
      const { Signature } = await call('Sign', { KeyId: keyId, Message, MessageType: 'DIGEST', SigningAlgorithm: 'ECDSA_SHA_256' });
      return bytes(Signature);
    },
    generateMac: async (keyId, message) => {
      const { Mac } = await call('GenerateMac', {
        KeyId: keyId,
        Message: Buffer.from(message).toString('base64'),
        MacAlgorithm: 'HMAC_SHA_256',
      });
      return bytes(Mac);
    },
  };
}
