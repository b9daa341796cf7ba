import { createHash, createPublicKey, verify } from 'node:crypto';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  CreateKeyCommand,
  DescribeKeyCommand,
  GetPublicKeyCommand,
  KMSClient,
  SignCommand,
  type SignCommandInput,
} from '@aws-sdk/client-kms';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { keepKeys, keyArn, type RunningKms, startKms } from '../../../bin/local/kms.ts';

const connect = ({ endpoint }: RunningKms) =>
  new KMSClient({ endpoint, region: 'eu-west-1', maxAttempts: 1, credentials: { accessKeyId: 'a', secretAccessKey: 'b' } });

let kms: RunningKms;
let client: KMSClient;
let keyId: string;

beforeAll(async () => {
  kms = await startKms();
  client = connect(kms);
  keyId = kms.keyIds[0] ?? '';
});

afterAll(async () => {
  client.destroy();
  await kms.stop();
});

const publicKeyOf = async (id: string) => {
  const { PublicKey } = await client.send(new GetPublicKeyCommand({ KeyId: id }));
  return createPublicKey({ key: Buffer.from(PublicKey ?? []), format: 'der', type: 'spki' });
};

const message = Buffer.from('to be signed');
const es256 = 'ECDSA_SHA_256' as const;

describe('Sign', () => {
  test.each([
    ['a digest', 'DIGEST' as const, createHash('sha256').update(message).digest()],
    ['a message', 'RAW' as const, message],
  ])('%s gives a DER signature that the public key verifies', async (_, MessageType, Message) => {
    const output = await client.send(new SignCommand({ KeyId: keyId, Message, MessageType, SigningAlgorithm: es256 }));
    expect(output).toMatchObject({ KeyId: keyArn(keyId), SigningAlgorithm: es256 });
    expect(verify('sha256', message, await publicKeyOf(keyId), output.Signature ?? Buffer.alloc(0))).toBe(true);
  });

  test('takes the ARN for the id', async () => {
    const { Signature = new Uint8Array() } = await client.send(
      new SignCommand({ KeyId: keyArn(keyId), Message: message, SigningAlgorithm: es256 }),
    );
    expect(verify('sha256', message, await publicKeyOf(keyArn(keyId)), Signature)).toBe(true);
  });

  test.each<[string, Partial<SignCommandInput>, string, string]>([
    ['an unknown key', { KeyId: 'none' }, 'NotFoundException', 'The key does not exist.'],
    ['a short digest', { MessageType: 'DIGEST' }, 'ValidationException', 'Digest is invalid length for algorithm ECDSA_SHA_256.'],
    ['a long message', { Message: Buffer.alloc(4097) }, 'ValidationException', 'Message: Message must have 1 to 4096 bytes'],
    [
      'another algorithm',
      { SigningAlgorithm: 'ECDSA_SHA_384' },
      'InvalidKeyUsageException',
      'Algorithm ECDSA_SHA_384 is incompatible with key spec ECC_NIST_P256.',
    ],
  ])('refuses %s', async (_, change, name, text) => {
    const input = { KeyId: keyId, Message: message, SigningAlgorithm: es256, ...change };
    await expect(client.send(new SignCommand(input))).rejects.toMatchObject({ name, message: text, $metadata: { httpStatusCode: 400 } });
  });
});

test('makes and describes keys', async () => {
  const { KeyMetadata: made } = await client.send(new CreateKeyCommand({ KeySpec: 'ECC_NIST_P256', KeyUsage: 'SIGN_VERIFY' }));
  const { KeyMetadata: described } = await client.send(new DescribeKeyCommand({ KeyId: made?.KeyId }));
  expect(described).toEqual(made);
  expect(described).toMatchObject({ KeySpec: 'ECC_NIST_P256', KeyUsage: 'SIGN_VERIFY', SigningAlgorithms: [es256], Enabled: true });
  await expect(client.send(new CreateKeyCommand({ KeySpec: 'RSA_2048', KeyUsage: 'SIGN_VERIFY' }))).rejects.toMatchObject({
    name: 'UnsupportedOperationException',
  });
});

test('disturb replaces answers and cuts connections', async () => {
  const faults = [
    () => ({ status: 400, body: { __type: 'ThrottlingException', message: 'Rate exceeded' } }),
    () => {
      throw new Error('cut');
    },
  ];
  const disturbed = await startKms({ disturb: (_, answer) => faults.shift()?.() ?? answer });
  const other = connect(disturbed);
  const describeIt = () => other.send(new DescribeKeyCommand({ KeyId: disturbed.keyIds[0] }));
  try {
    await expect(describeIt()).rejects.toMatchObject({ name: 'ThrottlingException', message: 'Rate exceeded' });
    await expect(describeIt()).rejects.toThrow('socket hang up');
    expect((await describeIt()).KeyMetadata?.KeyId).toBe(disturbed.keyIds[0]);
    expect(disturbed.operations).toEqual(['DescribeKey', 'DescribeKey', 'DescribeKey']);
  } finally {
    other.destroy();
    await disturbed.stop();
  }
});

test('keepKeys keeps keys by name in a file that only its owner reads', () => {
  const folder = mkdtempSync(join(tmpdir(), 'kms-'));
  const path = join(folder, 'keys.json');
  const first = keepKeys(path, ['KeyA']);
  const second = keepKeys(path, ['KeyA', 'KeyB']);
  expect(Object.keys(second)).toEqual(['KeyA', 'KeyB']);
  expect(second.KeyA?.keyId).toBe(first.KeyA?.keyId);
  expect(Buffer.from(second.KeyA?.secret ?? [])).toEqual(Buffer.from(first.KeyA?.secret ?? []));
  expect(statSync(path).mode & 0o777).toBe(0o600);
  rmSync(folder, { recursive: true });
});
