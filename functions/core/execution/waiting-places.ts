import { randomInt } from 'node:crypto';
import { ApiError } from '../api-error.ts';
import type { Condition } from '../table/expression.ts';
import { keys, partitions } from '../table/keys.ts';
import { pagesOf } from '../table/pages.ts';
import type { Item, Table, Write } from '../table/table.ts';

/** Maximum number of calls that wait for approval. */
export const maxWaitingCalls = 1_000;
export const maxOfHolder = 20;

/** The places of a waiting call in the queue and among its holder's calls. Places are numbered, so no race can exceed their number. */
export interface Place {
  among_all: number;
  among_own: number;
}

interface PlaceItem extends Item {
  execution_id: string;
  account: string;
  /** of the service; its admins decide */
  namespace?: string;
  place: Place;
  /** when the place becomes free, in milliseconds since the epoch */
  until: number;
}

interface Wanted {
  account: string;
  executionId: string;
  namespace: string | undefined;
  untilMs: number;
  nowMs: number;
}

const retryAfter = { headers: { 'Retry-After': '60' } };

const tooManyOfHolder = () =>
  new ApiError(
    'TOO_MANY_REQUESTS',
    `${maxOfHolder} of your calls are waiting for approval, which is the maximum. Wait until some are decided.`,
    {
      details: { reason: 'waiting_calls', outcome: 'not_sent' },
      ...retryAfter,
    },
  );

const tooManyInAll = () =>
  new ApiError(
    'TOO_MANY_REQUESTS',
    'Too many calls are waiting for approval. Try again later, or ask the operators of this gate to decide.',
    {
      details: { reason: 'waiting_calls', outcome: 'not_sent' },
      ...retryAfter,
    },
  );

/** Calls that wait for approval, oldest first. */
export async function listWaitingCalls(table: Table, nowMs: number): Promise<PlaceItem[]> {
  const waiting: PlaceItem[] = [];
  for await (const page of pagesOf<PlaceItem>(table, partitions.approval.prefix)) waiting.push(...page);
  // ids are in the order of time
  return waiting.filter(({ until }) => until > nowMs).sort((a, b) => (a.execution_id < b.execution_id ? -1 : 1));
}

/** A random free number below `count`, so that concurrent requests rarely collide. */
function chooseFree(count: number, taken: ReadonlySet<number>): number {
  const free = Array.from({ length: count }, (_, number) => number).filter((number) => !taken.has(number));
  return free[randomInt(free.length)] as number;
}

/**
 * Chooses places for a call that is to wait, and the writes that take them.
 * @throws ApiError TOO_MANY_REQUESTS if none is free
 */
export async function requirePlace(
  table: Table,
  { account, executionId, namespace, untilMs, nowMs }: Wanted,
): Promise<{ place: Place; writes: Write[] }> {
  const waiting = await listWaitingCalls(table, nowMs);
  const own = waiting.filter((item) => item.account === account);
  if (own.length >= maxOfHolder) throw tooManyOfHolder();
  if (waiting.length >= maxWaitingCalls) throw tooManyInAll();
  const place = {
    among_all: chooseFree(maxWaitingCalls, new Set(waiting.map((item) => item.place.among_all))),
    among_own: chooseFree(maxOfHolder, new Set(own.map((item) => item.place.among_own))),
  };
  const taken = { execution_id: executionId, account, namespace, place, until: untilMs, expires_at: Math.ceil(untilMs / 1_000) };
  const when: Condition[] = [['any', ['absent', 'pk'], ['<=', 'until', nowMs]]];
  return {
    place,
    writes: [
      { put: { ...keys.approvalPlace(place.among_all), ...taken }, when },
      { put: { ...keys.holderPlace(account, place.among_own), ...taken }, when },
    ],
  };
}

/** Frees the places of a call, if it still has them. */
export const leavePlaces = (table: Table, account: string, executionId: string, { among_all, among_own }: Place): Promise<boolean[]> =>
  Promise.all(
    [keys.approvalPlace(among_all), keys.holderPlace(account, among_own)].map((key) =>
      table.delete(key, { when: [['=', 'execution_id', executionId]] }),
    ),
  );
