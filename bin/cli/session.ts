import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Tokens } from './api.ts';
import type { Identity, IssuedTokens } from './cognito.ts';
import { CliFailure } from './failure.ts';
import { openPrivateFile } from './private-file.ts';

/** How an admin is signed in to one gate. */
export type Session = { kind: 'local'; stack_file: string } | ({ kind: 'cognito' } & Identity & IssuedTokens);

type Sessions = Record<string, Session>;

/** What `npm start` says about the stack that runs here. */
export interface LocalStack {
  base_url: string;
  admin_token: string;
}

export const localStackFile = (): string => resolve('.local', 'stack.json');

export function readLocalStack(file = localStackFile()): LocalStack | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as LocalStack;
  } catch {
    return undefined;
  }
}

const file = () => openPrivateFile<Sessions>('sessions.json');

export function saveSession(baseUrl: string, session: Session): string {
  const { path, read, write } = file();
  write({ ...read(), [baseUrl]: session });
  return path;
}

/** @returns whether there was one */
export function forgetSession(baseUrl: string): boolean {
  const { read, write } = file();
  const { [baseUrl]: found, ...others } = read() ?? {};
  if (found !== undefined) write(others);
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
      const session = file().read()?.[baseUrl];
      if (session === undefined)
        throw new CliFailure('credentials', `You are not signed in to ${baseUrl}. Sign in with: intent-gate login`);
      if (session.kind === 'local') return readLocalToken(session.stack_file, baseUrl);
      if (!renew && session.expires_at - marginMs > Date.now()) return session.access_token;
      renewing ??= renewSession(baseUrl, session).finally(() => {
        renewing = undefined;
      });
      return renewing;
    },
  };
}

function readLocalToken(stackFile: string, baseUrl: string): string {
  const stack = readLocalStack(stackFile);
  if (stack?.base_url === baseUrl) return stack.admin_token;
  throw new CliFailure(
    'credentials',
    `The local stack at ${baseUrl} does not run any more. Start it with "npm start", then sign in again.`,
  );
}

async function renewSession(baseUrl: string, session: Extract<Session, { kind: 'cognito' }>): Promise<string> {
  // the SDK takes a while to load, and most commands do not need it
  const { renewTokens } = await import('./cognito.ts');
  const renewed = { ...session, ...(await renewTokens(session)) };
  saveSession(baseUrl, renewed);
  return renewed.access_token;
}
