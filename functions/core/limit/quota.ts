import { ApiError } from '../api-error.ts';
import { limitExceeded, type RefusalWords, rateLimitHeaders } from './limit-answers.ts';
import type { LimitDecision, LimitRequest, RateLimiter, Standing } from './rate-limiter.ts';

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
  /** Gives back the money that {@link consume} has taken: nothing was sent. What cannot be given back with certainty stays charged. */
  giveBack(): Promise<void>;
  /** The rate limit fields of the answer: the agent's limits and, if it was asked, that of the service; none if the counter cannot be read. */
  headers(): Promise<Record<string, string>>;
}

const serviceWords: RefusalWords = {
  reason: 'service_limit',
  message: 'All agents together have used up what this service accepts. Send the request again after Retry-After seconds.',
};

const isLimited = (request: LimitRequest | undefined): request is LimitRequest => request !== undefined && request.charges.length > 0;

/** @param agent - what applies as far as it is known at first */
export function openQuota(limits: RateLimiter, agent: LimitRequest): Quota {
  let own = agent;
  let shared: LimitRequest | undefined;
  let decision: LimitDecision | undefined;
  let ofService: Standing[] = [];

  /** Counts in one counter; undefined if there is nothing to count. */
  async function consumeIn(request: LimitRequest | undefined, words?: RefusalWords): Promise<LimitDecision | undefined> {
    if (!isLimited(request)) return undefined;
    const made = await limits.consume(request);
    if (request === own) decision = made;
    if (!made.isAdmitted) throw limitExceeded(made, words);
    return made;
  }

  async function giveBack(): Promise<void> {
    if (!decision?.isAdmitted || !own.charges.some(({ currency }) => currency !== undefined)) return;
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
      await consumeIn(own);
      try {
        ofService = (await consumeIn(shared, { ...serviceWords, beside: decision?.standings ?? [] }))?.standings ?? [];
      } catch (error) {
        await giveBack();
        throw error;
      }
    },
    giveBack,
    headers: async () => {
      try {
        const { standings } = decision ?? (isLimited(own) ? await limits.inspect(own) : { standings: [] });
        return rateLimitHeaders({ standings: [...standings, ...ofService] });
      } catch (error) {
        if (isUnreachable(error)) return {};
        throw error;
      }
    },
  };
}

const isUnreachable = (error: unknown): boolean => error instanceof ApiError && error.code === 'SERVICE_UNAVAILABLE';
