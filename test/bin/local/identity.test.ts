import { createHash, randomBytes } from 'node:crypto';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { CognitoIdentityProvider } from '@aws-sdk/client-cognito-identity-provider';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { CognitoJwtVerifier } from 'aws-jwt-verify';
import type { JwkWithKid } from 'aws-jwt-verify/jwk';
import { type RunningIdentity, startIdentity } from '../../../bin/local/identity.ts';
import { readRights } from '../../../functions/core/admin/verify-admin.ts';
import { makeFolder } from '../../support/folder.ts';
import { readForm } from '../../support/sign-in/sign-in.ts';

const folder = makeFolder();
const gate = 'http://127.0.0.1:1';
const start = () => startIdentity(folder, [`${gate}/oauth/signed-in`], [`${gate}/console`, 'http://localhost:1/console']);
let identity: RunningIdentity;
let client: CognitoIdentityProvider;

const openClient = () =>
  new CognitoIdentityProvider({
    endpoint: identity.endpoint,
    region: 'eu-west-1',
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
    maxAttempts: 1,
  });

beforeAll(async () => {
  identity = await start();
  client = openClient();
});

afterAll(async () => {
  client.destroy();
  await identity.stop();
});

const fetchKeys = async (url: string) => (await (await fetch(url)).json()) as { keys: JwkWithKid[] };

/** Verifies as the functions do, with keys from another source. */
async function verify({ userPoolId, jwksUrl }: RunningIdentity, token: string, clientId = identity.clientId) {
  const verifier = CognitoJwtVerifier.create({ userPoolId, clientId, tokenUse: 'access' });
  verifier.cacheJwks(await fetchKeys(jwksUrl));
  return verifier.verify(token);
}

test('access tokens verify; only the admin is in the group', async () => {
  const [admin, user] = await Promise.all(
    (['admin', 'user'] as const).map((person) => verify(identity, identity.signIn(person).accessToken)),
  );
  expect(admin).toMatchObject({ token_use: 'access', client_id: identity.clientId, iss: identity.issuer, 'cognito:groups': ['admins'] });
  expect((admin?.exp ?? 0) - (admin?.iat ?? 0)).toBe(3_600);
  expect(user).toMatchObject({ token_use: 'access', client_id: identity.clientId, username: 'user' });
  expect(user).not.toHaveProperty('cognito:groups');
});

test('a group created by hand, as in the guide for operators, is in the tokens of its members', async () => {
  const group = { UserPoolId: identity.userPoolId, GroupName: 'admins:pay.example' };
  await client.createGroup(group);
  await client.adminAddUserToGroup({ ...group, Username: 'user' });
  const claims = await verify(identity, identity.signIn('user').accessToken);
  expect(readRights(claims, 'intent-gate/admin')).toEqual({ namespaces: ['pay.example'] });
  await client.adminRemoveUserFromGroup({ ...group, Username: 'user' });
  expect(await verify(identity, identity.signIn('user').accessToken)).not.toHaveProperty('cognito:groups');
});

