import { unavailable } from '../api-error.ts';

/**
 * Maximum delay between reading an agent's block status and sending its call, in milliseconds; after that, the status is read again. The
 * answer to a block waits this long, so that executions that read before the block have sent their call by then, or read it again. Both
 * sides measure durations, so their clocks need not agree.
 */
export const maxAdmissionMs = 3_000;

/** Extra wait of a block, because clocks run at slightly different speeds. */
const marginMs = 100;

const maxAttempts = 3;

/**
 * Starts the clock; call it before the first read.
 * @param readAgain - throws if the agent is blocked
 * @returns a check to make right before sending. It returns whether it has read again, and throws what `readAgain` throws, or ApiError
 * SERVICE_UNAVAILABLE if reads take too long
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

/** Waits until every execution that read its agent's status before now has sent its call, or must read again. */
export const outwaitAdmissions = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, maxAdmissionMs + marginMs));
