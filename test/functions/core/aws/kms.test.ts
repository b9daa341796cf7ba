import { createHash, createPublicKey, verify } from 'node:crypto';
import { afterEach, expect, test } from '@jest/globals';
import type { WireAnswer } from '../../../../bin/local/json-service.ts';
import { type RunningKms, startKms } from '../../../../bin/local/kms.ts';
import { openKms } from '../../../../functions/core/aws/kms.ts';
import { bounded } from '../../../../functions/core/runtime/invocation.ts';

const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };
const digest = Buffer.alloc(32, 7);

let kms: RunningKms;
afterEach(() => kms.stop());

/** KMS whose first answers are these, in place of its own. */
async function startWith(...first: (WireAnswer | Promise<never> | 'cut')[]) {
  kms = await startKms({
    disturb: (_, answer) => {
      const given = first.shift();
      if (given === 'cut') throw new Error('cut');
      return given ?? answer;
    },
  });
  return { ...kms, client: openKms({ endpoint: kms.endpoint, region: 'eu-west-1', credentials }), keyId: kms.keyIds[0] ?? '' };
}

const answer = (status: number, type: string): WireAnswer => ({ status, body: { __type: `com.amazonaws.kms#${type}`, message: 'secret' } });

test('the KMS client signs with the key whose public half it reads', async () => {
  const { client, keyId } = await startWith();
  const { arn, publicKey } = await client.getPublicKey(keyId);
  expect(arn).toBe(`arn:aws:kms:eu-west-1:000000000000:key/${keyId}`);
  const key = createPublicKey({ key: publicKey, format: 'der', type: 'spki' });
  const hashed = createHash('sha256').update('signed').digest();
  expect(verify('sha256', Buffer.from('signed'), key, await client.sign(arn, hashed))).toBe(true);
});

test.each<[string, WireAnswer | 'cut']>([
  ['is throttled', answer(400, 'ThrottlingException')],
  ['fails', answer(500, 'KMSInternalException')],
  ['is cut off', 'cut'],
])('a request that %s is sent again, three times in all', async (_, fault) => {
  const { client, keyId, operations } = await startWith(fault, fault);
  expect((await client.sign(keyId, digest)).length).toBeGreaterThan(60);
  expect(operations).toEqual(['Sign', 'Sign', 'Sign']);
});

test('a refusal is final', async () => {
  const { client, keyId, operations } = await startWith(answer(400, 'DisabledException'));
  await expect(client.sign(keyId, digest)).rejects.toMatchObject({ name: 'DisabledException' });
  expect(operations).toEqual(['Sign']);
});

test('the KMS client gives up after the third failure, with its name', async () => {
  const fault = answer(400, 'ThrottlingException');
  const { client, keyId, operations } = await startWith(fault, fault, fault);
  await expect(client.getPublicKey(keyId)).rejects.toMatchObject({ name: 'ThrottlingException' });
  expect(operations).toEqual(['GetPublicKey', 'GetPublicKey', 'GetPublicKey']);
});

test('the KMS client does not go on once the step that it is part of has ended', async () => {
  const { client, keyId, operations } = await startWith(new Promise(() => {}));
  await expect(bounded(50, () => client.sign(keyId, digest))).rejects.toMatchObject({ name: 'AbortError' });
  expect(operations).toEqual(['Sign']);
});
