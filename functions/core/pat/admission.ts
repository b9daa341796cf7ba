import { unavailable } from '../api-error.ts';

/**
 * Within what time an execution calls once it has begun to read whether its agent is blocked, in milliseconds; if it takes longer, it
 * reads again. Whoever blocks an agent waits as long before saying so: an execution that read before the block was written has by then
 * called, or reads the block. That is asked right before the call is sent, and again before it is sent over another connection or with other values
 * of a credential. It holds for every policy, with or without a limit, and costs executions nothing. Both sides measure a duration, so that their clocks need not agree.
 */
export const maxAdmissionMs = 3_000;

/** How much longer whoever blocks waits, because no two clocks run alike. */
const marginMs = 100;

const maxAttempts = 3;

/**
 * Begins to measure, before the first reading.
 * @param readAgain - throws if the agent is blocked
 * @returns what lets it call, and says whether it has read again: throws what `readAgain` does, or ApiError SERVICE_UNAVAILABLE if reading takes
 * too long as well
 */
export function openAdmission(readAgain: () => Promise<void>): () => Promise<boolean> {
  let startedMs = performance.now();
  const isInTime = () => performance.now() - startedMs <= maxAdmissionMs;
  return async () => {
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      if (isInTime()) return attempt > 0;
      startedMs = performance.now();
      await readAgain();
    }
    if (!isInTime()) throw unavailable('The call could not be admitted in time, and was not made. Try again after Retry-After.');
    return true;
  };
}

/** Waits until no execution can call any more that began to read before now. */
export const outwaitAdmissions = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, maxAdmissionMs + marginMs));
