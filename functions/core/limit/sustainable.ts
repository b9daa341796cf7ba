import type { RateLimit } from '../../../schemas/pat.ts';

/** DynamoDB writes one item this often, and a limit has one item for each agent or service. */
const maxWritesPerSecond = 1_000;

/** A window of fewer seconds has such short buckets that calls are counted about three times. */
const shortestSeconds = 10;

/** What keeps one counter from sustaining a limit, as a sentence that begins with a verb; undefined if nothing does. */
export function describeOverload({ rate, period }: RateLimit): string | undefined {
  const calls = Math.ceil(rate / period);
  const counter = `one counter sustains about ${maxWritesPerSecond} writes a second`;
  if (period < shortestSeconds) {
    return `has a period of ${period} s: below ${shortestSeconds} s each call takes about 3 writes, and ${counter}, so about ${Math.floor(maxWritesPerSecond / 3)} calls`;
  }
  return calls > maxWritesPerSecond ? `allows ${calls} calls a second, but ${counter}` : undefined;
}

/** What an answer adds about the limit of a service that was saved. */
export function warningsOf({ limit }: { limit?: RateLimit | undefined }): { warnings?: string[] } {
  const overload = limit && describeOverload(limit);
  return overload ? { warnings: [`The limit ${overload}.`] } : {};
}
