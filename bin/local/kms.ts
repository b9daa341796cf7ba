import { createHmac, createPublicKey, type JsonWebKey, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { ed25519 } from '@noble/curves/ed25519.js';
import { p256 } from '@noble/curves/nist.js';
import * as z from 'zod';
import { readJson, writeJson } from './files.ts';
import { account, type Disturb, operation, region, ServiceError, startJsonService } from './json-service.ts';
import type { LocalValues } from './template.ts';

interface KmsKey {
  keyId: string;
  /** 32 bytes: the private scalar of P-256, the seed of Ed25519, or the HMAC key */
  secret: Uint8Array;
  /** default: ECC_NIST_P256 */
  spec?: KeySpec;
}

const keySpec = z.enum(['ECC_NIST_P256', 'ECC_NIST_EDWARDS25519', 'HMAC_256']);

type KeySpec = z.infer<typeof keySpec>;

export interface KmsOptions {
  /** default: one new key */
  keys?: readonly KmsKey[];
  disturb?: Disturb;
}

export type RunningKms = Awaited<ReturnType<typeof startKms>>;

const keyArn = (keyId: string): string => `arn:aws:kms:${region}:${account}:key/${keyId}`;

export const newKmsKey = (spec: KeySpec = 'ECC_NIST_P256'): KmsKey => {
  const { utils } = spec === 'ECC_NIST_EDWARDS25519' ? ed25519 : p256;
  return { keyId: randomUUID(), secret: utils.randomSecretKey(), spec };
};

const keyFile = z.record(z.string(), z.object({ key_id: z.uuid(), secret: z.hex().length(64), spec: keySpec.optional() }));

/** Reads keys by name from a file readable only by its owner, and adds missing ones. */
export function keepKeys(path: string, specs: ReadonlyMap<string, KeySpec>): Record<string, KmsKey> {
  const kept = keyFile.parse(readJson(path) ?? {});
  for (const [name, spec] of specs) {
    const { keyId, secret } = newKmsKey(spec);
    kept[name] ??= { key_id: keyId, secret: Buffer.from(secret).toString('hex'), spec };
  }
  writeJson(path, kept);
  return Object.fromEntries(
    Object.entries(kept).map(([name, { key_id, secret, spec = 'ECC_NIST_P256' }]) => [
      name,
      { keyId: key_id, secret: Buffer.from(secret, 'hex'), spec },
    ]),
  );
}

const message = z.base64().transform((text) => Buffer.from(text, 'base64'));
const signInput = z.discriminatedUnion('SigningAlgorithm', [
  z.object({
    KeyId: z.string(),
    Message: message.refine(({ length }) => length === 32, 'must be a digest of 32 bytes'),
    MessageType: z.literal('DIGEST'),
    SigningAlgorithm: z.literal('ECDSA_SHA_256'),
  }),
  z.object({
    KeyId: z.string(),
    Message: message.refine(({ length }) => length <= 4_096, 'must have at most 4096 bytes'),
    MessageType: z.literal('RAW'),
    SigningAlgorithm: z.literal('ED25519_SHA_512'),
  }),
]);
const macInput = z.object({ KeyId: z.string(), Message: message, MacAlgorithm: z.literal('HMAC_SHA_256') });
const keyInput = z.object({ KeyId: z.string() });

/**
 * A stand-in for KMS on a loopback port, with real keys and the wire protocol of KMS.
 * Supports GetPublicKey, Sign (digests, or messages with Ed25519) and GenerateMac.
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
        const { keyId, secret, spec = 'ECC_NIST_P256' } = find(KeyId);
        const isOfKey = (spec === 'ECC_NIST_EDWARDS25519') === (SigningAlgorithm === 'ED25519_SHA_512');
        if (!isOfKey) throw new ServiceError('InvalidKeyUsageException', 'The signing algorithm does not go with the key.');
        const signature =
          spec === 'ECC_NIST_EDWARDS25519'
            ? ed25519.sign(Message, secret)
            : p256.sign(Message, secret, { prehash: false, lowS: false, format: 'der' });
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
    },
    disturb,
  );
  return { ...service, keyIds: keys.map(({ keyId }) => keyId) };
}

/** Properties of a KMS key in the template. */
export const keyProperties = z.object({ KeySpec: keySpec, KeyUsage: z.enum(['SIGN_VERIFY', 'GENERATE_VERIFY_MAC']) });

/**
 * Starts a KMS with the template's keys; `values` has their ids.
 * @param wanted - logical ids and properties of the keys
 * @param kept - folder that keeps the keys
 */
export async function startKeys(wanted: [id: string, z.infer<typeof keyProperties>][], kept: string | undefined) {
  const specs = new Map(wanted.map(([id, { KeySpec }]) => [id, KeySpec]));
  const made = () => Object.fromEntries([...specs].map(([id, spec]) => [id, newKmsKey(spec)]));
  const keys = kept === undefined ? made() : keepKeys(join(kept, 'kms-keys.json'), specs);
  const kms = await startKms({ keys: Object.values(keys) });
  const values = Object.entries(keys).map(([id, { keyId }]) => [id, { Ref: keyId, Arn: keyArn(keyId) }]);
  return { ...kms, values: Object.fromEntries(values) as LocalValues };
}

function subjectPublicKeyInfo({ secret, spec }: KmsKey): Buffer {
  const toDer = (key: JsonWebKey) => createPublicKey({ format: 'jwk', key }).export({ format: 'der', type: 'spki' });
  if (spec === 'ECC_NIST_EDWARDS25519')
    return toDer({ kty: 'OKP', crv: 'Ed25519', x: Buffer.from(ed25519.getPublicKey(secret)).toString('base64url') });
  const point = p256.getPublicKey(secret, false);
  const [x = '', y = ''] = [point.slice(1, 33), point.slice(33)].map((half) => Buffer.from(half).toString('base64url'));
  return toDer({ kty: 'EC', crv: 'P-256', x, y });
}
