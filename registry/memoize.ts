/** Runs the work on the first call, and returns the same result or promise every time. */
export function memoize<T>(work: () => T): () => T {
  let known: { outcome: T } | undefined;
  return () => {
    known ??= { outcome: work() };
    return known.outcome;
  };
}

/** Runs the work once for each object, for as long as the object is in use. */
export function memoizeFor<Key extends object, T>(work: (key: Key) => T): (key: Key) => T {
  const known = new WeakMap<Key, { outcome: T }>();
  return (key) => {
    const { outcome } = known.get(key) ?? { outcome: work(key) };
    known.set(key, { outcome });
    return outcome;
  };
}
