import { homedir } from 'node:os';
import { join } from 'node:path';
import { IntentGateError } from '../../client/errors.ts';
import { readPrivateJson, writePrivateJson } from '../../client/private-files.ts';
import { readJson } from '../local/files.ts';
import { isStackAt, readDescription } from '../local/stack-file.ts';
import type { Tokens } from './api.ts';
import type { Identity, IssuedTokens } from './cognito.ts';
import { CliFailure } from './failure.ts';

/** How an admin is signed in to one gate. */
export type Session = { kind: 'local'; stack_file: string } | ({ kind: 'cognito' } & Identity & IssuedTokens);

/** The folder of tokens and keys: `INTENT_GATE_HOME`, else `intent-gate` in `XDG_CONFIG_HOME` or `~/.config`. */
export const privateFolder = (environment: NodeJS.ProcessEnv = process.env): string =>
  environment.INTENT_GATE_HOME || join(environment.XDG_CONFIG_HOME || join(homedir(), '.config'), 'intent-gate');

const sessionsFile = (environment?: NodeJS.ProcessEnv) => join(privateFolder(environment), 'sessions.json');

/** The gates that somebody is signed in to; none if the file cannot be read. */
export function listSessions(environment: NodeJS.ProcessEnv): string[] {
  try {
    return Object.keys((readJson(sessionsFile(environment)) ?? {}) as object);
  } catch {
    // what needs a token says what is wrong with the file
    return [];
  }
}

/** @throws CliFailure if others can read the file, or if it is damaged */
async function readSessions(): Promise<Record<string, Session>> {
  const path = sessionsFile();
  try {
    return ((await readPrivateJson(path)) ?? {}) as Record<string, Session>;
  } catch (cause) {
    if (!(cause instanceof IntentGateError)) throw cause;
    if (cause.code === 'UNSAFE_FILE') throw new CliFailure('credentials', cause.message, { cause });
    throw new CliFailure('failure', `The file ${path} is damaged. Remove it and sign in again.`, { cause });
  }
}

/** @returns the file in which it is kept */
export async function saveSession(baseUrl: string, session: Session): Promise<string> {
  await writePrivateJson(sessionsFile(), { ...(await readSessions()), [baseUrl]: session });
  return sessionsFile();
}

/** @returns whether there was one */
export async function forgetSession(baseUrl: string): Promise<boolean> {
  const { [baseUrl]: found, ...others } = await readSessions();
  if (found !== undefined) await writePrivateJson(sessionsFile(), others);
  return found !== undefined;
}

/** A token is renewed when it has less than a minute to live. */
const marginMs = 60_000;

/** The admin's tokens for one gate: `INTENT_GATE_TOKEN`, else those of the session that `login` has made. */
export function openTokens(baseUrl: string, environment: NodeJS.ProcessEnv = process.env): Tokens {
  let renewing: Promise<string> | undefined;
  return {
    async get(renew = false) {
      if (environment.INTENT_GATE_TOKEN) return environment.INTENT_GATE_TOKEN;
      const session = (await readSessions())[baseUrl];
      if (session === undefined)
        throw new CliFailure('credentials', `You are not signed in to ${baseUrl}. Sign in with: npx intent-gate login${hintFor(baseUrl)}`);
      if (session.kind === 'local') return readLocalToken(session.stack_file, baseUrl);
      if (!renew && session.expires_at - marginMs > Date.now()) return session.access_token;
      renewing ??= renewSession(baseUrl, session).finally(() => {
        renewing = undefined;
      });
      return renewing;
    },
  };
}

function hintFor(baseUrl: string): string {
  const stack = readDescription();
  return stack !== undefined && isStackAt(stack, baseUrl) ? ' --local' : ` --url ${baseUrl}`;
}

function readLocalToken(stackFile: string, baseUrl: string): string {
  const stack = readDescription(stackFile);
  if (stack !== undefined && isStackAt(stack, baseUrl)) return stack.admin_token;
  throw new CliFailure(
    'credentials',
    `The local stack at ${baseUrl} does not run any more. Start it with "npm start", then sign in again.`,
  );
}

async function renewSession(baseUrl: string, session: Extract<Session, { kind: 'cognito' }>): Promise<string> {
  // the SDK takes a while to load, and most commands do not need it
  const { renewTokens } = await import('./cognito.ts');
  const renewed = { ...session, ...(await renewTokens(session)) };
  await saveSession(baseUrl, renewed);
  return renewed.access_token;
}
