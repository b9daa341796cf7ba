import { createHmac, type KeyObject, sign } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { signatureFromDer } from '../../../../functions/core/pat/ecdsa.ts';
import { openPatVerifier } from '../../../../functions/core/pat/verify.ts';
import { unavailable } from '../../../../functions/core/runtime/api-error.ts';
import type { PatClaims } from '../../../../schemas/pat.ts';
import { makeAgent, signJws } from '../../../support/agent-keys.ts';
import { judgePat } from '../../../support/second-verifier.ts';
import { address, byKey, makeKey, now, order } from '../../../support/tokens.ts';

const at = { baseUrl: address, nowMs: now * 1000 + 999 };

const [ours, theirs] = [await makeKey(), await makeKey()];
const jwks = { keys: [{ ...ours.jwk, kid: ours.kid, alg: 'ES256', use: 'sig' }] };

const asked: string[] = [];
const verify = openPatVerifier({
  findKey: async (kid) => {
    asked.push(kid);
    return kid === ours.kid ? ours.publicKey : undefined;
  },
});

const claims: PatClaims = { ...byKey, exp: now + 1, lmt: { rate: 60, period: 60 }, bil: { method: 'invoice', id: 'i1' } };
const header = { alg: 'ES256', typ: 'pat+jwt', kid: ours.kid };

const encode = (text: string | Buffer) => Buffer.from(text).toString('base64url');
const json = (value: unknown) => encode(JSON.stringify(value));
const seal = (input: string, key: KeyObject = ours.privateKey) =>
  `${input}.${encode(signatureFromDer(sign('sha256', Buffer.from(input), key)))}`;
const token = (edit: object = {}, editHeader: object = {}, key = ours.privateKey) =>
  seal(`${json({ ...header, ...editHeader })}.${json({ ...claims, ...edit })}`, key);
/** a token with this text as its claims */
const tokenOf = (payload: string | Buffer) => seal(`${json(header)}.${encode(payload)}`);

const notOurs = 'The PAT was not issued by this gate for this address. Get one with POST /api/pat/issue.';
const expired = 'The PAT has expired. Get a new one with POST /api/pat/issue.';
const refusalOf = (message: string) => ({
  code: 'UNAUTHORIZED',
  status: 401,
  message,
  details: {},
  headers: { 'WWW-Authenticate': 'Bearer realm="intent-gate", error="invalid_token"' },
});

test('a PAT is accepted as it was issued', async () => {
  expect(await verify(token(), at)).toEqual(claims);
  const { lmt, bil, ...required } = claims;
  expect(await verify(tokenOf(JSON.stringify(required)), at)).toEqual(required);
  expect(await verify(token({ dpop: true }), at)).toEqual({ ...claims, dpop: true });
});

const good = token();
const [goodHeader = '', goodPayload = '', goodSignature = ''] = good.split('.');
const input = `${goodHeader}.${goodPayload}`;
const bytes = Buffer.from(goodSignature, 'base64url');
const hex = (number: bigint) => number.toString(16).padStart(64, '0');
const [r, s] = [bytes.subarray(0, 32), bytes.subarray(32)].map((half) => BigInt(`0x${half.toString('hex')}`)) as [bigint, bigint];
const signed = (...numbers: [bigint, bigint]) => `${input}.${encode(Buffer.from(numbers.map(hex).join(''), 'hex'))}`;
const hmac = (alg: string, secret: string | Buffer) => {
  const hmacInput = `${json({ ...header, alg })}.${goodPayload}`;
  return `${hmacInput}.${createHmac('sha256', secret).update(hmacInput).digest('base64url')}`;
};

test.each<[string, string]>([
  ['nothing', ''],
  ['padding', `${good}==`],
  ['the other signature that verifies', signed(r, order - s)],
  ['7 KB', token({ sub: 'a'.repeat(6000) })],
  ...['none', 'None', 'NONE', 'nOnE'].flatMap((alg): [string, string][] => [
    [`alg ${alg}`, `${json({ ...header, alg })}.${goodPayload}.`],
    [`alg ${alg}, signed`, token({}, { alg })],
  ]),
  ['HS256 with the PEM', hmac('HS256', ours.publicKey.export({ format: 'pem', type: 'spki' }))],
  ['ES384', token({}, { alg: 'ES384' })],
  ['typ JWT', token({}, { typ: 'JWT' })],
  ['jwk', token({}, { jwk: theirs.jwk }, theirs.privateKey)],
  ['crit', token({}, { crit: ['exp'] })],
  ['another order of headers', seal(`${json({ kid: ours.kid, typ: 'pat+jwt', alg: 'ES256' })}.${goodPayload}`)],
  ['no kid', token({}, { kid: undefined })],
  ['a kid that is a path', token({}, { kid: '../../../../dev/null' })],
])('a PAT is refused without looking up a key: %s', async (_, text) => {
  asked.length = 0;
  await expect(verify(text, at)).rejects.toMatchObject(refusalOf(notOurs));
  expect(asked).toEqual([]);
  expect(judgePat(text, { jwks, address, now })).toHaveProperty('reason');
});

