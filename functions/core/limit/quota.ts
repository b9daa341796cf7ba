import type { RateLimit } from '../../../schemas/pat.ts';
import { ApiError } from '../api-error.ts';
import { type LimitDecision, type LimitRequest, limitExceeded, type RateLimiter, rateLimitHeaders } from './rate-limiter.ts';

/** What one request may use of its agent's quota. */
export interface Quota {
  /** The refusal of a call if this instance already knows that the rate is used up; does not read the table. */
  knownRefusal(): ApiError | undefined;
  /**
   * Counts one call.
   * @throws ApiError TOO_MANY_REQUESTS, or SERVICE_UNAVAILABLE if the counter cannot be reached
   */
  consume(): Promise<void>;
  /** The rate limit fields of the answer; none without a limit, or if the counter cannot be read. */
  headers(): Promise<Record<string, string>>;
}

/** @param limit - undefined if the policy sets none */
export function openQuota(
  limits: RateLimiter,
  { limit, ...counter }: Omit<LimitRequest, 'limit'> & { limit: RateLimit | undefined },
): Quota {
  if (!limit) return { knownRefusal: () => undefined, consume: async () => {}, headers: async () => ({}) };
  const request = { ...counter, limit };
  let decision: LimitDecision | undefined;

  return {
    knownRefusal: () => {
      decision = limits.findRefusal(request);
      return decision && limitExceeded(decision);
    },
    consume: async () => {
      decision = await limits.consume(request);
      if (!decision.isAdmitted) throw limitExceeded(decision);
    },
    headers: async () => {
      try {
        return rateLimitHeaders(decision ?? (await limits.inspect(request)));
      } catch (error) {
        if (error instanceof ApiError && error.code === 'SERVICE_UNAVAILABLE') return {};
        throw error;
      }
    },
  };
}
