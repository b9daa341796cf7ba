import type { Terminal } from '../terminal.ts';

/**
 * Does the same with each item, several at a time, in no particular order. After the first failure no further item is begun.
 * @param concurrency - how many at a time, at least 1
 */
export async function concurrently<T>(items: Iterable<T>, concurrency: number, work: (item: T) => Promise<void>): Promise<void> {
  // shared by all workers: a failure leaves the loop of one, which closes the queue
  const queue = Iterator.from(items).map((item) => item);
  const outcomes = await Promise.allSettled(
    Array.from({ length: concurrency }, async () => {
      for (const item of queue) await work(item);
    }),
  );
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
}

/** As {@link concurrently}, with a progress counter. */
export async function withProgress<T>(
  { progress: open }: Pick<Terminal, 'progress'>,
  what: string,
  items: readonly T[],
  concurrency: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const progress = open(what, items.length);
  try {
    await concurrently(items, concurrency, async (item) => {
      await work(item);
      progress.step();
    });
  } finally {
    progress.end();
  }
}
