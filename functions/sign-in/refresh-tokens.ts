import { createHmac } from 'node:crypto';
import type { Item, Table } from '../core/table/table.ts';
import { signInKeys } from './records.ts';
import { digestOf, newSecret } from './sign-ins.ts';

/** The grant of a family of refresh tokens: one acceptance of the policy, by a person for a client. */
export interface RefreshGrant {
  subject: string;
  clientId: string;
  /** RFC 8707; absent if the client named none */
  resource?: string | undefined;
  policy: string;
  /** generation of the agent, so that revoking the agent also ends the family */
  generation: string;
  /** in milliseconds since the epoch; a block that is lifted after this time ends the family as well */
  startedMs: number;
}

/** A family that was ended for good has no `current`, so that no token matches it. */
interface FamilyItem extends Item {
  grant: RefreshGrant;
  /** digest of the token in use */
  current: string;
  /** the rotations of the last minute, the newest first; earlier versions of the gate stored only the last one */
  rotated?: Rotation[] | Rotation;
  expires_at: number;
}

interface Rotation {
  /** digest of the replaced token */
  from: string;
  /** of its successor */
  salt: string;
  /** milliseconds since the epoch */
  atMs: number;
}

export interface FoundToken {
  family: string;
  grant: RefreshGrant;
  secret: string;
  /** the token in use, if this one was replaced within the last minute */
  successor?: string;
  /** the rotations of the last minute, the newest first */
  recent: readonly Rotation[];
}

/** How long a replaced token gets its successor again, in milliseconds: the response may have been lost, or two windows renew at once. */
const repeatMs = 60_000;

/** Maximum number of replaced tokens for which the token in use can be found; presenting an older one ends the family. */
const maxRecent = 10;

/** How long a family that was ended for good is remembered, in seconds; longer than any request that could still start it. */
const endedSeconds = 3_600;

const tokenPattern = /^([\w-]{43})\.([\w-]{43})$/;

/** Neither the holder of a token nor a reader of the table can derive the next one alone. */
const successorOf = (secret: string, salt: string): string => createHmac('sha256', salt).update(secret).digest('base64url');

/**
 * The refresh tokens of sign-in (RFC 6749 section 6). Each is used once and replaced by the next of its family; for a minute, a repeated request
 * gets the token in use. Later reuse ends the family, because the token may be stolen (RFC 9700 section 4.14.2). Only digests are stored.
 */
export function openRefreshTokens(table: Pick<Table, 'get' | 'put' | 'update' | 'delete'>) {
  const keyOf = (family: string) => signInKeys.refreshFamily(digestOf(family));
  const secondsAfter = (nowMs: number, seconds: number): number => Math.floor(nowMs / 1_000) + seconds;

  const end = async (family: string): Promise<void> => void (await table.delete(keyOf(family)));

  /** Finds the token in use of a family, or one that was replaced within the last minute. Presenting an earlier one ends the family. */
  const findOrEnd = async (token: string, nowMs: number): Promise<FoundToken | undefined> => {
    const [, family, secret] = tokenPattern.exec(token) ?? [];
    if (family === undefined || secret === undefined) return undefined;
    const item = await table.get<FamilyItem>(keyOf(family));
    if (!item || item.expires_at <= nowMs / 1_000) return undefined;
    const { grant, current, rotated = [] } = item;
    const recent = [rotated].flat().filter(({ atMs }) => nowMs - atMs <= repeatMs);
    const digest = digestOf(secret);
    if (current === digest) return { family, grant, secret, recent };
    let [newest, rotation] = [secret, recent.find(({ from }) => from === digest)];
    if (rotation) {
      for (; rotation; rotation = recent.find(({ from }) => from === digestOf(newest))) newest = successorOf(newest, rotation.salt);
      return { family, grant, secret, recent, successor: `${family}.${newest}` };
    }
    await end(family);
    return undefined;
  };

  return {
    end,

    /** Ends a family whose code was used twice, even before it has started. */
    endForGood: async (family: string, nowMs: number): Promise<void> =>
      void (await table.put({ ...keyOf(family), expires_at: secondsAfter(nowMs, endedSeconds) })),

    /**
     * Starts a family.
     * @param family - 43 random characters of base64url, unique to this acceptance
     * @returns its first token; undefined if the family was ended for good before
     */
    async start(family: string, grant: RefreshGrant, nowMs: number, lifeSeconds: number): Promise<string | undefined> {
      const secret = newSecret();
      const current = digestOf(secret);
      const item = { ...keyOf(family), grant, current, expires_at: secondsAfter(nowMs, lifeSeconds) };
      // a retry after a lost response recognises its own write
      const isStarted = await table.put(item, { when: [['any', ['absent', 'pk'], ['=', 'current', current]]] });
      return isStarted ? `${family}.${secret}` : undefined;
    },

    findOrEnd,

    /**
     * Replaces a token by the next one, with one conditional write. Of several requests with the same token, one writes, and all get the same successor.
     * @returns undefined if the token was used earlier, or its family has ended
     */
    async rotate({ family, secret, successor, recent }: FoundToken, nowMs: number): Promise<string | undefined> {
      if (successor !== undefined) return successor;
      const salt = newSecret();
      const next = successorOf(secret, salt);
      const [from, current] = [digestOf(secret), digestOf(next)];
      const isRotated = await table.update(keyOf(family), {
        set: { current, rotated: [{ from, salt, atMs: nowMs }, ...recent].slice(0, maxRecent) },
        when: [['=', 'current', from]],
      });
      // another request was faster, or a retry after a lost response meets its own write
      return isRotated ? `${family}.${next}` : (await findOrEnd(`${family}.${secret}`, nowMs))?.successor;
    },
  };
}

export type RefreshTokens = ReturnType<typeof openRefreshTokens>;
