import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { unavailable } from '../api-error.ts';
import { keys } from '../table/keys.ts';
import type { Item, Table } from '../table/table.ts';

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
  /** of the refresh tokens that begin with the code: nobody who has seen the code knows it */
  family: string;
  expires_at: number;
}

interface ConsentItem extends Item {
  policy: string;
  /** where the answer went that the person was shown */
  redirect_uri?: string;
  expires_at: number;
}

/** Within how long a code has to be exchanged, in seconds. */
const codeSeconds = 60;

const consentSeconds = 90 * 24 * 3_600;

/** Longest that the reading of one client's description holds up the next one of the same person, in seconds: a little longer than it may take. */
const readingSeconds = 5;

const newSecret = (): string => randomBytes(32).toString('base64url');

/** Secrets are kept as digests, so that whoever reads the table can use none. */
const digestOf = (secret: string): string => createHash('sha256').update(secret).digest('base64url');

const isLive = <T extends { expires_at: number }>(item: T | undefined, nowMs: number): item is T =>
  item !== undefined && item.expires_at > nowMs / 1_000;

/** What sign-in remembers. Nothing here is written for somebody who has not signed in, and all of it expires. */
export function openSignIns(table: Pick<Table, 'get' | 'put' | 'update' | 'delete'>) {
  return {
    /**
     * @param lifeSeconds - how long the person stays signed in
     * @returns the secret for the person's cookie
     */
    async startSession({ subject, userName }: Person, nowMs: number, lifeSeconds: number): Promise<string> {
      const secret = newSecret();
      await table.put({ ...keys.session(digestOf(secret)), subject, userName, expires_at: Math.floor(nowMs / 1_000) + lifeSeconds });
      return secret;
    },

    /**
     * Does work that waits for an address of a stranger's choice: one at a time for a person, so that nobody can hold many instances of a function.
     * @throws ApiError SERVICE_UNAVAILABLE while such work goes on for the person
     */
    async oneAtATime<T>({ subject }: Person, nowMs: number, work: () => Promise<T>): Promise<T> {
      // no secret of a session has this digest
      const key = keys.session(digestOf(`reading for ${subject}`));
      const by = randomUUID();
      const now = Math.floor(nowMs / 1_000);
      const isFree = await table.update(key, {
        set: { reading_by: by, expires_at: now + readingSeconds },
        // a write that took effect and whose answer was lost is sent again, and must recognise itself
        when: [['any', ['absent', 'expires_at'], ['<=', 'expires_at', now], ['=', 'reading_by', by]]],
      });
      if (!isFree) throw unavailable('Another program is being looked up for you. Try again after Retry-After.', undefined, readingSeconds);
      try {
        return await work();
      } finally {
        await table.delete(key, { when: [['=', 'reading_by', by]] });
      }
    },

    async findSession(secret: string, nowMs: number): Promise<Person | undefined> {
      const item = await table.get<SessionItem>(keys.session(digestOf(secret)));
      return isLive(item, nowMs) ? { subject: item.subject, userName: item.userName } : undefined;
    },

    /** Remembers which policy the person has accepted for the client, so that the client can renew while it is in force. */
    async rememberConsent({ person, clientId, redirectUri, policy }: Grant, nowMs: number): Promise<void> {
      const expires_at = Math.floor(nowMs / 1_000) + consentSeconds;
      await table.put({ ...keys.consent(person.subject, clientId), policy, redirect_uri: redirectUri, expires_at });
    },

    /** Whether the person has accepted this policy for this client, and an answer at this very address. */
    async hasConsented({ person, clientId, redirectUri, policy }: Grant, nowMs: number): Promise<boolean> {
      const item = await table.get<ConsentItem>(keys.consent(person.subject, clientId));
      return isLive(item, nowMs) && item.policy === policy && item.redirect_uri === redirectUri;
    },

    /** @returns the authorization code */
    async keepGrant(grant: Grant, nowMs: number): Promise<string> {
      const code = newSecret();
      await table.put({
        ...keys.signInCode(digestOf(code)),
        grant,
        family: newSecret(),
        expires_at: Math.floor(nowMs / 1_000) + codeSeconds,
      });
      return code;
    },

    /** What a code stands for, if it has not expired; it may have been used. `id` names it for whoever consumes it, `family` its refresh tokens. */
    async findGrant(code: string, nowMs: number): Promise<{ id: string; grant: Grant; family: string; expiresAt: number } | undefined> {
      const id = digestOf(code);
      const item = await table.get<CodeItem>(keys.signInCode(id));
      return isLive(item, nowMs) ? { id, grant: item.grant, family: item.family, expiresAt: item.expires_at } : undefined;
    },
  };
}

export type SignIns = ReturnType<typeof openSignIns>;
