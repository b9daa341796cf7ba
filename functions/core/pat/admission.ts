import { unavailable } from '../api-error.ts';

/**
 * Within what time an execution is admitted once it has begun to read whether its agent is blocked, in milliseconds. Whoever blocks an agent
 * waits as long before saying so: an execution that read before the block was written has by then been admitted or refused, and every later one
 * reads the block. It holds for every policy, with or without a limit, and costs executions nothing. Both sides measure a duration, so that
 * their clocks need not agree.
 */
export const maxAdmissionMs = 3_000;

/** How much longer whoever blocks waits, because no two clocks run alike. */
const marginMs = 100;

/** Begins to measure. The returned function throws ApiError SERVICE_UNAVAILABLE if it is called too late. */
export function openAdmission(): () => void {
  const startedMs = performance.now();
  return () => {
    if (performance.now() - startedMs > maxAdmissionMs) {
      throw unavailable('The call could not be admitted in time, and was not made. Try again after Retry-After.');
    }
  };
}

/** Waits until no execution can be admitted any more that began before now. */
export const outwaitAdmissions = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, maxAdmissionMs + marginMs));
