/** Splits a list into batches of at most `size`. */
export function* batchesOf<T>(all: readonly T[], size: number): Generator<T[]> {
  for (let at = 0; at < all.length; at += size) yield all.slice(at, at + size);
}

/** Processes items, up to `parallel` at a time, in no particular order. After a failure it starts no more, and throws it once those that run have ended. */
export async function concurrently<T>(items: Iterable<T>, parallel: number, work: (item: T) => Promise<unknown>): Promise<void> {
  // shared by all workers: a failure ends one worker's loop, which closes the iterator for all
  const queue = Iterator.from(items).map((item) => item);
  const outcomes = await Promise.allSettled(
    Array.from({ length: parallel }, async () => {
      for (const item of queue) await work(item);
    }),
  );
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
}
