import { createHmac } from 'node:crypto';
import { chmodSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { renewTokens, signIn } from '../../../bin/cli/cognito.ts';
import { forgetSession, openTokens, saveSession } from '../../../bin/cli/session.ts';
import { close, listen } from '../../../bin/local/http.ts';
import { startIdentity } from '../../../bin/local/identity.ts';
import { writePrivateJson } from '../../../client/private-files.ts';
import { makeFolder } from '../../support/folder.ts';
import { openCommandLine } from './command-line.ts';

const folder = makeFolder();
const identity = await startIdentity(folder, [], []);
afterAll(() => identity.stop());

const asks = {
  newPassword: () => Promise.reject(new Error('not asked for')),
  code: () => Promise.reject(new Error('not asked for')),
  enrol: () => Promise.reject(new Error('not asked for')),
};
const as = (username: string) => ({ region: 'eu-west-1', client_id: identity.clientId, endpoint: identity.endpoint, username });
const passwordOf = (person: string): string => JSON.parse(readFileSync(join(folder, 'identity.json'), 'utf8')).users[person].password;

test('a password gives tokens, and a refresh token gives new ones', async () => {
  const tokens = await signIn(as('admin'), passwordOf('admin'), asks);
  expect(decodeJwt(tokens.access_token)).toMatchObject({ token_use: 'access', client_id: identity.clientId, 'cognito:groups': ['admins'] });
  expect(tokens.expires_at - Date.now()).toBeGreaterThan(3_500_000);
  const renewed = await renewTokens({ ...as('admin'), ...tokens });
  expect(decodeJwt(renewed.access_token)).toMatchObject({ token_use: 'access', username: decodeJwt(tokens.access_token).username });
  expect(renewed.refresh_token).toBe(tokens.refresh_token);
});

const gate = 'http://127.0.0.1:9';
const login = () => {
  const pool = ['--region', 'eu-west-1', '--client-id', identity.clientId, '--endpoint', identity.endpoint];
  return ['--url', gate, 'login', ...pool, '--username', 'admin', '--password-stdin'];
};

test('login stores the tokens in a file that only its owner can read, and prints none of them', async () => {
  const { run, home } = await openCommandLine(folder);
  expect(await run(login(), 'wrong')).toEqual({
    code: 4,
    stdout: '',
    stderr: 'The user pool rejected the name, password or refresh token. Sign in again with: npx intent-gate login\n',
  });
  const file = join(home, 'sessions.json');
  expect(await run(login(), `${passwordOf('admin')}\n`)).toEqual({
    code: 0,
    stdout: `Signed in to ${gate}. The tokens are stored in ${file}, which only you can read.\n`,
    stderr: '',
  });
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(JSON.parse(readFileSync(file, 'utf8'))[gate]).toMatchObject({ kind: 'cognito', username: 'admin' });
  expect(await run(['--url', gate, 'logout', '--json'])).toMatchObject({
    code: 0,
    stdout: `{\n  "base_url": "${gate}",\n  "was_signed_in": true\n}\n`,
  });
});

describe('the tokens of a session', () => {
  const home = join(folder, 'kept-session');
  const file = join(home, 'sessions.json');
  const writeSession = async (expires_at: number): Promise<string> => {
    const tokens = await signIn(as('admin'), passwordOf('admin'), asks);
    await saveSession(gate, { kind: 'cognito', ...as('admin'), ...tokens, expires_at });
    return tokens.access_token;
  };
  let before: string | undefined;
  beforeAll(() => {
    before = process.env.INTENT_GATE_HOME;
    process.env.INTENT_GATE_HOME = home;
  });
  afterAll(() => {
    if (before === undefined) delete process.env.INTENT_GATE_HOME;
    else process.env.INTENT_GATE_HOME = before;
  });

  test('the tokens of a session are read once, so that not every request reads the file', async () => {
    const token = await writeSession(Date.now() + 3_600_000);
    const tokens = openTokens(gate);
    expect(await tokens.get()).toBe(token);
    rmSync(file);
    expect(await Promise.all([tokens.get(), tokens.get()])).toEqual([token, token]);
    await expect(openTokens(gate).get()).rejects.toThrow(`You are not signed in to ${gate}.`);
  });

  test.each<[title: string, expiresInMs: number, renew: boolean]>([
    ['about to expire', 30_000, false],
    ['refused', 3_600_000, true],
  ])('the tokens of a session are renewed once for all requests if they are %s, and stored', async (_, expiresInMs, renew) => {
    const token = await writeSession(Date.now() + expiresInMs);
    const tokens = openTokens(gate);
    const [first, second] = await Promise.all([tokens.get(renew), tokens.get(renew)]);
    expect(second).toBe(first);
    expect(first).not.toBe(token);
    expect(JSON.parse(readFileSync(file, 'utf8'))[gate]).toMatchObject({ access_token: first });
    expect(await tokens.get()).toBe(first);
  });

  test('the tokens of a session are read again if they are refused after someone has signed in anew', async () => {
    await writeSession(Date.now() + 3_600_000);
    const tokens = openTokens(gate);
    await tokens.get();
    rmSync(file);
    await expect(tokens.get(true)).rejects.toThrow(`You are not signed in to ${gate}.`);
    const token = await writeSession(Date.now() + 3_600_000);
    expect(await tokens.get()).toBe(token);
  });

  /** Renews a session at a pool before whose answer something happens. */
  async function renewWhile(happens: () => Promise<unknown>) {
    const server = createServer(async (_, response) => {
      await happens();
      response.end(JSON.stringify({ AuthenticationResult: { AccessToken: 'renewed', ExpiresIn: 3600 } }));
    });
    const own = { ...as('admin'), endpoint: `http://127.0.0.1:${await listen(server)}`, refresh_token: 'own' };
    await saveSession(gate, { kind: 'cognito', ...own, access_token: 'before', expires_at: 0 });
    try {
      return await openTokens(gate).get();
    } finally {
      await close(server);
    }
  }

  test('a session is not stored again if its person has signed out while it was renewed', async () => {
    await expect(renewWhile(() => forgetSession(gate))).rejects.toThrow(`You have signed out of ${gate} meanwhile.`);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({});
  });

  test('a session does not replace one that has begun while it was renewed', async () => {
    const other = { kind: 'cognito', ...as('user'), access_token: 'other', refresh_token: 'other', expires_at: 0 } as const;
    expect(await renewWhile(() => saveSession(gate, other))).toBe('renewed');
    expect(JSON.parse(readFileSync(file, 'utf8'))[gate]).toEqual(other);
  });

  test.each<[string, unknown]>([
    ['nothing', null],
    ['an object without members', {}],
    ['a token in two lines', { kind: 'cognito', ...as('admin'), access_token: 'a\nb', refresh_token: 'r', expires_at: 0 }],
  ])('a session that is %s is reported as damaged', async (_, session) => {
    await writePrivateJson(file, { [gate]: session });
    await expect(openTokens(gate).get()).rejects.toThrow(`The file ${file} is damaged. Remove it and sign in again.`);
    rmSync(file);
  });

  test.each([0o640, 0o604])('the tokens of a session are refused if others may read their file (mode %o)', async (mode) => {
    await writeSession(Date.now() + 3_600_000);
    chmodSync(file, mode);
    await expect(openTokens(gate).get()).rejects.toThrow(`Others can read ${file}`);
    rmSync(file);
  });
});

test('a token of the environment that the gate does not accept is refused before a read that would lack drafts', async () => {
  const server = createServer((request, response) =>
    response.writeHead({ 'Bearer good': 200, 'Bearer user': 403 }[String(request.headers.authorization)] ?? 401).end('{}'),
  );
  const url = `http://127.0.0.1:${await listen(server)}`;
  const get = (token: string) => {
    process.env.INTENT_GATE_TOKEN = token;
    return openTokens(url)
      .get()
      .finally(() => delete process.env.INTENT_GATE_TOKEN);
  };
  expect(await get('good')).toBe('good');
  // of a user who is no admin, whose reads are those of everybody
  expect(await get('user')).toBe('user');
  await expect(get('bad')).rejects.toThrow(`The gate at ${url} does not accept INTENT_GATE_TOKEN`);
  await close(server);
});

describe('a pool that requires a second factor', () => {
  const secret = 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP';

  /** The one-time password of RFC 6238 with the defaults of authenticator apps: SHA-1, 30 seconds, 6 digits. */
  function codeOf(base32: string, timeMs: number): string {
    const bits = [...base32]
      .map((character) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(character).toString(2).padStart(5, '0'))
      .join('');
    const key = Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
    const counter = Buffer.alloc(8);
    counter.writeBigUInt64BE(BigInt(Math.floor(timeMs / 30_000)));
    const digest = createHmac('sha1', key).update(counter).digest();
    const offset = (digest.at(-1) ?? 0) & 15;
    return String((digest.readUInt32BE(offset) & 0x7fffffff) % 1_000_000).padStart(6, '0');
  }

  /** A stand-in that issues Cognito's challenges in the order of a first sign-in, because the local user pool has no second factor. */
  async function startPool() {
    const steps: string[] = [];
    let session = 's0';
    const answers: Record<string, (body: Record<string, unknown>) => object> = {
      InitiateAuth: () => ({ ChallengeName: 'NEW_PASSWORD_REQUIRED', ChallengeParameters: { USER_ID_FOR_SRP: 'ada' } }),
      RespondToAuthChallenge: ({ ChallengeName }) =>
        ChallengeName === 'NEW_PASSWORD_REQUIRED'
          ? { ChallengeName: 'MFA_SETUP', ChallengeParameters: { MFAS_CAN_SETUP: '["SOFTWARE_TOKEN_MFA"]', USER_ID_FOR_SRP: 'ada' } }
          : { AuthenticationResult: { AccessToken: 'access', RefreshToken: 'refresh', ExpiresIn: 3600 } },
      AssociateSoftwareToken: () => ({ SecretCode: secret }),
      VerifySoftwareToken: ({ UserCode }) =>
        UserCode === codeOf(secret, Date.now()) ? { Status: 'SUCCESS' } : { __type: 'EnableSoftwareTokenMFAException' },
    };
    const server = createServer(async (request, response) => {
      const operation = String(request.headers['x-amz-target']).split('.')[1] ?? '';
      const body = (await json(request)) as Record<string, unknown>;
      const isInOrder = operation === 'InitiateAuth' || body.Session === session;
      steps.push(`${operation}${body.ChallengeName === undefined ? '' : ` ${body.ChallengeName}`}`);
      const answer = isInOrder
        ? (answers[operation]?.(body) ?? { __type: 'InvalidParameterException' })
        : { __type: 'NotAuthorizedException' };
      session = `s${steps.length}`;
      response.writeHead('__type' in answer ? 400 : 200, { 'Content-Type': 'application/x-amz-json-1.1' });
      response.end(JSON.stringify({ Session: session, ...answer }));
    });
    const endpoint = `http://127.0.0.1:${await listen(server)}`;
    return { steps, identity: { region: 'eu-west-1', client_id: 'client', endpoint, username: 'ada' }, stop: () => close(server) };
  }

  test('login enrols a required second factor at the first sign-in, with an address for authenticator apps', async () => {
    const pool = await startPool();
    const enrol = async (uri: string) => {
      const { protocol, host, pathname, searchParams } = new URL(uri);
      expect([protocol, host, decodeURIComponent(pathname), searchParams.get('issuer')]).toEqual([
        'otpauth:',
        'totp',
        '/Intent Gate:ada',
        'Intent Gate',
      ]);
      return codeOf(searchParams.get('secret') ?? '', Date.now());
    };
    const tokens = await signIn(pool.identity, 'Temporary-1', { ...asks, newPassword: async () => 'Chosen-by-myself-1', enrol });
    expect(tokens).toMatchObject({ access_token: 'access', refresh_token: 'refresh' });
    expect(pool.steps).toEqual([
      'InitiateAuth',
      'RespondToAuthChallenge NEW_PASSWORD_REQUIRED',
      'AssociateSoftwareToken',
      'VerifySoftwareToken',
      'RespondToAuthChallenge MFA_SETUP',
    ]);
    await pool.stop();
  });

  test('login refuses a wrong code of the second factor in one sentence', async () => {
    const pool = await startPool();
    const answers = { ...asks, newPassword: async () => 'Chosen-by-myself-1', enrol: async () => '000000x' };
    await expect(signIn(pool.identity, 'Temporary-1', answers)).rejects.toThrow(
      'The user pool rejected the code. Check the clock of your device, then sign in again with: npx intent-gate login',
    );
    await pool.stop();
  });
});
