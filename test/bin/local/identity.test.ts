import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CognitoIdentityProvider } from '@aws-sdk/client-cognito-identity-provider';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { CognitoJwtVerifier } from 'aws-jwt-verify';
import type { JwkWithKid } from 'aws-jwt-verify/jwk';
import { type RunningIdentity, startIdentity } from '../../../bin/local/identity.ts';
import { readGrant } from '../../../functions/core/admin/verify-admin.ts';

const folder = mkdtempSync(join(tmpdir(), 'identity-'));
let identity: RunningIdentity;

beforeAll(async () => {
  identity = await startIdentity({ folder, callbackUrl: 'http://127.0.0.1/oauth/signed-in', consoleUrl: 'http://127.0.0.1/console' });
});

afterAll(async () => {
  await identity.stop();
  rmSync(folder, { recursive: true, force: true });
});

const fetchKeys = async (url: string) => (await (await fetch(url)).json()) as { keys: JwkWithKid[] };

/** Verifies as the functions do, with keys from another source. */
async function verify({ userPoolId, clientId, jwksUrl }: RunningIdentity, token: string) {
  const verifier = CognitoJwtVerifier.create({ userPoolId, clientId, tokenUse: 'access' });
  verifier.cacheJwks(await fetchKeys(jwksUrl));
  return verifier.verify(token);
}

test('looks like a real pool', () => {
  expect(identity.userPoolId).toMatch(/^eu-west-1_[A-Za-z0-9]{9}$/);
  expect(identity.clientId).toMatch(/^[a-z0-9]{26}$/);
  expect(identity.issuer).toBe(`https://cognito-idp.eu-west-1.amazonaws.com/${identity.userPoolId}`);
});

test('access tokens verify; only the admin is in the group', async () => {
  const tokens = await Promise.all([identity.signIn('admin'), identity.signIn('user')]);
  const [admin, user] = await Promise.all(tokens.map(({ accessToken }) => verify(identity, accessToken)));
  expect(admin).toMatchObject({ token_use: 'access', client_id: identity.clientId, iss: identity.issuer, 'cognito:groups': ['admins'] });
  expect((admin?.exp ?? 0) - (admin?.iat ?? 0)).toBe(3_600);
  expect(user).toMatchObject({ token_use: 'access', client_id: identity.clientId, username: 'user' });
  expect(user).not.toHaveProperty('cognito:groups');
});

test('a group that is made by hand, as the guide for operators says, is in the tokens of its members', async () => {
  const client = new CognitoIdentityProvider({
    endpoint: identity.endpoint,
    region: 'eu-west-1',
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
  });
  const group = { UserPoolId: identity.userPoolId, GroupName: 'admins:pay.example' };
  await client.createGroup(group);
  await client.adminAddUserToGroup({ ...group, Username: 'user' });
  const claims = await verify(identity, (await identity.signIn('user')).accessToken);
  expect(readGrant(claims, 'intent-gate/admin')).toEqual({ namespaces: ['pay.example'] });
  await client.adminRemoveUserFromGroup({ ...group, Username: 'user' });
  client.destroy();
});

test('signs with a key of its own, not with the one in the package', async () => {
  const other = mkdtempSync(join(tmpdir(), 'identity-'));
  const stranger = await startIdentity({
    folder: other,
    callbackUrl: 'http://127.0.0.1/oauth/signed-in',
    consoleUrl: 'http://127.0.0.1/console',
  });
  try {
    const [ours, theirs] = await Promise.all([identity, stranger].map(({ jwksUrl }) => fetchKeys(jwksUrl)));
    expect(ours?.keys).not.toEqual(theirs?.keys);
  } finally {
    await stranger.stop();
    rmSync(other, { recursive: true });
  }
});

test('keeps pool, key, users and passwords across a restart, even if a file was truncated', async () => {
  const before = await identity.signIn('admin');
  const { userPoolId, clientId } = identity;
  await identity.stop();
  writeFileSync(join(folder, '.cognito', 'db', `${userPoolId}.json`), '{"Users":{"adm');
  identity = await startIdentity({ folder, callbackUrl: 'http://127.0.0.1/oauth/signed-in', consoleUrl: 'http://127.0.0.1/console' });
  expect(identity).toMatchObject({ userPoolId, clientId });
  const [old, fresh] = await Promise.all([before, await identity.signIn('admin')].map(({ accessToken }) => verify(identity, accessToken)));
  expect(fresh?.sub).toBe(old?.sub);
});

test('only their owner can read files with secrets', () => {
  expect(readdirSync(folder).sort()).toEqual(['.cognito', 'identity.json']);
  expect(statSync(join(folder, 'identity.json')).mode & 0o777).toBe(0o600);
});
