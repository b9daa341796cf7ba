import { isUnavailable, unavailable } from '../api-error.ts';
import { limitExceeded, type RefusalWords, rateLimitHeaders } from '../limit/limit-answers.ts';
import type { LimitRequest } from '../limit/limit-request.ts';
import type { LimitDecision, RateLimiter } from '../limit/rate-limiter.ts';

/** The quota of one request: its agent's and its service's. */
export interface Quota {
  /** Replaces the limits that apply, once more of the call is known. */
  applyTo(agent: LimitRequest, service?: LimitRequest): void;
  /**
   * Refuses a call that will not fit, before anything is written or connected for it. It reads the counters at most once.
   * @throws ApiError as {@link charge}
   */
  precheck(): Promise<void>;
  /**
   * Counts the call, right before it is sent: against the agent's limits with one write, then against the service's. A call that has been counted
   * is renewed, so that it counts for a whole period of each limit.
   * @throws ApiError TOO_MANY_REQUESTS, FORBIDDEN if it will never be possible again, or SERVICE_UNAVAILABLE if a counter cannot be reached
   */
  charge(): Promise<void>;
  /** Returns the money and counts charged for a call that was not sent. */
  giveBack(): Promise<void>;
  /** The rate limit headers for the agent and, if it was charged, the service; none if the counter cannot be read. */
  headers(): Promise<Record<string, string>>;
}

const serviceWords: RefusalWords = {
  reason: 'service_limit',
  message: 'The limit of this service for all agents together is used up. Send the request again after Retry-After seconds.',
};

/** Maximum number of renewals: writing one counter may take too long for the other. */
const maxRenewals = 5;

/** Longest counting that a renewal tolerates, in milliseconds. */
const maxChargingMs = 1_500;

const isLimited = (request: LimitRequest | undefined): request is LimitRequest => request !== undefined && request.charges.length > 0;

/** @param agent - the limits known at first */
export function openQuota(limits: RateLimiter, agent: LimitRequest): Quota {
  let own = agent;
  let shared: LimitRequest | undefined;
  let decision: LimitDecision | undefined;
  let ofService: LimitDecision | undefined;

  function decide(made: LimitDecision): void {
    decision = made;
    if (!made.isWithinLimits) throw limitExceeded(made);
  }

  function decideOfService(made: LimitDecision): void {
    ofService = made;
    if (!made.isWithinLimits) throw limitExceeded(made, { ...serviceWords, beside: decision?.states ?? [] });
  }

  const count = (request: LimitRequest, seen: LimitDecision | undefined): Promise<LimitDecision> =>
    seen?.buckets ? limits.renew(request, seen) : limits.consume(request);

  return {
    applyTo: (agent, service) => {
      own = agent;
      shared = service;
    },
    precheck: async () => {
      if (isLimited(own)) decide(await limits.peek(own));
      if (isLimited(shared)) decideOfService(await limits.peek(shared));
    },
    charge: async () => {
      const startedMs = performance.now();
      for (let attempt = 0; attempt < maxRenewals && performance.now() - startedMs <= maxChargingMs; attempt++) {
        const seen = [decision, ofService] as const;
        if (isLimited(own)) {
          // if it throws, what is still charged is unknown
          decision = undefined;
          decide(await count(own, seen[0]));
        }
        if (isLimited(shared)) decideOfService(await count(shared, ofService));
        if (seen[0] === decision && seen[1] === ofService) return;
      }
      throw unavailable('The call could not be made in time after it was counted. Try again after Retry-After.');
    },
    giveBack: async () => {
      if (!decision?.buckets) return;
      try {
        await limits.giveBack(own, decision);
      } catch (error) {
        if (!isUnavailable(error)) throw error;
      }
      decision = undefined;
    },
    headers: async () => {
      try {
        const { states } = decision ?? (isLimited(own) ? await limits.inspect(own) : { states: [] });
        return rateLimitHeaders({ states: [...states, ...(ofService?.states ?? [])] });
      } catch (error) {
        if (isUnavailable(error)) return {};
        throw error;
      }
    },
  };
}
