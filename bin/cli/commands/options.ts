import { usageFailure } from '../failure.ts';

export function readConcurrency(text: string): number {
  const count = /^[0-9]{1,2}$/.test(text) ? Number(text) : 0;
  if (count < 1 || count > 64) throw usageFailure('--concurrency takes a whole number from 1 to 64.');
  return count;
}
