import type { RateLimit } from '../../../schemas/pat.ts';
import { ApiError } from '../api-error.ts';
import { type LimitDecision, limitExceeded, type RateLimiter, rateLimitHeaders } from './rate-limiter.ts';

/** What one request may use of its agent's quota. */
export interface Quota {
  /** The refusal of a call, where this instance knows that the rate is used up; asks nobody. */
  knownRefusal(): ApiError | undefined;
  /**
   * Counts one call.
   * @throws ApiError TOO_MANY_REQUESTS, or SERVICE_UNAVAILABLE where the counter cannot be reached
   */
  consume(): Promise<void>;
  /** The rate limit fields of the answer; none without a limit, or where the counter cannot be read. */
  headers(): Promise<Record<string, string>>;
}

/** @param limit - none where the policy sets none */
export function openQuota(
  limits: RateLimiter,
  { thumbprint, what, limit }: { thumbprint: string; what: string; limit: RateLimit | undefined },
): Quota {
  if (!limit) return { knownRefusal: () => undefined, consume: async () => {}, headers: async () => ({}) };
  const request = { thumbprint, what, limit };
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
