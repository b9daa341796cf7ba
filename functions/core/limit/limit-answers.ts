import { unitOf } from '../policy/limits.ts';
import { formatMoney } from '../policy/money.ts';
import { ApiError } from '../runtime/api-error.ts';
import { type LimitDecision, type LimitState, refusing, slackMs } from './rate-limiter.ts';
import { longestCountMs } from './window.ts';

/**
 * `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers-11), with one item per limit. The unit is a call of the most expensive
 * kind that the limit covers. `w` is the longest time that a call counts, rounded up. A client that makes at most `q` calls in any `w` seconds
 * (measured between answers), or at most `r` within `t` seconds before it asks again, is never refused. `RateLimit` lists the scarcest limit first.
 */
export function rateLimitHeaders({ states }: Pick<LimitDecision, 'states'>): Record<string, string> {
  if (states.length === 0) return {};
  const scarcestFirst = states.toSorted((a, b) => a.remaining - b.remaining || b.resetSeconds - a.resetSeconds);
  return {
    'RateLimit-Policy': states.map(describeQuota).join(', '),
    RateLimit: scarcestFirst.map(describeRest).join(', '),
    ...warnOfBudgets(states),
  };
}

const windowSecondsOf = (period: number): number => Math.ceil((longestCountMs(period) + slackMs(period)) / 1000);

function describeQuota({ charge }: LimitState): string {
  const { name, rate, period } = charge;
  return `"${name}";q=${Math.floor(rate / unitOf(charge))}${Number.isFinite(period) ? `;w=${windowSecondsOf(period)}` : ''}`;
}

const describeRest = ({ charge: { name }, remaining, resetSeconds }: LimitState): string =>
  `"${name}";r=${remaining}${Number.isFinite(resetSeconds) ? `;t=${resetSeconds}` : ''}`;

/** `Budget-Warning`, with one item for each budget that is at least 80 % used. */
function warnOfBudgets(states: readonly LimitState[]): Record<string, string> {
  const items = states.flatMap(({ charge: { name, rate, currency }, used }) =>
    currency !== undefined && used * 5 >= rate * 4
      ? [`"${name}";used="${formatMoney(used, currency)}";budget="${formatMoney(rate, currency)}";unit="${currency}"`]
      : [],
  );
  return items.length > 0 ? { 'Budget-Warning': items.join(', ') } : {};
}

const usedUp =
  'The rate limit is used up. Send the request again after Retry-After seconds; RateLimit-Policy gives the number of calls and seconds.';

const overBudget = 'The budget is not sufficient for this call. Send it again after Retry-After seconds, when enough of it is available.';

const countUsedUp =
  'You have made as many of these calls as the usage policy allows in total. Waiting does not help; GET /api/policy shows the limit.';

/** Overrides the default message and details of a refusal. */
export interface RefusalWords {
  message?: string;
  reason?: string;
  /** other limits of the call, which do not refuse it; included in the headers */
  otherStates?: readonly LimitState[];
}

/** 429 with `Retry-After` and {@link rateLimitHeaders}; 403 if the call will never be possible again. */
export function limitExceeded(decision: LimitDecision, { message, reason, otherStates = [] }: RefusalWords = {}): ApiError {
  const [slowest] = refusing(decision).toSorted((a, b) => b.retrySeconds - a.retrySeconds);
  if (!slowest) throw new TypeError('no limit refuses this call');
  const { charge, retrySeconds } = slowest;
  const { rate, period, currency, rule } = charge;
  const headers = rateLimitHeaders({ states: [...otherStates, ...decision.states] });
  const isForever = !Number.isFinite(retrySeconds);
  const why = reason ?? (currency === undefined ? (isForever ? 'count' : undefined) : 'budget');
  const details = {
    ...(why !== undefined && { reason: why }),
    ...(rule !== undefined && { rule }),
    ...(currency === undefined
      ? { limit: { rate, ...(Number.isFinite(period) && { period, window: windowSecondsOf(period) }) } }
      : { budget: { amount: formatMoney(rate, currency), unit: currency, period } }),
  };
  if (isForever) return new ApiError('FORBIDDEN', message ?? countUsedUp, { details, headers });
  return new ApiError('TOO_MANY_REQUESTS', message ?? (currency === undefined ? usedUp : overBudget), {
    details: { ...details, retry_after_seconds: retrySeconds },
    headers: { ...headers, 'Retry-After': String(retrySeconds) },
  });
}
