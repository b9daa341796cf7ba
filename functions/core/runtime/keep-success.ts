import { beyondInvocation } from './invocation.ts';

/** How long a failure is kept, in milliseconds. */
const retryAfterMs = 1_000;

/** Memoises `read`: concurrent calls share one attempt, a success is kept forever, a failure for {@link retryAfterMs}. */
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
