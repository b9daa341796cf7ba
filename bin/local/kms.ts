import { createPublicKey, randomUUID } from 'node:crypto';
import { p256 } from '@noble/curves/nist.js';
import * as z from 'zod';
import { readJson, writeJson } from './files.ts';
import { account, type Disturb, operation, region, ServiceError, startJsonService } from './json-service.ts';

export interface KmsKey {
  keyId: string;
  /** the private scalar, 32 bytes */
  secret: Uint8Array;
}

export interface KmsOptions {
  /** default: one new key */
  keys?: readonly KmsKey[];
  disturb?: Disturb;
}

export type RunningKms = Awaited<ReturnType<typeof startKms>>;

export const keyArn = (keyId: string): string => `arn:aws:kms:${region}:${account}:key/${keyId}`;

export const newKmsKey = (): KmsKey => ({ keyId: randomUUID(), secret: p256.utils.randomSecretKey() });

const keyFile = z.record(z.string(), z.object({ key_id: z.uuid(), secret: z.hex().length(64) }));

/** The keys of these names from a file; those that it lacks are made and added. Only its owner may read the file. */
export function keepKeys(path: string, names: readonly string[]): Record<string, KmsKey> {
  const kept = keyFile.parse(readJson(path) ?? {});
  for (const name of names) {
    const { keyId, secret } = newKmsKey();
    kept[name] ??= { key_id: keyId, secret: Buffer.from(secret).toString('hex') };
  }
  writeJson(path, kept);
  return Object.fromEntries(
    Object.entries(kept).map(([name, { key_id, secret }]) => [name, { keyId: key_id, secret: Buffer.from(secret, 'hex') }]),
  );
}

const blob = z.base64().transform((text) => Buffer.from(text, 'base64'));

const signInput = z.object({
  KeyId: z.string(),
  Message: blob.refine(({ length }) => length >= 1 && length <= 4096, 'Message must have 1 to 4096 bytes'),
  MessageType: z.enum(['RAW', 'DIGEST']).default('RAW'),
  SigningAlgorithm: z.string(),
});
const keyInput = z.object({ KeyId: z.string() });
const createInput = z.object({ KeyUsage: z.string().optional(), KeySpec: z.string().optional() });

/**
 * A stand-in for KMS on a loopback port: real P-256 keys behind the wire protocol of KMS.
 * Knows Sign, GetPublicKey, DescribeKey and CreateKey of ECC_NIST_P256 keys.
 */
export async function startKms({ keys = [newKmsKey()], disturb }: KmsOptions = {}) {
  const known = new Map(keys.map((key) => [key.keyId, key]));

  const find = (id: string): KmsKey => {
    const key = known.get(id.startsWith('arn:') ? (id.split('/').at(-1) ?? '') : id);
    if (!key) throw new ServiceError('NotFoundException', 'The key does not exist.');
    return key;
  };

  const service = await startJsonService(
    {
      Sign: operation(signInput, ({ KeyId, Message, MessageType, SigningAlgorithm }) => {
        const { keyId, secret } = find(KeyId);
        if (SigningAlgorithm !== 'ECDSA_SHA_256') {
          const message = `Algorithm ${SigningAlgorithm} is incompatible with key spec ECC_NIST_P256.`;
          throw new ServiceError('InvalidKeyUsageException', message);
        }
        const isDigest = MessageType === 'DIGEST';
        if (isDigest && Message.length !== 32)
          throw new ServiceError('ValidationException', 'Digest is invalid length for algorithm ECDSA_SHA_256.');
        const signature = p256.sign(Message, secret, { prehash: !isDigest, lowS: false, format: 'der' });
        return { KeyId: keyArn(keyId), Signature: Buffer.from(signature).toString('base64'), SigningAlgorithm };
      }),
      GetPublicKey: operation(keyInput, ({ KeyId }) => {
        const key = find(KeyId);
        return { ...describeKey(key), KeyId: keyArn(key.keyId), PublicKey: subjectPublicKeyInfo(key).toString('base64') };
      }),
      DescribeKey: operation(keyInput, ({ KeyId }) => ({ KeyMetadata: metadata(find(KeyId)) })),
      CreateKey: operation(createInput, ({ KeyUsage, KeySpec }) => {
        if (KeyUsage !== 'SIGN_VERIFY' || KeySpec !== 'ECC_NIST_P256') {
          const message = 'Only keys of KeyUsage SIGN_VERIFY and KeySpec ECC_NIST_P256 can be made here.';
          throw new ServiceError('UnsupportedOperationException', message);
        }
        const key = newKmsKey();
        known.set(key.keyId, key);
        return { KeyMetadata: metadata(key) };
      }),
    },
    disturb,
  );
  return { ...service, keyIds: keys.map(({ keyId }) => keyId) };
}

const describeKey = ({ keyId }: KmsKey) => ({
  KeyId: keyId,
  KeySpec: 'ECC_NIST_P256',
  CustomerMasterKeySpec: 'ECC_NIST_P256',
  KeyUsage: 'SIGN_VERIFY',
  SigningAlgorithms: ['ECDSA_SHA_256'],
});

const metadata = (key: KmsKey) => ({
  ...describeKey(key),
  Arn: keyArn(key.keyId),
  AWSAccountId: account,
  Enabled: true,
  KeyState: 'Enabled',
  KeyManager: 'CUSTOMER',
  Origin: 'AWS_KMS',
});

function subjectPublicKeyInfo({ secret }: KmsKey): Buffer {
  const point = p256.getPublicKey(secret, false);
  const [x = '', y = ''] = [point.slice(1, 33), point.slice(33)].map((half) => Buffer.from(half).toString('base64url'));
  return createPublicKey({ format: 'jwk', key: { kty: 'EC', crv: 'P-256', x, y } }).export({ format: 'der', type: 'spki' });
}
