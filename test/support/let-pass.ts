import { jest } from '@jest/globals';

/** So much time passes on the monotonic clock, by which the age of reads is measured, until the mocks are restored. */
export function letPass(milliseconds: number): void {
  const now = performance.now.bind(performance);
  jest.spyOn(performance, 'now').mockImplementation(() => now() + milliseconds);
}
