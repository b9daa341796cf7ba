import type { RateLimit } from '../../../schemas/pat.ts';

/** DynamoDB's write throughput for one item; each agent or service has one counter item. */
const maxWritesPerSecond = 1_000;

/** Below this period, in seconds, buckets are so short that each call is counted about three times. */
const shortestSeconds = 10;

/** Why one counter cannot sustain a limit, as a sentence that begins with a verb; undefined if it can. */
export function describeOverload({ rate, period }: RateLimit): string | undefined {
  const calls = Math.ceil(rate / period);
  const counter = `one counter sustains about ${maxWritesPerSecond} writes a second`;
  if (period < shortestSeconds) {
    return `has a period of ${period} s: below ${shortestSeconds} s each call takes about 3 writes, and ${counter}, so about ${Math.floor(maxWritesPerSecond / 3)} calls`;
  }
  return calls > maxWritesPerSecond ? `allows ${calls} calls a second, but ${counter}` : undefined;
}

/** Warnings about the limit of a saved service. */
export function warningsOf({ limit }: { limit?: RateLimit | undefined }): { warnings?: string[] } {
  const overload = limit && describeOverload(limit);
  return overload ? { warnings: [`The limit ${overload}.`] } : {};
}
