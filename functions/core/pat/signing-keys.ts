import { createHash, createPublicKey, type KeyObject, verify } from 'node:crypto';
import { GetPublicKeyCommand, KMSClient, SignCommand } from '@aws-sdk/client-kms';
import { calculateJwkThumbprint, type JWK } from 'jose';
import { unavailable } from '../api-error.ts';
import { awsClientSettings } from '../aws-client.ts';
import { readEnvironment, splitList } from '../environment.ts';
import { beyondInvocation, bounded } from '../invocation.ts';
import { signatureFromDer } from './ecdsa.ts';

/** A public key of the deployment. */
export interface VerifyingKey {
  /** RFC 7638 thumbprint */
  kid: string;
  key: KeyObject;
}

interface SigningKey extends VerifyingKey {
  /** of the key itself: an alias may be pointed at another key */
  arn: string;
}

/** The keys that sign PATs. Public keys are read once in an instance's life. */
export interface SigningKeys {
  /**
   * Signs with the first key, and verifies the signature before it returns it.
   * @returns r||s with the lower s, 64 bytes
   * @throws ApiError SERVICE_UNAVAILABLE if KMS does not sign
   */
  sign(signingInput: string): Promise<Uint8Array>;
  /** The key that signs. */
  newest(): Promise<VerifyingKey>;
  /**
   * The key of a `kid`, among the deployment's keys only; undefined if there is none.
   * @throws ApiError SERVICE_UNAVAILABLE if a key that cannot be read at the moment may be the one
   */
  find(kid: string): Promise<KeyObject | undefined>;
  /** All keys as a JWK set (RFC 7517 section 5), the signing one first. */
  jwks(): Promise<{ keys: JWK[] }>;
}

/** Longest that one call of KMS may take with all its retries. */
const callTimeoutMs = 2_500;

/** A key that could not be read is not read again within this time, however many requests arrive. */
const retryAfterMs = 1_000;

const anotherKey = new Error('the kid is that of another key');

/** The client with bounded waits. `AWS_ENDPOINT_URL_KMS` redirects it. */
export const kmsClient = (): KMSClient => new KMSClient(awsClientSettings({ requestTimeout: 1_000 }));

/** @param keyIds - key ids or ARNs; the first signs, all verify. To retire a key is to take it out of this list. */
export function openSigningKeys(kms: KMSClient, keyIds: readonly string[], now: () => number = Date.now): SigningKeys {
  async function fetchKey(keyId: string): Promise<SigningKey> {
    const { PublicKey, KeyId } = await reach(() => kms.send(new GetPublicKeyCommand({ KeyId: keyId })));
    const key = createPublicKey({ key: Buffer.from(PublicKey ?? []), format: 'der', type: 'spki' });
    if (key.asymmetricKeyDetails?.namedCurve !== 'prime256v1') throw new TypeError('a signing key is not of ECC_NIST_P256');
    return { arn: KeyId ?? keyId, key, kid: await calculateJwkThumbprint(key.export({ format: 'jwk' }) as JWK) };
  }

  const readers = keyIds.map((keyId) => keepSuccess(() => fetchKey(keyId), now));
  const newest = () => {
    const [first] = readers;
    if (!first) throw new TypeError('no signing key is configured');
    return first();
  };

  return {
    newest,
    sign: async (signingInput) => {
      const { arn, key } = await newest();
      const digest = createHash('sha256').update(signingInput).digest();
      const { Signature } = await reach(() =>
        kms.send(new SignCommand({ KeyId: arn, Message: digest, MessageType: 'DIGEST', SigningAlgorithm: 'ECDSA_SHA_256' })),
      );
      const signature = signatureFromDer(Signature ?? new Uint8Array());
      if (!verify('sha256', Buffer.from(signingInput), { key, dsaEncoding: 'ieee-p1363' }, signature)) {
        throw new Error('KMS returned a signature that its own public key does not verify');
      }
      return signature;
    },
    find: async (kid) => {
      // the first key that answers: a key that cannot be read does not delay the others
      const isThis = async (read: () => Promise<SigningKey>) => {
        const found = await read();
        return found.kid === kid ? found.key : Promise.reject(anotherKey);
      };
      return Promise.any(readers.map(isThis)).catch(({ errors }: AggregateError) => {
        const failure = errors.find((error) => error !== anotherKey);
        if (failure) throw failure;
        return undefined;
      });
    },
    jwks: async () => ({
      keys: (await Promise.all(readers.map((read) => read()))).map(({ kid, key }) => ({
        ...key.export({ format: 'jwk' }),
        kid,
        alg: 'ES256',
        use: 'sig',
      })),
    }),
  };
}

/** The public key that signs, as PEM (SPKI). */
export const publicKeyPem = async (keys: Pick<SigningKeys, 'newest'>): Promise<string> =>
  (await keys.newest()).key.export({ format: 'pem', type: 'spki' }).toString();

/** The keys of this function's environment. */
export const signingKeysFromEnvironment = (): SigningKeys =>
  openSigningKeys(kmsClient(), splitList(readEnvironment(['signingKeys']).signingKeys));

/** Reads once; concurrent uses share one attempt, a success stays, a failure stays for {@link retryAfterMs}. */
function keepSuccess<T>(read: () => Promise<T>, now: () => number): () => Promise<T> {
  let attempt: Promise<T> | undefined;
  let failedAtMs: number | undefined;
  return () => {
    if (failedAtMs !== undefined && now() - failedAtMs >= retryAfterMs) attempt = failedAtMs = undefined;
    attempt ??= beyondInvocation(read).catch((error: unknown) => {
      failedAtMs = now();
      throw error;
    });
    return attempt;
  };
}

async function reach<T>(send: () => Promise<T>): Promise<T> {
  try {
    return await bounded(callTimeoutMs, send);
  } catch (error) {
    throw unavailable('The signing keys cannot be reached. Try again after Retry-After.', error);
  }
}
