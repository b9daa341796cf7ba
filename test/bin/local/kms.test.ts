import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KMSClient, SignCommand, type SignCommandInput } from '@aws-sdk/client-kms';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { keepKeys, type RunningKms, startKms } from '../../../bin/local/kms.ts';

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

const input = {
  Message: Buffer.alloc(32),
  MessageType: 'DIGEST',
  SigningAlgorithm: 'ECDSA_SHA_256',
} satisfies Partial<SignCommandInput>;

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
