import { homedir, userInfo } from 'node:os';
import { join } from 'node:path';
import * as z from 'zod';
import type { IntentGateError } from '../../client/errors.ts';
import { openHttp } from '../../client/http.ts';
import { readPrivateJson, writePrivateJson } from '../../client/private-files.ts';
import type { Tokens } from '../../registry/api.ts';
import { CliFailure, NotSignedIn } from '../../registry/failure.ts';
import { readJson } from '../local/files.ts';
import { findStackFile, isStackAt, readDescription, stackFile } from '../local/stack-file.ts';

/** `INTENT_GATE_HOME`, else `intent-gate` in `XDG_CONFIG_HOME` or `~/.config`. */
export const privateFolder = (): string =>
  process.env.INTENT_GATE_HOME || join(process.env.XDG_CONFIG_HOME || join(homedir() || userInfo().homedir, '.config'), 'intent-gate');

const sessionsFile = () => join(privateFolder(), 'sessions.json');

/** Base URLs of the gates with a session; empty if the file cannot be read. */
export function listSessions(): string[] {
  try {
    return Object.keys((readJson(sessionsFile()) ?? {}) as object);
  } catch {
    // reported by commands that need a token
    return [];
  }
}

const token = z.string().regex(/^[\x21-\x7e]+$/);
const tokens = { access_token: token, refresh_token: token, expires_at: z.number() };
const identity = { region: z.string(), client_id: z.string(), username: z.string(), endpoint: z.string().exactOptional() };

const sessions = z.record(
  z.string(),
  z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('local'), stack_file: z.string() }),
    z.object({ kind: z.literal('cognito'), ...identity, ...tokens }),
  ]),
);

export type Session = z.infer<typeof sessions>[string];

/** @throws CliFailure if other users can read the file, or if it is damaged */
async function readSessions(): Promise<Record<string, Session>> {
  const path = sessionsFile();
  try {
    return sessions.parse((await readPrivateJson(path)) ?? {});
  } catch (cause) {
    const { code, message } = cause as IntentGateError;
    if (code === 'DAMAGED_FILE' || cause instanceof z.ZodError)
      throw new CliFailure('failure', `The file ${path} is damaged. Remove it and sign in again.`, { cause });
    throw new CliFailure(code === 'UNSAFE_FILE' ? 'credentials' : 'failure', message, { cause });
  }
}

/** @returns the path of the file */
export async function saveSession(baseUrl: string, session: Session): Promise<string> {
  await writePrivateJson(sessionsFile(), { ...(await readSessions()), [baseUrl]: session });
  return sessionsFile();
}

export async function forgetSession(baseUrl: string): Promise<boolean> {
  const { [baseUrl]: found, ...others } = await readSessions();
  if (found !== undefined) await writePrivateJson(sessionsFile(), others);
  return found !== undefined;
}

/** How long before expiry to renew tokens, in milliseconds. */
const marginMs = 60_000;

/** `INTENT_GATE_TOKEN`, else the tokens of the session, whose file is read once, and again for each renewal. */
export function openTokens(baseUrl: string): Tokens {
  let known: Session | undefined;
  let renewing: Promise<string> | undefined;
  let isGivenValid: Promise<boolean> | undefined;
  return {
    async get(renew = false) {
      const { INTENT_GATE_TOKEN: given } = process.env;
      if (given && !token.safeParse(given).success)
        throw new CliFailure('credentials', 'INTENT_GATE_TOKEN has characters that no token has.');
      if (given) {
        isGivenValid ??= isAdminToken(baseUrl, given);
        if (await isGivenValid) return given;
        throw new CliFailure(
          'credentials',
          `The gate at ${baseUrl} does not accept INTENT_GATE_TOKEN: it must be an unexpired access token of an admin.`,
        );
      }
      const session = renew || known === undefined ? (await readSessions())[baseUrl] : known;
      known = session;
      if (session === undefined)
        throw new NotSignedIn(`You are not signed in to ${baseUrl}. Sign in with: npx intent-gate login${hintFor(baseUrl)}`);
      if (session.kind === 'local') return readLocalToken(session.stack_file, baseUrl);
      if (!renew && session.expires_at - marginMs > Date.now()) return session.access_token;
      renewing ??= renewSession(baseUrl, session).finally(() => {
        renewing = known = undefined;
      });
      return renewing;
    },
  };
}

/** Reads of everybody succeed with any token, but lack drafts. */
const isAdminToken = (baseUrl: string, bearer: string): Promise<boolean> =>
  openHttp({ url: baseUrl })
    .exchange('GET', '/api/changes', { query: { page_size: 1 }, bearer })
    .then(
      ({ status }) => status !== 401,
      () => true,
    );

function hintFor(baseUrl: string): string {
  const file = findStackFile(baseUrl);
  return `${file === undefined ? '' : ' --local'}${file === stackFile() ? '' : ` --url ${baseUrl}`}`;
}

function readLocalToken(stackFile: string, baseUrl: string): string {
  const stack = readDescription(stackFile);
  if (stack !== undefined && isStackAt(stack, baseUrl)) return stack.admin_token;
  throw new NotSignedIn(`The local stack at ${baseUrl} is no longer running. Start it with "npm start", then sign in again.`);
}

async function renewSession(baseUrl: string, session: Extract<Session, { kind: 'cognito' }>): Promise<string> {
  // the SDK is slow to load and rarely needed
  const { renewTokens } = await import('./cognito.ts');
  const renewed = { ...session, ...(await renewTokens(session)) };
  const { [baseUrl]: stored } = await readSessions();
  if (stored === undefined) throw new NotSignedIn(`You have signed out of ${baseUrl} meanwhile.`);
  // somebody may have signed in again
  if ('refresh_token' in stored && stored.refresh_token === session.refresh_token) await saveSession(baseUrl, renewed);
  return renewed.access_token;
}
