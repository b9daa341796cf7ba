import { createHash, randomBytes } from 'node:crypto';
import { keys } from './keys.ts';
import type { Item, Table } from './table.ts';

/** Who has signed in at the user pool. */
export interface Person {
  subject: string;
  userName: string;
}

/** What a person has accepted, for a client that may fetch one PAT for it. */
export interface Grant {
  person: Person;
  clientId: string;
  redirectUri: string;
  /** RFC 7636 section 4.2, with S256 */
  codeChallenge: string;
  /** RFC 8707 */
  resource: string;
  /** reference to the policy that was shown */
  policy: string;
}

interface SessionItem extends Item, Person {
  expires_at: number;
}

interface CodeItem extends Item {
  grant: Grant;
  expires_at: number;
}

interface ConsentItem extends Item {
  policy: string;
  expires_at: number;
}

/** Within how long a person need not sign in again, and clients may renew without asking, in seconds. */
export const sessionSeconds = 12 * 3_600;

/** Within how long a code has to be exchanged, in seconds. */
const codeSeconds = 60;

const consentSeconds = 90 * 24 * 3_600;

const newSecret = (): string => randomBytes(32).toString('base64url');

/** Secrets are kept as digests, so that whoever reads the table can use none. */
const digestOf = (secret: string): string => createHash('sha256').update(secret).digest('base64url');

const isLive = <T extends { expires_at: number }>(item: T | undefined, nowMs: number): item is T =>
  item !== undefined && item.expires_at > nowMs / 1_000;

/** What sign-in remembers. Nothing here is written for somebody who has not signed in, and all of it expires. */
export function openSignIns(table: Pick<Table, 'get' | 'put'>) {
  return {
    /** @returns the secret for the person's cookie */
    async startSession({ subject, userName }: Person, nowMs: number): Promise<string> {
      const secret = newSecret();
      await table.put({ ...keys.session(digestOf(secret)), subject, userName, expires_at: Math.floor(nowMs / 1_000) + sessionSeconds });
      return secret;
    },

    async findSession(secret: string, nowMs: number): Promise<Person | undefined> {
      const item = await table.get<SessionItem>(keys.session(digestOf(secret)));
      return isLive(item, nowMs) ? { subject: item.subject, userName: item.userName } : undefined;
    },

    /** Remembers which policy the person has accepted for the client, so that the client can renew while it is in force. */
    async rememberConsent({ person, clientId, policy }: Grant, nowMs: number): Promise<void> {
      await table.put({ ...keys.consent(person.subject, clientId), policy, expires_at: Math.floor(nowMs / 1_000) + consentSeconds });
    },

    async hasConsented({ person, clientId, policy }: Grant, nowMs: number): Promise<boolean> {
      const item = await table.get<ConsentItem>(keys.consent(person.subject, clientId));
      return isLive(item, nowMs) && item.policy === policy;
    },

    /** @returns the authorization code */
    async keepGrant(grant: Grant, nowMs: number): Promise<string> {
      const code = newSecret();
      await table.put({ ...keys.signInCode(digestOf(code)), grant, expires_at: Math.floor(nowMs / 1_000) + codeSeconds });
      return code;
    },

    /** What a code stands for, if it has not expired; it may have been used. `id` names it for whoever consumes it. */
    async findGrant(code: string, nowMs: number): Promise<{ id: string; grant: Grant; expiresAt: number } | undefined> {
      const id = digestOf(code);
      const item = await table.get<CodeItem>(keys.signInCode(id));
      return isLive(item, nowMs) ? { id, grant: item.grant, expiresAt: item.expires_at } : undefined;
    },
  };
}

export type SignIns = ReturnType<typeof openSignIns>;
