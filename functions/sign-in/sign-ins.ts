import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { unavailable } from '../core/runtime/api-error.ts';
import type { Item, Table } from '../core/table/table.ts';
import { signInKeys } from './records.ts';

export interface Person {
  subject: string;
  userName: string;
}

/** A person's consent; the client can exchange it for one PAT. */
export interface AuthorizationGrant {
  person: Person;
  clientId: string;
  redirectUri: string;
  /** RFC 7636 section 4.2, with S256 */
  codeChallenge: string;
  /** RFC 8707; absent if the client named none */
  resource?: string | undefined;
  policy: string;
}

interface SessionItem extends Item, Person {
  expires_at: number;
}

interface CodeItem extends Item {
  grant: AuthorizationGrant;
  /** family of refresh tokens; cannot be derived from the code */
  family: string;
  expires_at: number;
}

interface ConsentItem extends Item {
  policy: string;
  redirect_uri?: string;
  expires_at: number;
}

const codeSeconds = 60;

const consentSeconds = 90 * 24 * 3_600;

/** Duration of a person's lease to read a client's document, in seconds; longer than the timeout of the read. */
const readingSeconds = 5;

export const newSecret = (): string => randomBytes(32).toString('base64url');

/** Only digests of secrets are stored, so that readers of the table cannot use them. */
export const digestOf = (secret: string): string => createHash('sha256').update(secret).digest('base64url');

const isLive = <T extends { expires_at: number }>(item: T | undefined, nowMs: number): item is T =>
  item !== undefined && item.expires_at > nowMs / 1_000;

/** The records of sign-in. They are written only for people who have signed in, and all of them expire. */
export function openSignIns(table: Pick<Table, 'get' | 'put' | 'update' | 'delete'>) {
  return {
    /**
     * @param lifeSeconds - how long the person stays signed in
     * @returns the secret for the person's cookie
     */
    async startSession({ subject, userName }: Person, nowMs: number, lifeSeconds: number): Promise<string> {
      const secret = newSecret();
      await table.put({ ...signInKeys.session(digestOf(secret)), subject, userName, expires_at: Math.floor(nowMs / 1_000) + lifeSeconds });
      return secret;
    },

    /**
     * Runs work that waits for an untrusted server, one at a time per person, so that nobody can occupy many instances of a function.
     * @throws ApiError SERVICE_UNAVAILABLE while such work is running for the person
     */
    async oneAtATime<T>({ subject }: Person, nowMs: number, work: () => Promise<T>): Promise<T> {
      // no session secret has this digest
      const key = signInKeys.session(digestOf(`reading for ${subject}`));
      const by = randomUUID();
      const now = Math.floor(nowMs / 1_000);
      const isFree = await table.update(key, {
        set: { reading_by: by, expires_at: now + readingSeconds },
        // a retry after a lost response recognises its own write
        when: [['any', ['absent', 'expires_at'], ['<=', 'expires_at', now], ['=', 'reading_by', by]]],
      });
      if (!isFree) throw unavailable('Another program is being checked for you. Try again in a few seconds.', undefined, readingSeconds);
      try {
        return await work();
      } finally {
        await table.delete(key, { when: [['=', 'reading_by', by]] });
      }
    },

    async findSession(secret: string, nowMs: number): Promise<Person | undefined> {
      const item = await table.get<SessionItem>(signInKeys.session(digestOf(secret)));
      return isLive(item, nowMs) ? { subject: item.subject, userName: item.userName } : undefined;
    },

    /** Remembers the accepted policy, so that the client can renew its PAT while the policy is in force. */
    async rememberConsent({ person, clientId, redirectUri, policy }: AuthorizationGrant, nowMs: number): Promise<void> {
      const expires_at = Math.floor(nowMs / 1_000) + consentSeconds;
      await table.put({ ...signInKeys.consent(person.subject, clientId), policy, redirect_uri: redirectUri, expires_at });
    },

    async hasConsented({ person, clientId, redirectUri, policy }: AuthorizationGrant, nowMs: number): Promise<boolean> {
      const item = await table.get<ConsentItem>(signInKeys.consent(person.subject, clientId));
      return isLive(item, nowMs) && item.policy === policy && item.redirect_uri === redirectUri;
    },

    /** @returns the authorization code */
    async keepGrant(grant: AuthorizationGrant, nowMs: number): Promise<string> {
      const code = newSecret();
      await table.put({
        ...signInKeys.code(digestOf(code)),
        grant,
        family: newSecret(),
        expires_at: Math.floor(nowMs / 1_000) + codeSeconds,
      });
      return code;
    },

    /** The grant of an unexpired code, which may have been used. `id` identifies the code, `family` its refresh tokens. */
    async findGrant(
      code: string,
      nowMs: number,
    ): Promise<{ id: string; grant: AuthorizationGrant; family: string; expiresAt: number } | undefined> {
      const id = digestOf(code);
      const item = await table.get<CodeItem>(signInKeys.code(id));
      return isLive(item, nowMs) ? { id, grant: item.grant, family: item.family, expiresAt: item.expires_at } : undefined;
    },
  };
}

export type SignIns = ReturnType<typeof openSignIns>;
