import { batchesOf } from '../batches.ts';
import type { Key } from './keys.ts';
import type { Item, Query, Table } from './table.ts';

/** Reads a query page by page; each page is read on demand. */
export async function* pagesOf<T extends Item>(table: Pick<Table, 'query'>, pk: string, query: Query = {}): AsyncGenerator<T[]> {
  let start: Key | undefined;
  do {
    const { items, lastKey } = await table.query<T>(pk, { ...query, start });
    yield items;
    start = lastKey;
  } while (start);
}

/** The first `count` items of a query, or all if there are fewer. */
export async function firstOf<T>(pages: AsyncIterable<T[]>, count: number): Promise<T[]> {
  const found: T[] = [];
  for await (const items of pages) {
    found.push(...items);
    if (found.length >= count) break;
  }
  return found.slice(0, count);
}

/** All items of some partitions, read in parallel. */
export const readPartitions = async <T extends Item>(table: Pick<Table, 'query'>, pks: Iterable<string>): Promise<T[]> =>
  (await Promise.all([...new Set(pks)].map((pk) => Array.fromAsync(pagesOf<T>(table, pk))))).flat(2);

const batchSize = 100;

export async function getMany<T extends Item>(table: Pick<Table, 'getAll'>, keys: readonly Key[]): Promise<(T | undefined)[]> {
  const found: (T | undefined)[] = [];
  for (const batch of batchesOf(keys, batchSize)) found.push(...(await table.getAll<T>(batch)));
  return found;
}
