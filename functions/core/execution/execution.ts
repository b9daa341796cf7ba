import type { ApiRequest } from '../http/request.ts';
import { countExecution, type LimitRequest } from '../limit/limit-request.ts';
import type { RateLimiter } from '../limit/rate-limiter.ts';
import type { Authenticated } from '../pat/authenticate.ts';
import { type Holder, holderOf } from '../pat/holder.ts';
import { chargesOf, rulesForAll } from '../policy/judge.ts';
import type { Rule } from '../policy/reading.ts';
import { openQuota, type Quota } from './quota.ts';
import { openReceipt, type Receipt } from './receipt.ts';

/** One execution, from its request to its record. */
export interface Execution {
  request: ApiRequest;
  /** when it began, in milliseconds since the epoch */
  nowMs: number;
  caller: Authenticated;
  holder: Holder;
  /** what becomes known of it */
  receipt: Receipt;
  /** what it may use, as far as that is known */
  quota: Quota;
  /** How the call is counted if these rules cover it. */
  counterFor(rules: readonly Rule[]): LimitRequest;
}

export function openExecution(request: ApiRequest, caller: Authenticated, limits: RateLimiter, nowMs: number): Execution {
  const { claims, policy } = caller;
  const holder = holderOf(claims);
  const counterFor = (rules: readonly Rule[]) => countExecution(holder, chargesOf(rules));
  return {
    request,
    nowMs,
    caller,
    holder,
    receipt: openReceipt(request, claims.sub, policy.digest),
    quota: openQuota(limits, counterFor(rulesForAll(policy.compiled))),
    counterFor,
  };
}
