import { jest } from '@jest/globals';
import { recheckAfterMs } from '../../functions/core/execution/block-check.ts';

/** So much time passes on the monotonic clock, by which the age of reads is measured, until the mocks are restored. */
export function letPass(milliseconds: number): void {
  const now = performance.now.bind(performance);
  jest.spyOn(performance, 'now').mockImplementation(() => now() + milliseconds);
}

/** Changes that wait until calls which have read the records before are over (`block-check.ts`) do not wait, until the mocks are restored. */
export function skipOutwaiting(): void {
  const start = setTimeout;
  const startNow = (work: () => void, ms?: number) =>
    start(work, ms !== undefined && ms > recheckAfterMs && ms < recheckAfterMs + 500 ? 0 : ms);
  jest.spyOn(globalThis, 'setTimeout').mockImplementation(startNow as typeof setTimeout);
}