const agent = await makeAgent('P-256');
const [signedPolicy, proof] = [
  await signJws(agent, JSON.stringify(claims), header),
  await signJws(agent, JSON.stringify({ jti: 'j', htm: 'POST' }), { typ: 'dpop+jwt', jwk: agent.jwk }),
];

describe('refused PATs', () => {
  test.each<[string, string]>([
    ['an unknown kid', token({}, { kid: theirs.kid }, theirs.privateKey)],
    ['another key under our kid', token({}, {}, theirs.privateKey)],
    ['a changed payload', good.replace(goodPayload, json({ ...claims, sub: 'agent-2' }))],
    ['a signed policy', signedPolicy],
    ['a proof of possession', proof],
    ['claims that are no JSON', tokenOf('{')],
    ['nbf in a second', token({ nbf: now + 1 })],
    ['another issuer', token({ iss: 'https://other.example' })],
    ['an issuer with a slash', token({ iss: `${address}/` })],
    ['another audience', token({ aud: 'https://other.example' })],
    ['an unknown claim', token({ admin: true })],
    ['a limit of none', token({ lmt: { rate: 0, period: 60 } })],
    ['a limit with more', token({ lmt: { rate: 1, period: 60, burst: 9 } })],
    ['another way to bill', token({ bil: { method: 'barter', id: 'x' } })],
    ['an empty key', token({ cnf: {} })],
  ])('a PAT is refused: %s', async (_, text) => {
    const error = await verify(text, at).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject(refusalOf(expect.stringMatching(/^The PAT (was not issued by this gate|has expired)/) as never));
    expect(judgePat(text, { jwks, address, now })).toHaveProperty('reason');
  });

  test.each([
    ['exp now', now],
    ['exp a second ago', now - 1],
    ['exp in 1970', 0],
  ])('an expired PAT is refused: %s', async (_, exp) => {
    await expect(verify(token({ exp }), at)).rejects.toMatchObject(refusalOf(expired));
  });

  test('every PAT is refused while the keys cannot be read', async () => {
    const failure = unavailable('The signing keys cannot be reached. Try again after Retry-After.');
    await expect(openPatVerifier({ findKey: () => Promise.reject(failure) })(good, at)).rejects.toBe(failure);
  });
});

describe('a PAT that has been verified before', () => {
  const text = token({ nbf: now, exp: now + 10 });
  const atSecond = (second: number, baseUrl = address) => ({ baseUrl, nowMs: second * 1000 });

  test('a PAT that has been verified before has its claims checked again', async () => {
    expect(await verify(text, atSecond(now))).toMatchObject({ jti: 'j' });
    await expect(verify(text, atSecond(now - 1))).rejects.toMatchObject(refusalOf(notOurs));
    await expect(verify(text, atSecond(now, 'https://other.example'))).rejects.toMatchObject(refusalOf(notOurs));
    await expect(verify(text, atSecond(now + 10))).rejects.toMatchObject(refusalOf(expired));
    expect(await verify(text, atSecond(now + 9))).toMatchObject({ jti: 'j' });
  });

  test('a PAT that has been verified before does not outlive its key, and is verified again under another one', async () => {
    let current: KeyObject | undefined = ours.publicKey;
    const check = openPatVerifier({ findKey: async () => current });
    await check(text, atSecond(now));
    current = undefined;
    await expect(check(text, atSecond(now))).rejects.toMatchObject(refusalOf(notOurs));
    current = theirs.publicKey;
    await expect(check(text, atSecond(now))).rejects.toMatchObject(refusalOf(notOurs));
  });

  test('a PAT that has been verified before does not vouch for another text with its signature', async () => {
    await verify(text, atSecond(now));
    const [, , signature] = text.split('.');
    const forged = `${json(header)}.${json({ ...claims, sub: 'agent-2', exp: now + 10 })}.${signature}`;
    await expect(verify(forged, atSecond(now))).rejects.toMatchObject(refusalOf(notOurs));
    await expect(verify(`${text}=`, atSecond(now))).rejects.toMatchObject(refusalOf(notOurs));
  });
});
