import { randomBytes } from 'node:crypto';
import { describeCause, log } from '../runtime/log.ts';
import type { Condition } from './expression.ts';
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
  const acquire = () =>
    table.update(key, {
      add: [['leases', new Set([lease])]],
      set: { expires_at: expiresAt + sweepDelaySeconds },
      when: [['any', ['absent', 'leases'], ['fewer', 'leases', bound]]],
      isQuiet: true,
    });
  const remove = (leases: string[]) => table.update(key, { take: { leases: new Set(leases) }, isQuiet: true });
  if (!(await acquire())) {
    const over = [...((await table.get<LeasesItem>(key))?.leases ?? [])].filter((one) => isLeaseOver(one, now()));
    if (over.length === 0) return undefined;
    await remove(over);
    if (!(await acquire())) return undefined;
  }
  return async () => {
    await remove([lease]).catch((error: unknown) => log.warn('lease kept until it expires', { cause: describeCause(error) }));
  };
}

/** A record whose runs take turns. Times are in milliseconds since the epoch. */
export interface RunItem extends Item {
  run_number: number;
  busy_until?: number;
}

/** Another run has begun, because this one was silent for longer than its lease. */
export class RunOvertaken extends Error {
  override readonly name = 'RunOvertaken';
}

/**
 * Begins a run of background work that excludes others until it ends, or is silent for `lifeMs`.
 * @param key - of the record in which the run keeps its progress
 * @returns undefined if another run is active
 */
export async function beginRun<T extends Item>(table: Pick<Table, 'update'>, key: Key, lifeMs: number, now: () => number = Date.now) {
  const item = await table.update<T & RunItem>(key, {
    add: [['run_number', 1]],
    set: { busy_until: now() + lifeMs },
    when: [['any', ['absent', 'busy_until'], ['<', 'busy_until', now()]]],
  });
  if (!item) return undefined;
  let renewedMs = now();
  const change = (set: Item, remove: readonly string[], when: readonly Condition[] = []) =>
    table.update(key, { set, remove, when: [['=', 'run_number', item.run_number], ...when], isQuiet: true });
  const save = async (set: Item, remove: readonly string[] = [], when: readonly Condition[] = []): Promise<void> => {
    const savedMs = now();
    if (!(await change({ ...set, busy_until: savedMs + lifeMs }, remove, when)))
      throw new RunOvertaken('a later run has taken over, because this one was silent for too long');
    renewedMs = savedMs;
  };
  return {
    /** the record when the run began; `run_number` is greater than that of every earlier run */
    item,
    /** Changes the record. @throws RunOvertaken */
    save,
    /** Keeps the lease. @throws RunOvertaken */
    renew: async (): Promise<void> => {
      if (now() - renewedMs > lifeMs / 5) await save({});
    },
    end: async (): Promise<void> => void (await change({}, ['busy_until'])),
  };
}

export type Run = NonNullable<Awaited<ReturnType<typeof beginRun>>>;
