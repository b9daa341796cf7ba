import type { RateLimit } from '../../../schemas/pat.ts';
import { type Charge, isRate } from '../policy/limits.ts';

export interface LimitRequest {
  /** thumbprint of the agent's key (RFC 7638) or another owner of a quota, never a token or a name */
  owner: string;
  /** one of the owner's counters, for example `execute` */
  counter: string;
  /** what the call costs in each limit; it is counted in all of them or in none */
  charges: readonly Charge[];
}

/** A request that counts a call against a single limit. @param name - the limit's name in response headers */
export const countCalls = (owner: string, counter: string, limit: RateLimit, name = counter): LimitRequest & { charges: [Charge] } => ({
  owner,
  counter,
  // the id excludes the rate, so that counts survive a change of the rate
  charges: [{ id: String(limit.period), name, ...limit, maxRate: Number.MAX_SAFE_INTEGER, cost: 1 }],
});

export const countServiceCall = (serviceId: string, limit: RateLimit): LimitRequest =>
  countCalls(`service:${serviceId}`, 'service', limit, `service:${serviceId}`);

/**
 * A request that counts an execution in the counter of an agent's key or of a person. Totals and budgets are per person, whichever client they
 * use; rates are per person and client. All windows are in one item, so that one write counts the call.
 * @param holder - `account` equals `principal` except for people; see `pat/holder.ts`
 */
export const countExecution = (
  { principal, account }: { principal: string; account: string },
  charges: readonly Charge[],
): LimitRequest => ({
  owner: principal,
  counter: 'execute',
  charges:
    account === principal
      ? charges
      : charges.map((charge) => (isRate(charge) ? { ...charge, id: `${charge.id}.${account.slice(-8)}` } : charge)),
});
