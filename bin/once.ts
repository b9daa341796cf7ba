/** Does the work when it is first asked for, and returns its outcome, or its promise of one, every time. */
export function once<T>(work: () => T): () => T {
  let known: { outcome: T } | undefined;
  return () => {
    known ??= { outcome: work() };
    return known.outcome;
  };
}
