import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { beyondInvocation } from '../core/runtime/invocation.ts';
import { describeCause, log } from '../core/runtime/log.ts';
import type { Condition } from '../core/table/expression.ts';
import type { Key } from '../core/table/keys.ts';
import type { Item, Table } from '../core/table/table.ts';
import { IssuerFailure, type IssuerWords } from './issuer-failure.ts';
import { connectionKeys } from './records.ts';
import { tokenBusy } from './refusals.ts';
import type { IssuedTokens, Sealer, Tokens } from './seal.ts';

/** The last failure of a token. `at`: milliseconds since the epoch. */
export interface Failure extends IssuerWords {
  at: number;
}

/** A record of tokens. Times are in milliseconds since the epoch, except `expires_at`, which is in seconds. */
export interface GrantItem extends Item {
  /** of the client that the tokens belong to: see `clientIdentity`, or the version of the credential for the gate's own token */
  client: string;
  /** unique to this consent of the person */
  consent?: string;
  /** changes with the tokens */
  rev: number;
  /** absent once the tokens are of no use */
  sealed?: string;
  issued?: number;
  /** when the access token is to be renewed, shortly before it expires; absent if the issuer did not say how long it lives */
  until?: number | undefined;
  /** the renewal that is under way, and when it must have ended */
  lease?: string;
  lease_until?: number;
  failure?: Failure;
  /** of a person's grant */
  user_name?: string;
  scopes?: string[];
  connected_at?: number;
  expires_at: number;
}

/** Renewal of a record's tokens. */
export interface Renewal {
  key: Key;
  /** failures are also kept in its record */
  serviceId: string;
  /** whether the request can be repeated if its outcome is unknown: not with a refresh token, which may be used up */
  isRepeatable: boolean;
  /** of the record that is written, see {@link GrantItem.client}; tokens of another client do not count */
  client: string;
  /** @throws IssuerFailure */
  request: (tokens: Tokens | undefined) => Promise<IssuedTokens>;
  /** gives back tokens of a connection that has ended */
  discard: (tokens: Tokens) => Promise<unknown>;
}

/** How long a renewal may take, in milliseconds: discovery, two ways to authenticate, and a write. */
const leaseMs = 20_000;

/** Clocks of instances may differ by this much, in milliseconds. */
const skewMs = 5_000;

/** How long calls wait for a renewal by another instance, in milliseconds, and how often they look. */
const [longestWaitMs, pollMs] = [12_000, 150];

/** After a failure, the issuer is left alone for this long, in milliseconds. */
const restMs = 5_000;

/** How long a connection lasts at most, in seconds. */
export const grantSeconds = 400 * 86_400;

const pauseBriefly = (): Promise<void> => delay(pollMs * (0.5 + Math.random()));

const marginOf = (lifeMs: number): number => Math.min(60_000, lifeMs / 10);

