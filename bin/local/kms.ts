import { createHmac, createPublicKey, randomUUID } from 'node:crypto';
import { p256 } from '@noble/curves/nist.js';
import * as z from 'zod';
import { readJson, writeJson } from './files.ts';
import { account, type Disturb, operation, region, ServiceError, startJsonService } from './json-service.ts';

export interface KmsKey {
  keyId: string;
  /** the private scalar, or the key of HMACs, 32 bytes */
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

/** Reads named keys from a file, and adds missing ones. Only its owner can read the file. */
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

const signInput = z.object({
  KeyId: z.string(),
  Message: z
    .base64()
    .transform((text) => Buffer.from(text, 'base64'))
    .refine(({ length }) => length === 32, 'must be a digest of 32 bytes'),
  MessageType: z.literal('DIGEST'),
  SigningAlgorithm: z.literal('ECDSA_SHA_256'),
});
const macInput = z.object({
  KeyId: z.string(),
  Message: z.base64().transform((text) => Buffer.from(text, 'base64')),
  MacAlgorithm: z.literal('HMAC_SHA_256'),
});
const keyInput = z.object({ KeyId: z.string() });
const createInput = z.union([
  z.object({ KeyUsage: z.literal('SIGN_VERIFY'), KeySpec: z.literal('ECC_NIST_P256') }),
  z.object({ KeyUsage: z.literal('GENERATE_VERIFY_MAC'), KeySpec: z.literal('HMAC_256') }),
]);

/**
 * A stand-in for KMS on a loopback port: real keys behind the wire protocol of KMS, each for P-256 as well as for HMACs.
 * Knows CreateKey, GetPublicKey, Sign of digests, and GenerateMac.
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
      Sign: operation(signInput, ({ KeyId, Message, SigningAlgorithm }) => {
        const { keyId, secret } = find(KeyId);
        const signature = p256.sign(Message, secret, { prehash: false, lowS: false, format: 'der' });
        return { KeyId: keyArn(keyId), Signature: Buffer.from(signature).toString('base64'), SigningAlgorithm };
      }),
      GenerateMac: operation(macInput, ({ KeyId, Message, MacAlgorithm }) => {
        const { keyId, secret } = find(KeyId);
        return { KeyId: keyArn(keyId), Mac: createHmac('sha256', secret).update(Message).digest('base64'), MacAlgorithm };
      }),
      GetPublicKey: operation(keyInput, ({ KeyId }) => {
        const key = find(KeyId);
        return { KeyId: keyArn(key.keyId), PublicKey: subjectPublicKeyInfo(key).toString('base64') };
      }),
      CreateKey: operation(createInput, () => {
        const key = newKmsKey();
        known.set(key.keyId, key);
        return { KeyMetadata: { KeyId: key.keyId, Arn: keyArn(key.keyId) } };
      }),
    },
    disturb,
  );
  return { ...service, keyIds: keys.map(({ keyId }) => keyId) };
}

function subjectPublicKeyInfo({ secret }: KmsKey): Buffer {
  const point = p256.getPublicKey(secret, false);
  const [x = '', y = ''] = [point.slice(1, 33), point.slice(33)].map((half) => Buffer.from(half).toString('base64url'));
  return createPublicKey({ format: 'jwk', key: { kty: 'EC', crv: 'P-256', x, y } }).export({ format: 'der', type: 'spki' });
}
