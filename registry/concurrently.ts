/** Processes items, up to `concurrency` at a time, in no particular order. After the first failure, no further item is started. */
export async function concurrently<T>(items: Iterable<T>, concurrency: number, work: (item: T) => Promise<void>): Promise<void> {
  // shared by all workers: a failure ends one worker's loop, which closes the iterator for all
  const queue = Iterator.from(items).map((item) => item);
  const outcomes = await Promise.allSettled(
    Array.from({ length: concurrency }, async () => {
      for (const item of queue) await work(item);
    }),
  );
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
}
