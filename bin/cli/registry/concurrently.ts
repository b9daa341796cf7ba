/**
 * Does the same with each item, several at a time, in no particular order. After the first failure no further item is begun.
 * @param concurrency - how many at a time, at least 1
 */
export async function concurrently<T>(items: Iterable<T>, concurrency: number, work: (item: T) => Promise<void>): Promise<void> {
  const iterator = items[Symbol.iterator]();
  let hasFailed = false;
  const worker = async () => {
    for (let next = iterator.next(); !next.done && !hasFailed; next = iterator.next()) {
      try {
        await work(next.value);
      } catch (error) {
        hasFailed = true;
        throw error;
      }
    }
  };
  const outcomes = await Promise.allSettled(Array.from({ length: concurrency }, worker));
  const failed = outcomes.find((outcome) => outcome.status === 'rejected');
  if (failed) throw failed.reason;
}
