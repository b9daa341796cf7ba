/** Splits a list into batches of at most `size`. */
export function* batchesOf<T>(all: readonly T[], size: number): Generator<T[]> {
  for (let at = 0; at < all.length; at += size) yield all.slice(at, at + size);
}

/** Runs something for each item of a list, for at most `parallel` items at the same time. */
export async function runInBatches<T>(all: readonly T[], parallel: number, run: (item: T) => Promise<unknown>): Promise<void> {
  for (const batch of batchesOf(all, parallel)) await Promise.all(batch.map(run));
}
