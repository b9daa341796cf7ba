import type { Issue } from '../../../schemas/errors.ts';
import type { Policy } from '../../../schemas/policy.ts';
import { findContradictions } from './contradictions.ts';
import { type Charge, unitOf } from './limits.ts';
import type { Rule } from './reading.ts';

/**
 * Warnings about a policy that compiles: rules without effect, and limits that one counter cannot sustain.
 * @param rules - what it compiles to
 */
export function warnOf(policy: Policy, baseUrl: string, rules: readonly Rule[]): Issue[] {
  const limits = new Map(rules.flatMap(({ charges }) => charges.map((charge) => [charge.id, charge])));
  return [...findContradictions(policy, baseUrl, Date.now()), ...[...limits.values()].flatMap(warnOfLimit)];
}

/** DynamoDB's write throughput for one item; each agent has one counter item. */
const maxWritesPerSecond = 1_000;

/** Below this period, in seconds, buckets are so short that each call is counted about three times. */
const shortestSeconds = 10;

function warnOfLimit(limit: Charge): Issue[] {
  const { rule: path = '', rate, period } = limit;
  const calls = Math.ceil(rate / unitOf(limit) / period);
  const counter = `one counter sustains about ${maxWritesPerSecond} writes a second`;
  if (period < shortestSeconds) {
    const sustained = Math.floor(maxWritesPerSecond / 3);
    const problem = `has a period of ${period} s: below ${shortestSeconds} s each call takes about 3 writes, and ${counter}, so about ${sustained} calls`;
    return [{ path, problem }];
  }
  return calls > maxWritesPerSecond ? [{ path, problem: `allows ${calls} calls a second, but ${counter}` }] : [];
}
