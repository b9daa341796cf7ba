import { randomBytes } from 'node:crypto';
import { describeCause, log } from '../log.ts';
import type { Key } from './keys.ts';
import type { Item, Table } from './table.ts';

/** Holders of places in something that all instances of a function share. Places of crashed instances become free when their leases expire. */
export interface LeasesItem extends Item {
  /** `<expiry in seconds since the epoch>.<name>` */
  leases?: Set<string>;
  expires_at: number;
}

/** How long the record of leases outlives its last lease, in seconds. */
export const sweepDelaySeconds = 3_600;

/** @param expiresAt - in seconds since the epoch */
export const newLease = (expiresAt: number): string => `${expiresAt}.${randomBytes(4).toString('base64url')}`;

export const isLeaseOver = (lease: string, nowMs: number): boolean => Number.parseInt(lease, 10) * 1_000 <= nowMs;

/**
 * Takes one of `bound` places with one conditional write.
 * @param lifeSeconds - when the place becomes free if it is not given back
 * @returns a function that gives the place back; undefined if none is free
 * @throws ApiError SERVICE_UNAVAILABLE
 */
export async function takeLease(
  table: Pick<Table, 'get' | 'update'>,
  key: Key,
  bound: number,
  lifeSeconds: number,
  now: () => number = Date.now,
): Promise<(() => Promise<void>) | undefined> {
  const expiresAt = Math.ceil(now() / 1_000) + lifeSeconds;
  const lease = newLease(expiresAt);
  const take = () =>
    table.update(key, {
      add: [['leases', new Set([lease])]],
      set: { expires_at: expiresAt + sweepDelaySeconds },
      when: [['any', ['absent', 'leases'], ['fewer', 'leases', bound]]],
      isQuiet: true,
    });
  const remove = (leases: string[]) => table.update(key, { take: { leases: new Set(leases) }, isQuiet: true });
  if (!(await take())) {
    const over = [...((await table.get<LeasesItem>(key))?.leases ?? [])].filter((one) => isLeaseOver(one, now()));
    if (over.length === 0) return undefined;
    await remove(over);
    if (!(await take())) return undefined;
  }
  return async () => {
    await remove([lease]).catch((error: unknown) => log.warn('lease kept until it expires', { cause: describeCause(error) }));
  };
}
