/** Runs the work on the first call, and returns the same result or promise every time. */
export function memoize<T>(work: () => T): () => T {
  let known: { outcome: T } | undefined;
  return () => {
    known ??= { outcome: work() };
    return known.outcome;
  };
}
