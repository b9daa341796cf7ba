import { ApiError, unavailable } from '../api-error.ts';
import { limitExceeded, type RefusalWords, rateLimitHeaders } from './limit-answers.ts';
import type { LimitDecision, LimitRequest, RateLimiter } from './rate-limiter.ts';

/** What one request may use of its agent's quota, and of that of the service that it calls. */
export interface Quota {
  /** Says what applies, whenever that is known better. */
  applyTo(agent: LimitRequest, service?: LimitRequest): void;
  /** The refusal of a call if this instance already knows that a limit is used up; does not read the table. */
  knownRefusal(): ApiError | undefined;
  /**
   * Counts one call: the agent's own limits with one write, then that of the service.
   * @throws ApiError TOO_MANY_REQUESTS, FORBIDDEN if it will never be possible again, or SERVICE_UNAVAILABLE if a counter cannot be reached
   */
  consume(): Promise<void>;
  /**
   * Makes sure, right before it is made, that the call which {@link consume} has counted still counts for a whole period of each limit.
   * @throws ApiError as {@link consume}
   */
  renew(): Promise<void>;
  /** Gives back the money that the call was charged, whoever refused it: nothing was sent. What cannot be given back with certainty stays charged. */
  giveBack(): Promise<void>;
  /** The rate limit fields of the answer: the agent's limits and, if it was asked, that of the service; none if the counter cannot be read. */
  headers(): Promise<Record<string, string>>;
}

const serviceWords: RefusalWords = {
  reason: 'service_limit',
  message: 'All agents together have used up what this service accepts. Send the request again after Retry-After seconds.',
};

/** How often a call is renewed: while one counter is written, too much time may pass for the other. */
const maxRenewals = 5;

const isLimited = (request: LimitRequest | undefined): request is LimitRequest => request !== undefined && request.charges.length > 0;

/** @param agent - what applies as far as it is known at first */
export function openQuota(limits: RateLimiter, agent: LimitRequest): Quota {
  let own = agent;
  let shared: LimitRequest | undefined;
  let decision: LimitDecision | undefined;
  let ofService: LimitDecision | undefined;

  /** Takes what was decided about the call among its agent's. */
  async function decide(counting: Promise<LimitDecision>): Promise<void> {
    decision = await counting;
    if (!decision.isAdmitted) throw limitExceeded(decision);
  }

  /** The same among the calls of the service. */
  async function decideOfService(counting: Promise<LimitDecision>): Promise<void> {
    ofService = await counting;
    if (!ofService.isAdmitted) throw limitExceeded(ofService, { ...serviceWords, beside: decision?.standings ?? [] });
  }

  async function giveBack(): Promise<void> {
    if (!decision?.buckets || !own.charges.some(({ currency }) => currency !== undefined)) return;
    try {
      await limits.giveBack(own, decision);
    } catch (error) {
      if (!isUnreachable(error)) throw error;
    }
    decision = undefined;
  }

  return {
    applyTo: (agent, service) => {
      own = agent;
      shared = service;
    },
    knownRefusal: () => {
      if (isLimited(own)) {
        const refusal = limits.findRefusal(own);
        decision = refusal;
        if (refusal) return limitExceeded(refusal);
      }
      const refusal = isLimited(shared) ? limits.findRefusal(shared) : undefined;
      return refusal && limitExceeded(refusal, serviceWords);
    },
    consume: async () => {
      if (isLimited(own)) await decide(limits.consume(own));
      if (isLimited(shared)) await decideOfService(limits.consume(shared));
    },
    renew: async () => {
      for (let renewals = 0; renewals < maxRenewals; renewals++) {
        const seen = [decision, ofService];
        if (decision) await decide(limits.renew(own, decision));
        if (shared && ofService) await decideOfService(limits.renew(shared, ofService));
        if (seen[0] === decision && seen[1] === ofService) return;
      }
      throw unavailable('The call could not be made in time after it was counted. Try again after Retry-After.');
    },
    giveBack,
    headers: async () => {
      try {
        const { standings } = decision ?? (isLimited(own) ? await limits.inspect(own) : { standings: [] });
        return rateLimitHeaders({ standings: [...standings, ...(ofService?.standings ?? [])] });
      } catch (error) {
        if (isUnreachable(error)) return {};
        throw error;
      }
    },
  };
}

const isUnreachable = (error: unknown): boolean => error instanceof ApiError && error.code === 'SERVICE_UNAVAILABLE';
