import type { RateLimit } from '../../../schemas/pat.ts';
import { type Charge, isRate } from '../policy/limits.ts';

export interface LimitRequest {
  /** thumbprint of the agent's key (RFC 7638) or another owner of a quota, never a token or a name */
  owner: string;
  /** one of the owner's counters, for example `execute` */
  counter: string;
  /** what one call takes of each limit: it is counted in all of them or in none */
  charges: readonly Charge[];
}

/** A request that counts calls in one window. */
export const countCalls = (owner: string, name: string, limit: RateLimit): LimitRequest & { charges: [Charge] } => ({
  owner,
  counter: name,
  // the rate may change without the limit being another one
  charges: [{ id: String(limit.period), name, ...limit, mostRate: Number.MAX_SAFE_INTEGER, cost: 1 }],
});

export function countServiceCall(serviceId: string, limit: RateLimit): LimitRequest {
  const owner = `service:${serviceId}`;
  const { charges, ...request } = countCalls(owner, 'service', limit);
  return { ...request, charges: [{ ...charges[0], name: owner }] };
}

/**
 * A request that counts an execution, in the one counter that an agent's key or a person has for them. Counts and budgets belong to the person,
 * whichever client they use; rates to the person with this client, whose windows are in the same item, so that one write counts the call.
 * @param holder - `account` is the principal but for people, see `pat/holder.ts`
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
