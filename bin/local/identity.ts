import { type ChildProcess, fork } from 'node:child_process';
import { generateKeyPair, randomBytes, randomInt, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import * as z from 'zod';
import { readJson, writeJson } from './files.ts';
import { region } from './json-service.ts';
import { withCompileCache } from './synthesis.ts';

export const people = ['admin', 'user'] as const;
export type Person = (typeof people)[number];

export type RunningIdentity = Awaited<ReturnType<typeof startIdentity>>;

const issuerDomain = `https://cognito-idp.${region}.amazonaws.com`;

/** What keeps the pool the same across restarts. */
const seedSchema = z.object({
  pool_id: z.string(),
  client_id: z.string(),
  key: z.string(),
  users: z.record(z.enum(people), z.object({ sub: z.uuid(), password: z.string() })),
});

export type Seed = z.infer<typeof seedSchema>;

/**
 * cognito-local as a process of its own: a user pool that looks like a real one, with the real issuer's name, its own signing key,
 * an admin, an ordinary user, a client for signing in with a password, and two for signing in on a page, at `/oauth2/authorize`, which lead to
 * `callbackUrl` and `consoleUrl`. Pool, users and key are kept in `folder`.
 */
export async function startIdentity({ folder, callbackUrl, consoleUrl }: { folder: string; callbackUrl: string; consoleUrl: string }) {
  const seed = await keepSeed(join(folder, 'identity.json'));
  seedPool(folder, seed, { [signInClientOf(seed)]: callbackUrl, [consoleClientOf(seed)]: consoleUrl });
  const child = fork(fileURLToPath(new URL('./identity-server.ts', import.meta.url)), [join(folder, 'identity.json')], {
    cwd: folder,
    env: { PORT: '0', HOST: '127.0.0.1', ...withCompileCache },
    execArgv: ['--disable-warning=DEP0040', '--disable-warning=DEP0169', '--max-semi-space-size=1'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const endpoint = `http://127.0.0.1:${await listeningPort(child)}`;
  return {
    endpoint,
    userPoolId: seed.pool_id,
    clientId: seed.client_id,
    signInClientId: signInClientOf(seed),
    consoleClientId: consoleClientOf(seed),
    adminPassword: seed.users.admin.password,
    userPassword: seed.users.user.password,
    issuer: `${issuerDomain}/${seed.pool_id}`,
    /** where the pool's public keys are */
    jwksUrl: `${endpoint}/${seed.pool_id}/.well-known/jwks.json`,
    /** Signs in with the person's password; `admin` is in the group `admins`, `user` in none. */
    signIn: (person: Person) => signIn(endpoint, seed.client_id, person, seed.users[person].password),
    stop: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.disconnect();
      await once(child, 'exit');
    },
  };
}

async function listeningPort(child: ChildProcess): Promise<number> {
  const [message] = await Promise.race([once(child, 'message'), once(child, 'exit').then(() => [undefined])]);
  if (typeof message !== 'number') throw new Error('cognito-local did not start');
  return message;
}

async function signIn(endpoint: string, clientId: string, person: Person, password: string) {
  const response = await fetch(endpoint, {
    method: 'POST',
    headers: { 'Content-Type': 'application/x-amz-json-1.1', 'X-Amz-Target': 'AWSCognitoIdentityProviderService.InitiateAuth' },
    body: JSON.stringify({ AuthFlow: 'USER_PASSWORD_AUTH', ClientId: clientId, AuthParameters: { USERNAME: person, PASSWORD: password } }),
    signal: AbortSignal.timeout(5_000),
  });
  const { AuthenticationResult } = signInAnswer.parse(await response.json());
  return { accessToken: AuthenticationResult.AccessToken };
}

const signInAnswer = z.object({ AuthenticationResult: z.object({ AccessToken: z.string() }) });

/** The seed in a file that only its owner reads; made if there is none. */
async function keepSeed(path: string): Promise<Seed> {
  const kept = readJson(path);
  if (kept !== undefined) return seedSchema.parse(kept);
  const { privateKey } = await promisify(generateKeyPair)('rsa', { modulusLength: 2048 });
  const seed: Seed = {
    pool_id: `${region}_${randomText('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789', 9)}`,
    client_id: randomText('abcdefghijklmnopqrstuvwxyz0123456789', 26),
    key: privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
    users: { admin: newUser(), user: newUser() },
  };
  writeJson(path, seed);
  return seed;
}

/** The client with which the gate lets people sign in. */
const signInClientOf = ({ client_id }: Seed): string => `${client_id.slice(0, 20)}signin`;

/** The client with which admins sign in on the console. */
const consoleClientOf = ({ client_id }: Seed): string => `${client_id.slice(0, 19)}console`;

const randomText = (alphabet: string, length: number): string =>
  Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('');

/** The fixed part meets the pool's password policy whatever the random part is. */
const newUser = () => ({ sub: randomUUID(), password: `aA1-${randomBytes(18).toString('base64url')}` });

/**
 * Writes cognito-local's own files. Its files of an earlier run stay, unless it was killed while writing them:
 * it does not write atomically.
 */
function seedPool(folder: string, seed: Seed, callbackUrls: Record<string, string>): void {
  const { pool_id, client_id, users } = seed;
  const database = join(folder, '.cognito', 'db');
  mkdirSync(database, { recursive: true });
  writeJson(join(folder, '.cognito', 'config.json'), {
    TokenConfig: { IssuerDomain: issuerDomain },
    UserPoolDefaults: { UsernameAttributes: [] },
  });
  const now = new Date().toISOString();
  const client = {
    ClientId: client_id,
    ClientName: 'people',
    UserPoolId: pool_id,
    ExplicitAuthFlows: ['ALLOW_USER_PASSWORD_AUTH', 'ALLOW_REFRESH_TOKEN_AUTH'],
    AccessTokenValidity: 60,
    TokenValidityUnits: { AccessToken: 'minutes', IdToken: 'minutes', RefreshToken: 'days' },
    IdTokenValidity: 60,
    RefreshTokenValidity: 30,
    CreationDate: now,
    LastModifiedDate: now,
  };
  const userEntries = Object.entries(users).map(([name, { sub, password }]) => [
    name,
    {
      Username: name,
      Password: password,
      Attributes: [{ Name: 'sub', Value: sub }],
      Enabled: true,
      UserStatus: 'CONFIRMED',
      UserCreateDate: now,
      UserLastModifiedDate: now,
      RefreshTokens: [],
    },
  ]);
  const group = { GroupName: 'admins', members: ['admin'], CreationDate: now, LastModifiedDate: now };
  const pages = Object.entries(callbackUrls).map(([id, url]) => [
    id,
    { ...client, ClientId: id, ClientName: id.slice(19), ExplicitAuthFlows: ['ALLOW_REFRESH_TOKEN_AUTH'], CallbackURLs: [url] },
  ]);
  const clients = join(database, 'clients.json');
  const kept = z.object({ Clients: z.record(z.string(), z.unknown()) }).safeParse(readUnlessBroken(clients)).data?.Clients;
  // The address of the gate may have changed.
  writeJson(clients, { Clients: { [client_id]: client, ...kept, ...Object.fromEntries(pages) } });
  writeUnlessKept(join(database, `${pool_id}.json`), { Users: Object.fromEntries(userEntries), Groups: { admins: group } });
}

function writeUnlessKept(path: string, value: unknown): void {
  if (readUnlessBroken(path) === undefined) writeJson(path, value);
}

function readUnlessBroken(path: string): unknown {
  try {
    return readJson(path);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return undefined;
  }
}
