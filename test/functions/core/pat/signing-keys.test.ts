import { createHash } from 'node:crypto';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import type { WireAnswer } from '../../../../bin/local/json-service.ts';
import { type KmsOptions, newKmsKey, type RunningKms, startKms } from '../../../../bin/local/kms.ts';
import { type Kms, openKms } from '../../../../functions/core/aws/kms.ts';
import { openSigningKeys } from '../../../../functions/core/pat/signing-keys.ts';
import { headerSegment, signPat } from '../../../../functions/core/pat/token.ts';
import { openPatVerifier } from '../../../../functions/core/pat/verify.ts';
import { ApiError } from '../../../../functions/core/runtime/api-error.ts';
import type { PatClaims } from '../../../../schemas/pat.ts';
import { judgePat } from '../../../support/second-verifier.ts';
import { address, byKey, now } from '../../../support/tokens.ts';

const claims: PatClaims = { ...byKey, exp: now + 3_600 };
const at = { baseUrl: address, nowMs: now * 1000 };

const running: { stop(): unknown }[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((part) => part.stop()));
});

async function start(options?: KmsOptions): Promise<RunningKms & { client: Kms }> {
  const kms = await startKms(options);
  running.push(kms);
  const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };
  return { ...kms, client: openKms({ endpoint: kms.endpoint, region: 'eu-west-1', credentials }) };
}

const unavailable = {
  code: 'SERVICE_UNAVAILABLE',
  status: 503,
  message: 'The signing keys cannot be reached. Try again after Retry-After.',
  headers: { 'Retry-After': '1' },
};
const refusal = (type: string): WireAnswer => ({ status: 400, body: { __type: type, message: 'secret words of KMS' } });

describe('signing', () => {
  test('the signer makes PATs that both verifiers accept, with one KMS call each', async () => {
    const { client, keyIds, operations } = await start();
    const keys = openSigningKeys(client, keyIds);
    const verify = openPatVerifier({ findKey: keys.find });
    const jwks = await keys.jwks();
    for (let count = 0; count < 20; count++) {
      const pat = await signPat(keys, { ...claims, jti: `j${count}` });
      expect(await verify(pat, at)).toEqual({ ...claims, jti: `j${count}` });
      expect(judgePat(pat, { jwks, address, now })).toEqual({ claims: { ...claims, jti: `j${count}` } });
    }
    expect(operations).toEqual(['GetPublicKey', ...new Array(20).fill('Sign')]);
  });

  test('the signer publishes keys as in RFC 7517 and RFC 7638', async () => {
    const { client, keyIds } = await start({ keys: [newKmsKey(), newKmsKey()] });
    const { keys } = await openSigningKeys(client, keyIds).jwks();
    expect(keys).toHaveLength(2);
    for (const { kty, crv, x, y, ...rest } of keys) {
      const kid = createHash('sha256').update(JSON.stringify({ crv, kty, x, y })).digest('base64url');
      expect({ kty, crv, ...rest }).toEqual({ kty: 'EC', crv: 'P-256', kid, alg: 'ES256', use: 'sig' });
    }
  });

  test('the signer refuses a PAT that is too large for a header', async () => {
    const { client, keyIds } = await start();
    const scope = Array.from({ length: 200 }, (_, number) => `namespace-${number}.example:x:v1:execute`);
    await expect(signPat(openSigningKeys(client, keyIds), { ...claims, scope })).rejects.toThrow(
      new RangeError('the PAT is larger than 6144 bytes'),
    );
  });

  const signFaults: [string, (body: Record<string, string>) => WireAnswer, object][] = [
    ['throttled', () => refusal('ThrottlingException'), unavailable],
    [
      'with r||s in place of DER',
      (body) => ({ status: 200, body: { ...body, Signature: Buffer.alloc(64, 1).toString('base64') } }),
      { message: 'not a DER signature' },
    ],
    [
      'with a wrong signature',
      (body) => ({ status: 200, body: { ...body, Signature: Buffer.from('3006020105020105', 'hex').toString('base64') } }),
      { message: 'KMS returned a signature that its own public key does not verify' },
    ],
  ];
  test.each(signFaults)('the signer issues no PAT for a response %s, and verification continues', async (_, fault, expected) => {
    let isFaulty = false;
    const { client, keyIds } = await start({
      disturb: (operation, answer) => (isFaulty && operation === 'Sign' ? fault(answer.body as Record<string, string>) : answer),
    });
    const keys = openSigningKeys(client, keyIds);
    const pat = await signPat(keys, claims);
    isFaulty = true;
    const error = await signPat(keys, claims).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject(expected);
    expect(error instanceof ApiError).toBe(expected === unavailable);
    expect(await openPatVerifier({ findKey: keys.find })(pat, at)).toEqual(claims);
    isFaulty = false;
    expect(await openPatVerifier({ findKey: keys.find })(await signPat(keys, claims), at)).toEqual(claims);
  });

  test('the signer keeps using the key that an alias pointed to when it was read', async () => {
    const [earlier, later] = [newKmsKey(), newKmsKey()];
    const { client } = await start({ keys: [earlier, later] });
    const read = jest.spyOn(client, 'getPublicKey');
    const sign = jest.spyOn(client, 'sign');
    await signPat(openSigningKeys(client, [earlier.keyId]), claims);
    const asked = [read, sign].map(({ mock }) => mock.calls.map(([keyId]) => keyId));
    expect(asked).toEqual([[earlier.keyId], [`arn:aws:kms:eu-west-1:000000000000:key/${earlier.keyId}`]]);
  });
});

