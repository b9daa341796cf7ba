import { createPublicKey, hash, type KeyObject, verify } from 'node:crypto';
import type { JWK } from 'jose';
import { type Kms, openKms, reachKeys } from '../aws/kms.ts';
import { readEnvironment, splitList } from '../runtime/environment.ts';
import { keepSuccess } from '../runtime/keep-success.ts';
import { thumbprintOf } from './agent-key.ts';
import { signatureFromDer } from './ecdsa.ts';

interface SigningKey {
  /** RFC 7638 thumbprint */
  kid: string;
  key: KeyObject;
  /** ARN of the key itself, because an alias may move to another key */
  arn: string;
}

/** The keys that sign PATs. Each instance reads the public keys once. */
export type SigningKeys = ReturnType<typeof openSigningKeys>;

const anotherKey = new Error('the kid is that of another key');

/** @param keyIds - key ids or ARNs; the first signs, all verify */
export function openSigningKeys(kms: Pick<Kms, 'sign' | 'getPublicKey'>, keyIds: readonly string[], now: () => number = Date.now) {
  async function fetchKey(keyId: string): Promise<SigningKey> {
    const { arn, publicKey } = await reachKeys('The signing keys', () => kms.getPublicKey(keyId));
    const key = createPublicKey({ key: publicKey, format: 'der', type: 'spki' });
    if (key.asymmetricKeyDetails?.namedCurve !== 'prime256v1') throw new TypeError('a signing key is not of ECC_NIST_P256');
    return { arn, key, kid: thumbprintOf(key) };
  }

  const readers = keyIds.map((keyId) => keepSuccess(() => fetchKey(keyId), now));
  const current = () => {
    const [first] = readers;
    if (!first) throw new TypeError('no signing key is configured');
    return first();
  };

  return {
    current,

    /**
     * Signs with the first key, and verifies the signature before it returns it.
     * @returns r||s with the lower s, 64 bytes
     * @throws ApiError SERVICE_UNAVAILABLE if KMS does not sign
     */
    async sign(signingInput: string): Promise<Buffer> {
      const { arn, key } = await current();
      const digest = hash('sha256', signingInput, 'buffer');
      const signature = signatureFromDer(await reachKeys('The signing keys', () => kms.sign(arn, digest)));
      if (!verify('sha256', Buffer.from(signingInput), { key, dsaEncoding: 'ieee-p1363' }, signature)) {
        throw new Error('KMS returned a signature that its own public key does not verify');
      }
      return signature;
    },

    /**
     * The deployment's key with this `kid`.
     * @throws ApiError SERVICE_UNAVAILABLE if it is not found and some key cannot be read
     */
    async find(kid: string): Promise<KeyObject | undefined> {
      // a key that cannot be read must not delay the others
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

    /** All keys as a JWK set (RFC 7517 section 5), the signing one first. */
    jwks: async (): Promise<{ keys: JWK[] }> => ({
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
export const publicKeyPem = async (keys: Pick<SigningKeys, 'current'>): Promise<string> =>
  (await keys.current()).key.export({ format: 'pem', type: 'spki' }).toString();

export const signingKeysFromEnvironment = (): SigningKeys =>
  openSigningKeys(openKms(), splitList(readEnvironment(['signingKeys']).signingKeys));
