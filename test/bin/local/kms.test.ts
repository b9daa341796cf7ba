import { createHash, createPublicKey, verify } from 'node:crypto';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GetPublicKeyCommand, KMSClient, SignCommand, type SignCommandInput } from '@aws-sdk/client-kms';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
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
const input = {
  Message: createHash('sha256').update(message).digest(),
  MessageType: 'DIGEST',
  SigningAlgorithm: 'ECDSA_SHA_256',
} satisfies Partial<SignCommandInput>;

test.each([
  ['id', () => keyId],
  ['ARN', () => keyArn(keyId)],
])('Sign gives a DER signature of a digest, by the %s of the key, that the public key verifies', async (_, find) => {
  const output = await client.send(new SignCommand({ ...input, KeyId: find() }));
  expect(output).toMatchObject({ KeyId: keyArn(keyId), SigningAlgorithm: 'ECDSA_SHA_256' });
  expect(verify('sha256', message, await publicKeyOf(find()), output.Signature ?? Buffer.alloc(0))).toBe(true);
});

test.each<[string, Partial<SignCommandInput>, string]>([
  ['an unknown key', { KeyId: 'none' }, 'NotFoundException'],
  ['a short digest', { Message: Buffer.alloc(31) }, 'ValidationException'],
  ['a message', { MessageType: 'RAW' }, 'ValidationException'],
  ['another algorithm', { SigningAlgorithm: 'ECDSA_SHA_384' }, 'ValidationException'],
])('Sign refuses %s', async (_, change, name) => {
  const signing = client.send(new SignCommand({ ...input, KeyId: keyId, ...change }));
  await expect(signing).rejects.toMatchObject({ name, $metadata: { httpStatusCode: 400 } });
});

test('keepKeys keeps keys by name in a file that only its owner reads', () => {
  const folder = mkdtempSync(join(tmpdir(), 'kms-'));
  const path = join(folder, 'keys.json');
  const first = keepKeys(path, new Map([['KeyA', 'ECC_NIST_P256']]));
  const second = keepKeys(
    path,
    new Map([
      ['KeyA', 'ECC_NIST_P256'],
      ['KeyB', 'ECC_NIST_EDWARDS25519'],
    ]),
  );
  expect(Object.keys(second)).toEqual(['KeyA', 'KeyB']);
  expect(second.KeyB?.spec).toBe('ECC_NIST_EDWARDS25519');
  expect(second.KeyA?.keyId).toBe(first.KeyA?.keyId);
  expect(Buffer.from(second.KeyA?.secret ?? [])).toEqual(Buffer.from(first.KeyA?.secret ?? []));
  expect(statSync(path).mode & 0o777).toBe(0o600);
  rmSync(folder, { recursive: true });
});
