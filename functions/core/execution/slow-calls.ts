import type { IntentRecord } from '../registry/records.ts';
import { CallFailed } from '../relay/call-failure.ts';
import { originOf } from '../relay/url-template.ts';
import { readEnvironment } from '../runtime/environment.ts';
import { bounded } from '../runtime/invocation.ts';
import { describeCause, log } from '../runtime/log.ts';
import type { Update } from '../table/expression.ts';
import { type Key, keys } from '../table/keys.ts';
import { isLeaseOver, type LeasesItem, newLease, sweepDelaySeconds, takeLease } from '../table/leases.ts';
import type { Item, Table } from '../table/table.ts';

/** Duration after which a call is listed as slow, in milliseconds. */
const slowMs = 3_000;

/** Overrides {@link slowMs} for a recently crowded origin, in milliseconds. */
const soonMs = 300;

/** How long an origin counts as recently crowded, in milliseconds. */
const crowdedMs = 60_000;

/** Longest invocation of a function that answers requests, in seconds. */
const longestAnswerSeconds = 30;

const writeMs = 500;

/** Maximum number of slow calls per origin; their list fits into one read unit. */
const maxBound = 100;

/** Maximum number of slow calls per origin without reserved concurrency. */
const defaultBound = 50;

/** A fifth of the reserved concurrency. */
export const boundOf = (reserved: number | undefined): number =>
  reserved === undefined ? defaultBound : Math.min(maxBound, Math.max(1, Math.floor(reserved / 5)));

export interface SlowCallsItem extends LeasesItem {
  /** until when calls are listed after {@link soonMs}, in milliseconds since the epoch */
  crowded_until?: number;
}

/**
 * Keeps one hanging origin from occupying all environments of a function. Only slow calls write, so a responsive origin costs one read per call.
 * If the list cannot be written, the call proceeds unbounded. Background calls, which may take minutes, are listed from their start instead, and do not
 * proceed unless they are.
 * @param name - name of the function; each function has its own bound
 * @param bound - maximum number of concurrent slow calls to one origin
 * @param background - `leaseSeconds`: lifetime of a listed background call if its environment crashes; at least the longest invocation
 */
export function openSlowCalls(
  table: Pick<Table, 'get' | 'update'>,
  name: string,
  bound: number,
  background?: { leaseSeconds: number },
  now: () => number = Date.now,
) {
  const keyOf = ({ endpoint }: Pick<IntentRecord, 'endpoint'>): Key => keys.slowCalls(originOf(endpoint.url) ?? '', name);

  const isOver = (lease: string): boolean => isLeaseOver(lease, now());

  const isCrowded = ({ leases = new Set() }: Partial<SlowCallsItem>): boolean =>
    [...leases].filter((lease) => !isOver(lease)).length >= bound;

  return {
    keyOf,

    of(intent: Pick<IntentRecord, 'endpoint'>, item: Item | undefined) {
      const key = keyOf(intent);
      const seen = (item ?? {}) as Partial<SlowCallsItem>;

      async function write(update: Update): Promise<Partial<SlowCallsItem>> {
        try {
          return (await bounded(writeMs, () => table.update<SlowCallsItem>(key, update))) || {};
        } catch (error) {
          log.warn('slow call not listed', { cause: describeCause(error) });
          return {};
        }
      }

      async function addLease(lease: string, expiresAt: number): Promise<void> {
        const over = [...(seen.leases ?? [])].filter(isOver);
        if (over.length > 0) await write({ take: { leases: new Set(over) } });
        const listed = await write({
          add: [['leases', new Set([lease])]],
          set: { expires_at: expiresAt + sweepDelaySeconds },
          when: [['any', ['absent', 'leases'], ['fewer', 'leases', 2 * bound]]],
        });
        const isNoted = (listed.crowded_until ?? 0) > now() + crowdedMs / 2;
        if (isCrowded(listed) && !isNoted) await write({ set: { crowded_until: now() + crowdedMs } });
      }

      return {
        /** @throws CallFailed `crowded` if too many slow calls to the origin are in progress */
        requireRoom(): void {
          if (isCrowded(seen)) throw new CallFailed('crowded');
        },

        /**
         * Lists the call, if it becomes slow or is a background call.
         * @returns a function to call and await when the call ends
         * @throws CallFailed `crowded`, of a background call
         */
        async watch(): Promise<() => Promise<void>> {
          if (background) {
            const giveBack = await takeLease(table, key, bound, background.leaseSeconds, now);
            if (!giveBack) throw new CallFailed('crowded');
            return giveBack;
          }
          let listed: { lease: string; done: Promise<void> } | undefined;
          const timer = setTimeout(
            () => {
              const expiresAt = Math.ceil(now() / 1_000) + longestAnswerSeconds;
              const lease = newLease(expiresAt);
              listed = { lease, done: addLease(lease, expiresAt) };
            },
            (seen.crowded_until ?? 0) > now() ? soonMs : slowMs,
          );
          return async () => {
            clearTimeout(timer);
            if (listed === undefined) return;
            await listed.done;
            await write({ take: { leases: new Set([listed.lease]) } });
          };
        },
      };
    },
  };
}

export type SlowCalls = ReturnType<typeof openSlowCalls>;

export type SlowCallsOfOrigin = ReturnType<SlowCalls['of']>;

export function slowCallsFromEnvironment(table: Table, background?: { leaseSeconds: number }): SlowCalls {
  const { reservedConcurrency } = readEnvironment([], ['reservedConcurrency']);
  const reserved = reservedConcurrency === undefined ? undefined : Number(reservedConcurrency);
  return openSlowCalls(table, process.env.AWS_LAMBDA_FUNCTION_NAME ?? '', boundOf(reserved), background);
}
