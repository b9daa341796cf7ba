import { keys } from '../table/keys.ts';
import type { Item, Table } from '../table/table.ts';
import { digestOf, newSecret } from './sign-ins.ts';

/** The grant of a family of refresh tokens: one acceptance of the policy, by a person for a client. */
export interface RefreshGrant {
  subject: string;
  clientId: string;
  /** RFC 8707 */
  resource: string;
  policy: string;
  /** generation of the agent, so that revoking the agent also ends the family */
  generation: string;
  /** in milliseconds since the epoch; a block that is lifted after this time ends the family as well */
  startedMs: number;
}

/** A family that was ended for good has no `current`, so that no token matches it. */
interface FamilyItem extends Item {
  grant: RefreshGrant;
  current: string;
  expires_at: number;
}

export interface FoundToken {
  family: string;
  grant: RefreshGrant;
  digest: string;
}

/** How long a family that was ended for good is remembered, in seconds; longer than any request that could still start it. */
const endedSeconds = 3_600;

const tokenPattern = /^([\w-]{43})\.([\w-]{43})$/;

/**
 * The refresh tokens of sign-in (RFC 6749 section 6). Each is used once and replaced by the next of its family. Reuse ends the family, because the
 * token may be stolen (RFC 9700 section 4.14.2). Only digests are stored.
 */
export function openRefreshTokens(table: Pick<Table, 'get' | 'put' | 'update' | 'delete'>) {
  const keyOf = (family: string) => keys.refreshFamily(digestOf(family));
  const secondsAfter = (nowMs: number, seconds: number): number => Math.floor(nowMs / 1_000) + seconds;

  const end = async (family: string): Promise<void> => void (await table.delete(keyOf(family)));

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

    /** Finds the current token of a family. Presenting an earlier one ends the family. */
    async findOrEnd(token: string, nowMs: number): Promise<FoundToken | undefined> {
      const [, family, secret] = tokenPattern.exec(token) ?? [];
      if (family === undefined || secret === undefined) return undefined;
      const item = await table.get<FamilyItem>(keyOf(family));
      if (!item || item.expires_at <= nowMs / 1_000) return undefined;
      const digest = digestOf(secret);
      if (item.current === digest) return { family, grant: item.grant, digest };
      await end(family);
      return undefined;
    },

    /**
     * Replaces a token by the next one. Of several requests with the same token, one succeeds; the others end the family.
     * @returns undefined if the token has been used
     */
    async rotate({ family, digest }: FoundToken): Promise<string | undefined> {
      const secret = newSecret();
      const next = digestOf(secret);
      const isRotated = await table.update(keyOf(family), {
        set: { current: next },
        // a retry after a lost response recognises its own write
        when: [['any', ['=', 'current', digest], ['=', 'current', next]]],
      });
      if (isRotated) return `${family}.${secret}`;
      await end(family);
      return undefined;
    },
  };
}

export type RefreshTokens = ReturnType<typeof openRefreshTokens>;