describe('finding keys', () => {
  test('the verifier reads each public key once, even for concurrent requests, and never for an unknown kid', async () => {
    const { client, keyIds, operations } = await start({ keys: [newKmsKey(), newKmsKey()] });
    const keys = openSigningKeys(client, keyIds);
    const { kid } = await keys.current();
    await Promise.all(Array.from({ length: 50 }, () => keys.find(kid)));
    for (let count = 0; count < 100; count++) expect(await keys.find(`${kid}x`)).toBeUndefined();
    expect(operations).toEqual(['GetPublicKey', 'GetPublicKey']);
  });

  test('the verifier answers 503 if the key may be an unreadable one, and reads again after a second', async () => {
    let isDown = true;
    let nowMs = 0;
    const { client, keyIds, operations } = await start({ disturb: (_, answer) => (isDown ? refusal('DisabledException') : answer) });
    const keys = openSigningKeys(client, keyIds, () => nowMs);
    for (let count = 0; count < 5; count++) await expect(keys.find('unknown')).rejects.toMatchObject(unavailable);
    await expect(keys.jwks()).rejects.toMatchObject(unavailable);
    await expect(keys.sign('x')).rejects.toMatchObject(unavailable);
    expect(operations).toEqual(['GetPublicKey']);
    isDown = false;
    nowMs += 1_000;
    expect(await keys.find('unknown')).toBeUndefined();
    expect(await keys.find((await keys.current()).kid)).toBeDefined();
    expect(operations).toEqual(['GetPublicKey', 'GetPublicKey']);
  });

  test('the verifier finds a key even if another one hangs or is gone', async () => {
    const [good, gone, slow] = [newKmsKey(), newKmsKey(), newKmsKey()];
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const { client } = await start({
      keys: [good, slow],
      disturb: async (_, answer) => {
        if (JSON.stringify(answer.body).includes(slow.keyId)) await released;
        return answer;
      },
    });
    const keys = openSigningKeys(client, [good.keyId, slow.keyId, gone.keyId]);
    const pat = await signPat(keys, claims);
    expect(await openPatVerifier({ findKey: keys.find })(pat, at)).toEqual(claims);
    release();
  });

  test('the verifier refuses a key of another kind', async () => {
    const { client, keyIds } = await start({
      disturb: (_, { status, body }) => ({
        status,
        body: { ...(body as object), PublicKey: Buffer.from(`302a300506032b6570032100${'5d'.repeat(32)}`, 'hex').toString('base64') },
      }),
    });
    await expect(openSigningKeys(client, keyIds).current()).rejects.toThrow('a signing key is not of ECC_NIST_P256');
  });
});

test('a KMS that hangs is answered with 503 after two and a half seconds', async () => {
  const asked = Promise.withResolvers<void>();
  const { client, keyIds } = await start({
    disturb: () => {
      asked.resolve();
      return new Promise<never>(() => undefined);
    },
  });
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'Date', 'performance'] });
  const refused = expect(openSigningKeys(client, keyIds).sign('x')).rejects.toMatchObject(unavailable);
  await asked.promise;
  jest.advanceTimersByTime(2_500);
  jest.useRealTimers();
  await refused;
});

test('keys rotate step by step: no valid PAT is refused, and none outlives the retirement of its key', async () => {
  const [earlier, later] = [newKmsKey(), newKmsKey()];
  const { client } = await start({ keys: [earlier, later] });
  // the procedure: announce the later key, sign with it, retire the earlier one
  const steps = [[earlier], [earlier, later], [later, earlier], [later]].map((keys) =>
    openSigningKeys(
      client,
      keys.map(({ keyId }) => keyId),
    ),
  );
  const pats = await Promise.all(steps.map((keys) => signPat(keys, claims)));
  const [announced, signing, ...others] = await Promise.all(steps.map(async (keys) => (await keys.current()).kid));
  expect([signing, others[0] === others[1]]).toEqual([announced, true]);
  expect(pats.map((pat) => pat.split('.')[0])).toEqual([announced, signing, ...others].map((kid) => headerSegment(kid ?? '')));
  // while a step is being deployed, instances of two neighbouring steps serve the same agents
  const accepted = steps.map(({ find }) =>
    Promise.all(
      pats.map((pat) =>
        openPatVerifier({ findKey: find })(pat, at).then(
          () => true,
          ({ code }: ApiError) => code !== 'UNAUTHORIZED',
        ),
      ),
    ),
  );
  expect(await Promise.all(accepted)).toEqual([
    [true, true, false, false],
    [true, true, true, true],
    [true, true, true, true],
    [false, false, true, true],
  ]);
});
