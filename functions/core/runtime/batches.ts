/** Splits a list into batches of at most `size`. */
export function* batchesOf<T>(all: readonly T[], size: number): Generator<T[]> {
  for (let at = 0; at < all.length; at += size) yield all.slice(at, at + size);
}

/** Runs something for each item of a list, for at most `parallel` items at the same time. After a failure, it starts no more. */
export async function runInBatches<T>(all: Iterable<T>, parallel: number, run: (item: T) => Promise<unknown>): Promise<void> {
  const items = all[Symbol.iterator]();
  let hasFailed = false;
  const work = async () => {
    for (let next = items.next(); !next.done && !hasFailed; next = items.next()) await run(next.value);
  };
  const fail = (error: unknown) => {
    hasFailed = true;
    throw error;
  };
  await Promise.all(Array.from({ length: parallel }, () => work().catch(fail)));
}