describe('the sign-in page', () => {
  const verifier = randomBytes(32).toString('base64url');
  const request = (changes: Record<string, string> = {}) =>
    new URLSearchParams({
      response_type: 'code',
      client_id: identity.consoleClientId,
      redirect_uri: `${gate}/console`,
      scope: 'openid',
      state: 'a&b"c',
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
      ...changes,
    });

  const call = async (path: string, init: RequestInit = {}) => {
    const response = await fetch(identity.signInUrl + path, { redirect: 'manual', ...init });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };

  /** Sends the form of the page. */
  async function signIn(password: string, { origin = identity.signInUrl, username = 'admin' } = {}) {
    const { text, headers, status } = await call(`/oauth2/authorize?${request()}`);
    const fields = readForm({ text, headers, status, next: undefined });
    fields.set('username', username);
    fields.set('password', password);
    return call('/oauth2/authorize', { method: 'POST', headers: { Origin: origin }, body: fields });
  }

  const codeOf = ({ headers }: { headers: Headers }) => new URL(headers.get('location') ?? 'x:').searchParams.get('code') ?? '';

  const exchange = (changes: Record<string, string>, origin?: string) =>
    call('/oauth2/token', {
      method: 'POST',
      headers: { ...(origin !== undefined && { Origin: origin }) },
      body: new URLSearchParams({
        grant_type: 'authorization_code',
        client_id: identity.consoleClientId,
        redirect_uri: `${gate}/console`,
        code_verifier: verifier,
        ...changes,
      }),
    });

  test('the sign-in page redirects to the client with a code, which yields tokens once, and only to the page of the client', async () => {
    const answer = await signIn(identity.adminPassword);
    const location = new URL(answer.headers.get('location') ?? '');
    expect([answer.status, location.origin + location.pathname, location.searchParams.get('state')]).toEqual([
      302,
      `${gate}/console`,
      'a&b"c',
    ]);
    const exchanged = await exchange({ code: codeOf(answer) }, 'http://localhost:1');
    expect([exchanged.status, exchanged.headers.get('access-control-allow-origin'), exchanged.headers.get('vary')]).toEqual([
      200,
      'http://localhost:1',
      'Origin',
    ]);
    const { access_token, refresh_token, ...more } = JSON.parse(exchanged.text);
    expect(more).toEqual({ expires_in: 3_600, token_type: 'Bearer' });
    expect(await verify(identity, access_token, identity.consoleClientId)).toMatchObject({
      username: 'admin',
      scope: 'openid',
      'cognito:groups': ['admins'],
    });
    expect((await exchange({ code: codeOf(answer) })).text).toBe('{"error":"invalid_grant"}');

    const renewed = await exchange({ grant_type: 'refresh_token', refresh_token });
    expect(await verify(identity, JSON.parse(renewed.text).access_token, identity.consoleClientId)).toMatchObject({ username: 'admin' });
    const byAnother = await exchange({ grant_type: 'refresh_token', refresh_token, client_id: identity.signInClientId });
    expect([byAnother.status, byAnother.text]).toEqual([400, '{"error":"invalid_grant"}']);
  });

  test.each([
    ['another verifier', { code_verifier: 'b'.repeat(43) }],
    ['another client', { client_id: 'another' }],
    ['another redirect URI', { redirect_uri: 'http://localhost:1/console' }],
    ['no code', { code: '' }],
  ])('the token endpoint refuses a code with %s, and invalidates it', async (_, changes) => {
    const code = codeOf(await signIn(identity.adminPassword));
    expect((await exchange({ code, ...changes })).text).toBe('{"error":"invalid_grant"}');
    expect((await exchange({ code })).status).toBe('code' in changes ? 200 : 400);
  });

  test.each([
    ['a wrong password', 'wrong', {}],
    ['an unknown user', 'wrong', { username: '__proto__' }],
  ])('the sign-in page refuses %s', async (_, password, at) => {
    const { status, text } = await signIn(password, at);
    expect(status).toBe(200);
    expect(text).toContain('<p role="alert">Incorrect username or password.</p>');
  });

  test.each([
    ['an unknown client', { client_id: 'none' }],
    ['a redirect URI that is not the client’s', { redirect_uri: 'http://evil.example/' }],
    ['no challenge', { code_challenge: '' }],
    ['a plain challenge', { code_challenge_method: 'plain' }],
    ['another response type', { response_type: 'token' }],
  ])('the sign-in page is not shown for %s', async (_, changes) => {
    const { status, text } = await call(`/oauth2/authorize?${request(changes)}`);
    expect([status, text]).toEqual([400, 'No client of this user pool started this sign-in. Start again from the application.']);
  });

  test.each<[string, () => Promise<{ status: number; text: string; headers: Headers }>, number]>([
    ['a form of another page', () => signIn(identity.adminPassword, { origin: gate }), 403],
    ['a form of a page without an origin', () => signIn(identity.adminPassword, { origin: 'null' }), 403],
    ['a page that reads this one', () => call(`/oauth2/authorize?${request()}`, { headers: { Origin: gate } }), 403],
    ['a page of another origin that asks for tokens', () => exchange({ code: 'x' }, 'http://evil.example'), 403],
    ['a page without an origin that asks for tokens', () => exchange({ code: 'x' }, 'null'), 403],
    [
      'a preflight request',
      () => call('/oauth2/token', { method: 'OPTIONS', headers: { Origin: gate, 'Access-Control-Request-Method': 'POST' } }),
      403,
    ],
    [
      'an operation of Cognito',
      () => call('/', { method: 'POST', headers: { 'X-Amz-Target': 'AWSCognitoIdentityProviderService.CreateGroup' }, body: '{}' }),
      404,
    ],
    ['a path of two slashes', () => call('//'), 404],
    ['the key set', () => call(`/${identity.userPoolId}/.well-known/jwks.json`), 404],
  ])('%s is refused', async (_, send, status) => {
    const answer = await send();
    expect(answer.status).toBe(status);
    expect([...answer.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
  });
});

test('the user pool keeps its key, users and groups across a restart, in a file that only its owner can read', async () => {
  await client.createGroup({ UserPoolId: identity.userPoolId, GroupName: 'kept' });
  await client.adminAddUserToGroup({ UserPoolId: identity.userPoolId, GroupName: 'kept', Username: 'admin' });
  const before = identity.signIn('admin').accessToken;
  const { userPoolId, clientId, adminPassword } = identity;
  await identity.stop();
  identity = await start();
  expect(identity).toMatchObject({ userPoolId, clientId, adminPassword });
  const [old, fresh] = await Promise.all([before, identity.signIn('admin').accessToken].map((token) => verify(identity, token)));
  expect(fresh?.sub).toBe(old?.sub);
  expect(fresh?.['cognito:groups']).toEqual(['admins', 'kept']);
  expect(readdirSync(folder)).toEqual(['identity.json']);
  expect(statSync(join(folder, 'identity.json')).mode & 0o777).toBe(0o600);
});
