import { beyondInvocation } from './invocation.ts';

/** After a failure, nothing is read again for this long. */
const retryAfterMs = 1_000;

/** Concurrent calls share one attempt. Keeps a success forever, and a failure for {@link retryAfterMs}. */
export function keepSuccess<T>(read: () => Promise<T>, now: () => number): () => Promise<T> {
  let attempt: Promise<T> | undefined;
  let failedAtMs: number | undefined;
  return () => {
    if (failedAtMs !== undefined && now() - failedAtMs >= retryAfterMs) attempt = failedAtMs = undefined;
    attempt ??= beyondInvocation(read).catch((error: unknown) => {
      failedAtMs = now();
      throw error;
    });
    return attempt;
  };
}