/** Tokens of people and of the gate. Only sealed tokens are stored. */
export function openGrants(table: Pick<Table, 'get' | 'update' | 'pause'>, sealer: Sealer, now: () => number = Date.now) {
  const renewing = new Map<string, Promise<GrantItem | undefined>>();

  const sealedMembers = async (key: Key, { lifeSeconds, scopes, ...tokens }: IssuedTokens) => ({
    sealed: await sealer.seal(key, { access: tokens.access, refresh: tokens.refresh }),
    issued: now(),
    until: lifeSeconds === undefined ? undefined : now() + lifeSeconds * 1_000 - marginOf(lifeSeconds * 1_000),
    ...(scopes && { scopes }),
  });

  const expiresAt = (): number => Math.floor(now() / 1_000) + grantSeconds;

  /** Notes what an issuer said, for admins. */
  async function noteFailure(serviceId: string, failure: Failure): Promise<void> {
    const update = { set: { failure, expires_at: expiresAt() }, isQuiet: true } as const;
    await table
      .update(connectionKeys.ofService(serviceId), update)
      .catch((error: unknown) => log.warn('failure of an issuer not noted', { cause: describeCause(error) }));
  }

  /** Begins a renewal with one conditional write. @returns undefined if another one has begun, or the tokens have changed */
  async function takeLease({ key, client }: Renewal, item: GrantItem | undefined) {
    const lease = randomUUID();
    // a retry after a lost response recognises its own write
    const isOwn = ['=', 'lease', lease] as const;
    const when: Condition[] = [
      item?.rev === undefined ? ['any', ['absent', 'rev'], isOwn] : ['=', 'rev', item.rev],
      ['any', ['absent', 'lease'], item?.lease === undefined ? isOwn : ['=', 'lease', item.lease], isOwn],
      ...(item?.consent === undefined ? [] : [['=', 'consent', item.consent] as const]),
    ];
    const first = item?.rev === undefined && { rev: 0, client, expires_at: expiresAt() };
    const isTaken = await table.update(key, {
      set: { ...first, lease, lease_until: now() + leaseMs },
      when,
      isQuiet: true,
    });
    return isTaken ? lease : undefined;
  }

  /** Ends a grant whose tokens may be used up: the person has to connect again. */
  async function end({ key, serviceId }: Renewal, lease: string, failure: Failure): Promise<void> {
    await table.update(key, {
      set: { failure },
      add: [['rev', 1]],
      remove: ['sealed', 'until', 'lease', 'lease_until'],
      when: [['=', 'lease', lease]],
      isQuiet: true,
    });
    await noteFailure(serviceId, failure);
  }

  /** Renews tokens as they were read. @returns `overtaken` if another renewal has begun, or the tokens have changed */
  async function renewFrom(renewal: Renewal, item: GrantItem | undefined): Promise<GrantItem | undefined | 'overtaken'> {
    const { key, serviceId, client, isRepeatable, request, discard } = renewal;
    // before the lease, because nothing but the issuer may fail while it runs
    const before = item?.sealed === undefined ? undefined : await sealer.open(key, item.sealed);
    const lease = await takeLease(renewal, item);
    if (lease === undefined) return 'overtaken';
    let issued: IssuedTokens;
    try {
      issued = await request(before);
    } catch (error) {
      if (!(error instanceof IssuerFailure)) throw error;
      const failure = { at: now(), ...error.words };
      const isOver = !isRepeatable && (error.outcome === 'unknown' || error.words.error === 'invalid_grant');
      if (isOver) await end(renewal, lease, failure);
      else {
        await table.update(key, { set: { failure }, remove: ['lease', 'lease_until'], when: [['=', 'lease', lease]], isQuiet: true });
        if (!isRepeatable) await noteFailure(serviceId, failure);
      }
      throw error;
    }
    // a refresh token that is not replaced stays valid (RFC 6749 section 6)
    const tokens = { ...issued, refresh: issued.refresh ?? before?.refresh };
    const { until, ...members } = await sealedMembers(key, tokens);
    const store = () =>
      table.update<GrantItem>(key, {
        set: { ...members, until, client, ...(isRepeatable && { expires_at: expiresAt() }) },
        add: [['rev', 1]],
        remove: ['lease', 'lease_until', 'failure', ...(until === undefined ? ['until'] : [])],
        when: [['=', 'lease', lease]],
      });
    const stored = await store().catch(store);
    if (stored) return stored;
    // This is a retry after a lost response, or the connection has ended or been replaced meanwhile. Tokens that others have replaced are forgotten, not
    // revoked: with a refresh token, an issuer may end all that the person has ever granted to the client (RFC 7009 section 2.1), also what is in use now.
    const found = await table.get<GrantItem>(key);
    if (found?.sealed === undefined) await discard(tokens).catch(() => {});
    return found;
  }

  /** Renews tokens unless they have changed since `seen`; of all callers one asks the issuer, and the others wait for the outcome. */
  async function renewOnce(renewal: Renewal, seen: GrantItem | undefined): Promise<GrantItem | undefined> {
    const { key, isRepeatable } = renewal;
    const endMs = now() + longestWaitMs;
    let item = seen;
    for (;;) {
      const isLeaseOver = item?.lease === undefined || now() > (item.lease_until ?? 0) + skewMs;
      const { failure } = item ?? {};
      // the issuer has just refused somebody else
      if (isLeaseOver && failure && item?.client === renewal.client && now() - failure.at < restMs)
        throw new IssuerFailure('unsent', failure);
      if (isLeaseOver && item?.lease !== undefined && !isRepeatable)
        await end(renewal, item.lease, { at: now(), description: outcomeUnknown });
      else if (isLeaseOver) {
        const renewed = await renewFrom(renewal, item);
        if (renewed !== 'overtaken') return renewed;
      } else if (now() > endMs) throw tokenBusy();
      else await (table.pause?.(0, pollMs, pollMs) ?? pauseBriefly());
      item = await table.get<GrantItem>(key);
      if (!isRepeatable && (!item || item.consent !== seen?.consent)) return item;
      if (item && item.rev !== seen?.rev && item.lease === undefined) return item;
    }
  }

  return {
    sealedMembers,
    expiresAt,
    noteFailure,

    /** @returns undefined if the tokens cannot be opened, or there are none */
    open: async (key: Key, { sealed }: GrantItem): Promise<Tokens | undefined> =>
      sealed === undefined ? undefined : sealer.open(key, sealed),

    /**
     * Renews the tokens of a record, once whatever the concurrency. Continues although its caller's time is up.
     * @param seen - the record with the tokens that are to be replaced
     * @returns the record, with other tokens or without any; undefined if it is gone
     * @throws IssuerFailure, or ApiError SERVICE_UNAVAILABLE
     */
    renew(renewal: Renewal, seen: GrantItem | undefined): Promise<GrantItem | undefined> {
      const name = `${renewal.key.pk} ${renewal.key.sk} ${seen?.rev} ${seen?.consent}`;
      const running = renewing.get(name) ?? beyondInvocation(() => renewOnce(renewal, seen)).finally(() => renewing.delete(name));
      renewing.set(name, running);
      return running;
    },
  };
}

export type Grants = ReturnType<typeof openGrants>;

const outcomeUnknown = 'The gate does not know whether its last refresh token has been used.';
