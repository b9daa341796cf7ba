import { changesOf, type Key, keys } from '../table/keys.ts';
import type { Table } from '../table/table.ts';
import { minUlidAt } from '../ulid.ts';
import type { Change } from './records.ts';

/** Pointers outlive every snapshot that search may start from. */
export const changeLifeSeconds = 3 * 24 * 3600;

/** Writers' clocks may run ahead by this much. */
const clockToleranceMs = 10_000;

/** Says that a record is about to be written as revision `rev`: always before the record itself, so that no change is missed. */
export async function announceChange(table: Table, change: Change): Promise<void> {
  await table.put({ ...keys.change(change), ...change, expires_at: Math.floor(Date.now() / 1000) + changeLifeSeconds });
}

/** Changes announced at or after a moment, oldest first, page by page; one query if the moment is today. */
export async function* changesSince(table: Table, timeMs: number): AsyncGenerator<Change[]> {
  const lastDay = changesOf(Date.now() + clockToleranceMs);
  for (let at = timeMs, day = ''; day < lastDay; at += 24 * 3600 * 1000) {
    day = changesOf(Math.min(at, Date.now() + clockToleranceMs));
    let start: Key | undefined;
    do {
      const { items, lastKey } = await table.query<Change & Record<string, unknown>>(day, {
        range: 'sk >= :since',
        ProjectionExpression: '#rev, #kind, #id',
        ExpressionAttributeNames: { '#rev': 'rev', '#kind': 'kind', '#id': 'id' },
        ExpressionAttributeValues: { ':since': minUlidAt(timeMs) },
        ExclusiveStartKey: start,
      });
      if (items.length > 0) yield items.map(({ rev, kind, id }) => ({ rev, kind, id }));
      start = lastKey;
    } while (start);
  }
}
