import { readFileSync, statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AdminCreateUserCommand, CognitoIdentityProviderClient } from '@aws-sdk/client-cognito-identity-provider';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { renewTokens, signIn } from '../../../bin/cli/cognito.ts';
import { type RunningIdentity, startIdentity } from '../../../bin/local/identity.ts';
import { openCommandLine } from './command-line.ts';

let folder: string;
let identity: RunningIdentity;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'cli-login-'));
  identity = await startIdentity({ folder });
});
afterAll(async () => {
  await identity.stop();
  await rm(folder, { recursive: true });
});

const asks = { newPassword: () => Promise.reject(new Error('not asked for')), code: () => Promise.reject(new Error('not asked for')) };
const as = (username: string) => ({ region: 'eu-west-1', client_id: identity.clientId, endpoint: identity.endpoint, username });
const passwordOf = (person: string): string => JSON.parse(readFileSync(join(folder, 'identity.json'), 'utf8')).users[person].password;

test('a password gives tokens, and a refresh token others', async () => {
  const tokens = await signIn(as('admin'), passwordOf('admin'), asks);
  expect(decodeJwt(tokens.access_token)).toMatchObject({ token_use: 'access', client_id: identity.clientId, 'cognito:groups': ['admins'] });
  expect(tokens.expires_at - Date.now()).toBeGreaterThan(3_500_000);
  const renewed = await renewTokens({ ...as('admin'), ...tokens });
  expect(decodeJwt(renewed.access_token)).toMatchObject({ token_use: 'access', username: decodeJwt(tokens.access_token).username });
  expect(renewed.refresh_token).toBe(tokens.refresh_token);
});

test('a temporary password has to be replaced', async () => {
  const client = new CognitoIdentityProviderClient({
    region: 'eu-west-1',
    endpoint: identity.endpoint,
    credentials: { accessKeyId: 'none', secretAccessKey: 'none' },
  });
  await client.send(
    new AdminCreateUserCommand({
      UserPoolId: identity.userPoolId,
      Username: 'new',
      TemporaryPassword: 'Temporary-1',
      MessageAction: 'SUPPRESS',
    }),
  );
  const chosen = 'Chosen-by-myself-1';
  const tokens = await signIn(as('new'), 'Temporary-1', { ...asks, newPassword: async () => chosen });
  expect(decodeJwt(tokens.access_token).token_use).toBe('access');
  expect(await signIn(as('new'), chosen, asks)).toHaveProperty('access_token');
});

test('login keeps the tokens where only their owner reads them, and tells nothing of them', async () => {
  const { run, home } = await openCommandLine(folder);
  const words = [
    '--url',
    'http://127.0.0.1:9',
    'login',
    '--region',
    'eu-west-1',
    '--client-id',
    identity.clientId,
    '--endpoint',
    identity.endpoint,
  ];
  const { code, stdout, stderr } = await run([...words, '--username', 'admin', '--password-stdin'], `${passwordOf('admin')}\n`);
  const file = join(home, 'sessions.json');
  expect({ code, stdout, stderr }).toEqual({
    code: 0,
    stdout: `You are signed in to http://127.0.0.1:9. The tokens are kept in ${file}, which only you can read.\n`,
    stderr: '',
  });
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(JSON.parse(readFileSync(file, 'utf8'))['http://127.0.0.1:9']).toMatchObject({ kind: 'cognito', username: 'admin' });
  expect(await run(['--url', 'http://127.0.0.1:9', 'logout', '--json'])).toMatchObject({
    code: 0,
    stdout: '{\n  "base_url": "http://127.0.0.1:9",\n  "was_signed_in": true\n}\n',
  });
});

test('a wrong password is refused in one sentence', async () => {
  const { run } = await openCommandLine(folder);
  const words = [
    '--url',
    'http://127.0.0.1:9',
    'login',
    '--region',
    'eu-west-1',
    '--client-id',
    identity.clientId,
    '--endpoint',
    identity.endpoint,
  ];
  expect(await run([...words, '--username', 'admin', '--password-stdin'], 'wrong')).toEqual({
    code: 4,
    stdout: '',
    stderr:
      'The user pool refuses the password: it is wrong, or as a new one it has to have at least 12 characters, with capitals, small letters, digits and symbols.\n',
  });
});
