import { beforeEach, describe, expect, jest, test } from '@jest/globals';
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import type { Admin } from '../../../../functions/core/admin/admin.ts';
import { forAdmins } from '../../../../functions/core/admin/for-admins.ts';
import { openAdminVerifier } from '../../../../functions/core/admin/verify-admin.ts';
import { noContent } from '../../../../functions/core/http/response.ts';
import { type Answer, invoke } from '../../../support/invoke.ts';

const userPool = 'eu-west-1_Example01';
const issuer = `https://cognito-idp.eu-west-1.amazonaws.com/${userPool}`;
const clientId = 'people';
const adminScope = 'intent-gate/admin';
const now = Math.floor(Date.now() / 1000);
const adminClaims = {
  iss: issuer,
  sub: 'somebody',
  token_use: 'access',
  client_id: clientId,
  username: 'alice',
  scope: 'openid',
  'cognito:groups': ['admins'],
  iat: now,
  exp: now + 3_600,
};

const { exp: _, ...endlessClaims } = adminClaims;
const keyPair = await generateKeyPair('RS256');
const strangersKeyPair = await generateKeyPair('RS256');
const jwk = { ...(await exportJWK(keyPair.publicKey)), kid: 'key-1', alg: 'RS256', use: 'sig' };

let keySet: { status: number; body: string };
let fetches: number;

// The verifier calls the real issuer, which tests must not reach.
jest.spyOn(globalThis, 'fetch').mockImplementation(async (address, options) => {
  expect(address).toBe(`${issuer}/.well-known/jwks.json`);
  // a reused connection may break while the environment is frozen
  expect(options?.headers).toEqual({ connection: 'close' });
  fetches++;
  return new Response(keySet.body, { status: keySet.status });
});
beforeEach(() => {
  fetches = 0;
  keySet = { status: 200, body: JSON.stringify({ keys: [jwk] }) };
});

const sign = (claims: JWTPayload, { kid = 'key-1', key = keyPair.privateKey } = {}) =>
  new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid }).sign(key);

const segment = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

const open = () => openAdminVerifier({ userPool, clientIds: [clientId, 'machines'], adminScope });

/** The last admin that the verifier admitted. */
let admitted: Admin | undefined;

async function knock(token: string | undefined, verifyAdmin = open(), headers: Record<string, string> = {}): Promise<Answer> {
  admitted = undefined;
  const steps = forAdmins(verifyAdmin, async (admin) => {
    admitted = admin;
    return noContent();
  });
  return invoke(steps, 'GET /', { headers: { ...headers, ...(token !== undefined && { Authorization: `Bearer ${token}` }) } });
}

const invalid = 'The admin token is not valid: it must be an unexpired access token of this deployment. Log in again.';
const notAdmin = 'The token is valid, but does not belong to an admin. Ask to be added to the group admins.';
const unfetchable = 'The key set of the user pool, which verifies the token, cannot be fetched. Try again after Retry-After.';
const refused = (status: number, code: string, message: string) =>
  expect.objectContaining({ status, body: { error: { code, message, details: expect.objectContaining({ request_id: 'request-1' }) } } });

const alice = { subject: 'somebody', user_name: 'alice' };
const { username: _alice, ...machineClaims } = { ...adminClaims, client_id: 'machines', sub: 'machines', 'cognito:groups': undefined };
const payGroups = ['admins:pay', 'users', 'admins:pay.example', 'admins:pay'];
const payScope = `${adminScope}:pay.example`;
const machine = { subject: 'machines', client_id: 'machines' };

test.each<[string, JWTPayload, Partial<Admin>]>([
  ['a member of the group', adminClaims, { actor: alice }],
  ['a machine client with the scope', { ...machineClaims, scope: adminScope }, { actor: machine }],
  [
    'members of groups of namespaces',
    { ...adminClaims, 'cognito:groups': payGroups },
    { actor: alice, namespaces: ['pay', 'pay.example'] },
  ],
  ['a machine client of a namespace', { ...machineClaims, scope: payScope }, { actor: machine, namespaces: ['pay.example'] }],
  ['a full admin who is in the group of a namespace too', { ...adminClaims, 'cognito:groups': ['admins:pay', 'admins'] }, { actor: alice }],
])('verifyAdmin admits %s with their rights', async (_, claims, expected) => {
  expect(await knock(await sign(claims))).toMatchObject({ status: 204 });
  expect(admitted).toEqual({ ...expected, requestId: 'request-1' });
});

test('verifyAdmin tells the import that a request belongs to, unless its id is malformed', async () => {
  const token = await sign(adminClaims);
  expect(await knock(token, open(), { 'Import-Id': 'import-1' })).toMatchObject({ status: 204 });
  expect(admitted).toMatchObject({ importId: 'import-1' });
  const answer = await knock(token, open(), { 'Import-Id': 'an import' });
  expect(answer).toMatchObject({ status: 400, body: { error: { code: 'INVALID_PARAMETER' } } });
  expect(answer.body.error.details.issues).toEqual([
    { path: '', problem: 'the header Import-Id must be at most 64 letters, digits, - and _' },
  ]);
});

