import { batchesOf, runInBatches } from '../runtime/batches.ts';
import type { Key } from './keys.ts';
import type { BatchedWrite, Item, Query, Table } from './table.ts';

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

/** @param parallel - maximum number of concurrent requests */
export async function getMany<T extends Item>(
  table: Pick<Table, 'getAll'>,
  keys: readonly Key[],
  parallel = 1,
): Promise<(T | undefined)[]> {
  const found: (T | undefined)[] = new Array(keys.length);
  const starts = Array.from({ length: Math.ceil(keys.length / batchSize) }, (_, at) => at * batchSize);
  await runInBatches(starts, parallel, async (start) => {
    for (const [at, item] of (await table.getAll<T>(keys.slice(start, start + batchSize))).entries()) found[start + at] = item;
  });
  return found;
}

/** Makes unconditional writes to distinct items, up to `parallel` batches of 25 at the same time. */
export const writeMany = (table: Pick<Table, 'writeAll'>, writes: readonly BatchedWrite[], parallel: number): Promise<void> =>
  runInBatches(batchesOf(writes, 25), parallel, (batch) => table.writeAll(batch));
