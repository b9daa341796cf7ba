import { createPublicKey, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { p256 } from '@noble/curves/nist.js';
import * as z from 'zod';
import { readJson, writeJson } from './files.ts';
import { close, listen, readBody } from './http.ts';

export interface KmsKey {
  keyId: string;
  /** the private scalar, 32 bytes */
  secret: Uint8Array;
}

export interface KmsAnswer {
  status: number;
  body: unknown;
}

export interface KmsOptions {
  /** default: one new key */
  keys?: readonly KmsKey[];
  /**
   * Sees each call with its honest answer and says what is sent instead: may wait, alter or replace it.
   * Where it throws, the connection is cut without an answer. Made for tests that inject faults.
   */
  disturb?(operation: string, answer: KmsAnswer): KmsAnswer | Promise<KmsAnswer>;
}

export interface RunningKms {
  endpoint: string;
  keyIds: string[];
  /** every call so far by the name of its operation; clear it with `length = 0` */
  operations: string[];
  stop(): Promise<void>;
}

const account = '000000000000';
const region = 'eu-west-1';

export const keyArn = (keyId: string): string => `arn:aws:kms:${region}:${account}:key/${keyId}`;

export const newKmsKey = (): KmsKey => ({ keyId: randomUUID(), secret: p256.utils.randomSecretKey() });

const keyFile = z.record(z.string(), z.object({ key_id: z.uuid(), secret: z.hex().length(64) }));

/** The keys of these names from a file; those that it lacks are made and added. The file is for its owner's eyes only. */
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

/** A refusal as KMS words it. */
class KmsError extends Error {
  readonly type: string;
  constructor(type: string, message: string) {
    super(message);
    this.type = type;
  }
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
 * A stand-in for KMS on a loopback port: real P-256 keys behind the wire protocol of KMS (JSON 1.1), for the SDK's own client.
 * Knows Sign, GetPublicKey, DescribeKey and CreateKey of ECC_NIST_P256 keys, and takes any credentials.
 */
export async function startKms({ keys = [newKmsKey()], disturb = (_, answer) => answer }: KmsOptions = {}): Promise<RunningKms> {
  const known = new Map(keys.map((key) => [key.keyId, key]));
  const operations: string[] = [];

  const find = (id: string): KmsKey => {
    const key = known.get(id.startsWith('arn:') ? (id.split('/').at(-1) ?? '') : id);
    if (!key) throw new KmsError('NotFoundException', 'The key does not exist.');
    return key;
  };

  const answers: Record<string, (input: unknown) => unknown> = {
    Sign: (input) => {
      const { KeyId, Message, MessageType, SigningAlgorithm } = parse(signInput, input);
      const { keyId, secret } = find(KeyId);
      requireEs256(SigningAlgorithm);
      const isDigest = MessageType === 'DIGEST';
      if (isDigest && Message.length !== 32)
        throw new KmsError('ValidationException', 'Digest is invalid length for algorithm ECDSA_SHA_256.');
      const signature = p256.sign(Message, secret, { prehash: !isDigest, lowS: false, format: 'der' });
      return { KeyId: keyArn(keyId), Signature: Buffer.from(signature).toString('base64'), SigningAlgorithm };
    },
    GetPublicKey: (input) => {
      const key = find(parse(keyInput, input).KeyId);
      return { ...describeKey(key), KeyId: keyArn(key.keyId), PublicKey: subjectPublicKeyInfo(key).toString('base64') };
    },
    DescribeKey: (input) => ({ KeyMetadata: metadata(find(parse(keyInput, input).KeyId)) }),
    CreateKey: (input) => {
      const { KeyUsage, KeySpec } = parse(createInput, input);
      if (KeyUsage !== 'SIGN_VERIFY' || KeySpec !== 'ECC_NIST_P256') {
        throw new KmsError(
          'UnsupportedOperationException',
          'Only keys of KeyUsage SIGN_VERIFY and KeySpec ECC_NIST_P256 can be made here.',
        );
      }
      const key = newKmsKey();
      known.set(key.keyId, key);
      return { KeyMetadata: metadata(key) };
    },
  };

  const answer = (operation: string, body: string): KmsAnswer => {
    try {
      const act = Object.hasOwn(answers, operation) ? answers[operation] : undefined;
      if (!act) throw new KmsError('UnknownOperationException', 'The operation is not known here.');
      return { status: 200, body: act(JSON.parse(body)) };
    } catch (error) {
      const { type, message } = error instanceof KmsError ? error : new KmsError('ValidationException', 'The request is not valid.');
      return { status: 400, body: { __type: type, message } };
    }
  };

  const server = createServer(async (request, response) => {
    try {
      const operation = String(request.headers['x-amz-target']).replace(/^TrentService\./, '');
      const body = (await readBody(request, 1024 * 1024)) ?? Buffer.alloc(0);
      operations.push(operation);
      const sent = await disturb(operation, answer(operation, body.toString()));
      response.writeHead(sent.status, { 'Content-Type': 'application/x-amz-json-1.1', 'x-amzn-RequestId': randomUUID() });
      response.end(JSON.stringify(sent.body));
    } catch {
      request.socket.destroy();
    }
  });
  const port = await listen(server);
  return { endpoint: `http://127.0.0.1:${port}`, keyIds: keys.map(({ keyId }) => keyId), operations, stop: () => close(server) };
}

function parse<T extends z.ZodType>(schema: T, input: unknown): z.output<T> {
  const result = schema.safeParse(input);
  if (result.success) return result.data;
  const [{ path, message } = { path: [], message: '' }] = result.error.issues;
  throw new KmsError('ValidationException', `${path.join('.')}: ${message}`);
}

function requireEs256(algorithm: string): void {
  if (algorithm !== 'ECDSA_SHA_256')
    throw new KmsError('InvalidKeyUsageException', `Algorithm ${algorithm} is incompatible with key spec ECC_NIST_P256.`);
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