test('verifyAdmin requires a token', async () => {
  const answer = await knock(undefined);
  expect(answer).toEqual(refused(401, 'UNAUTHORIZED', 'Send the header Authorization: Bearer <token>.'));
  expect(answer.headers['WWW-Authenticate']).toBe('Bearer realm="intent-gate"');
  expect(admitted).toBeUndefined();
});

test.each<[string, JWTPayload]>([
  ['an ID token', { ...adminClaims, token_use: 'id', aud: clientId }],
  ['another pool', { ...adminClaims, iss: 'https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_Another01' }],
  ['another client', { ...adminClaims, client_id: 'strangers' }],
  ['no client', { ...adminClaims, client_id: undefined }],
  ['an expired token', { ...adminClaims, exp: now - 1 }],
  ['a token without expiry', endlessClaims],
])('verifyAdmin refuses %s', async (_, claims) => {
  const answer = await knock(await sign(claims));
  expect(answer).toEqual(refused(401, 'UNAUTHORIZED', invalid));
  expect(answer.headers['WWW-Authenticate']).toBe('Bearer realm="intent-gate", error="invalid_token"');
  expect(admitted).toBeUndefined();
});

test.each<[string, () => Promise<string> | string]>([
  ["a stranger's signature", () => sign(adminClaims, { key: strangersKeyPair.privateKey })],
  ['an unknown key', () => sign(adminClaims, { kid: 'key-2' })],
  ['no signature', async () => (await sign(adminClaims)).replace(/[^.]+$/, '')],
  ['alg none', () => `${segment({ alg: 'none' })}.${segment(adminClaims)}.`],
  ['text', () => 'admin'],
])('verifyAdmin refuses %s', async (_, make) => {
  expect(await knock(await make())).toEqual(refused(401, 'UNAUTHORIZED', expect.any(String) as never));
});

test.each<[string, JWTPayload]>([
  ['no group', { ...adminClaims, 'cognito:groups': undefined }],
  ['a group in other case', { ...adminClaims, 'cognito:groups': ['Admins'] }],
  ['a group that begins like it', { ...adminClaims, 'cognito:groups': ['admins-pay', 'adminspay', 'admins.pay'] }],
  ['the group of no namespace', { ...adminClaims, 'cognito:groups': ['admins:', 'admins:a b', 'admins:a:b', 'admins:*'] }],
  ['the scope of no namespace', { ...adminClaims, 'cognito:groups': undefined, scope: `${adminScope}: ${adminScope}:a/b` }],
  ['the group as text', { ...adminClaims, 'cognito:groups': 'admins' }],
  ['an attribute that users write', { ...adminClaims, 'cognito:groups': undefined, 'custom:role': 'admin', 'custom:groups': ['admins'] }],
  ['a scope that begins like it', { ...adminClaims, 'cognito:groups': undefined, scope: `${adminScope}s intent-gate/` }],
])('verifyAdmin refuses %s', async (_, claims) => {
  expect(await knock(await sign(claims))).toEqual(refused(403, 'FORBIDDEN', notAdmin));
});

describe('the key set', () => {
  test.each([
    ['an error', { status: 500, body: '' }],
    ['nothing in it', { status: 200, body: '{"keys":[]}' }],
    ['no keys', { status: 200, body: '{}' }],
  ])('a key set with %s is unavailable, and fetched again', async (_, broken) => {
    const verifyAdmin = open();
    const token = await sign(adminClaims);
    const healthy = keySet;
    keySet = broken;
    expect(await knock(token, verifyAdmin)).toEqual(refused(503, 'SERVICE_UNAVAILABLE', unfetchable));
    keySet = healthy;
    expect(await knock(token, verifyAdmin)).toMatchObject({ status: 204 });
  });

  test('a key set that is empty when it is fetched again does not replace the known one', async () => {
    const verifyAdmin = open();
    const token = await sign(adminClaims);
    await knock(token, verifyAdmin);
    const healthy = keySet;
    keySet = { status: 200, body: '{"keys":[]}' };
    const stranger = await sign(adminClaims, { kid: 'unknown' });
    expect(await knock(stranger, verifyAdmin)).toEqual(refused(503, 'SERVICE_UNAVAILABLE', unfetchable));
    expect(await knock(token, verifyAdmin)).toMatchObject({ status: 204 });
    keySet = healthy;
  });

  test('the key set is fetched once for many tokens, and not for every unknown key', async () => {
    const verifyAdmin = open();
    const token = await sign(adminClaims);
    await Promise.all(Array.from({ length: 20 }, () => knock(token, verifyAdmin)));
    expect(fetches).toBe(1);
    for (let index = 0; index < 10; index++) {
      const stranger = await sign(adminClaims, { kid: `unknown-${index}` });
      expect(await knock(stranger, verifyAdmin)).toEqual(refused(401, 'UNAUTHORIZED', invalid));
    }
    expect(fetches).toBe(2);
  });
});
