import { limitExceeded, type RefusalWords, rateLimitHeaders } from '../limit/limit-answers.ts';
import { countExecution, countServiceCall, type LimitRequest } from '../limit/limit-request.ts';
import type { LimitDecision, RateLimiter } from '../limit/rate-limiter.ts';
import type { Holder } from '../pat/holder.ts';
import { chargesOf } from '../policy/judge.ts';
import type { Rule } from '../policy/reading.ts';
import type { ServiceRecord } from '../registry/records.ts';
import { isUnavailable, unavailable } from '../runtime/api-error.ts';

const serviceWords: RefusalWords = {
  reason: 'service_limit',
  message: 'The limit of this service, which all agents share, is used up. Send the request again after Retry-After seconds.',
};

/** The first pass counts; a later one confirms that neither count is outdated, or counts again. */
const maxPasses = 5;

/** Maximum duration of counting, in milliseconds. */
const maxCountingMs = 1_500;

const isLimited = (request: LimitRequest | undefined): request is LimitRequest => request !== undefined && request.charges.length > 0;

export type Quota = ReturnType<typeof openQuota>;

/**
 * The quota of one request: counts it against the limits of its agent and of its service.
 * @param known - the rules that cover every call of the agent
 */
export function openQuota(limits: RateLimiter, holder: Holder, known: readonly Rule[]) {
  let agent = countExecution(holder, chargesOf(known));
  let service: LimitRequest | undefined;
  /** the last decisions about the call, including where it is counted */
  let ofAgent: LimitDecision | undefined;
  let ofService: LimitDecision | undefined;

  function acceptAgentDecision(decision: LimitDecision): void {
    ofAgent = decision;
    if (!decision.isWithinLimits) throw limitExceeded(decision);
  }

  function acceptServiceDecision(decision: LimitDecision): void {
    ofService = decision;
    if (!decision.isWithinLimits) throw limitExceeded(decision, { ...serviceWords, otherStates: ofAgent?.states ?? [] });
  }

  const countOrRenew = (request: LimitRequest, before: LimitDecision | undefined): Promise<LimitDecision> =>
    before?.buckets ? limits.renew(request, before) : limits.consume(request);

  return {
    /** Sets the limits that are known by now. A refusal before the call is resolved has headers about those known so far. */
    limitTo(rules: readonly Rule[], { service_id, limit }: Partial<Pick<ServiceRecord, 'service_id' | 'limit'>> = {}): void {
      agent = countExecution(holder, chargesOf(rules));
      service = service_id !== undefined && limit ? countServiceCall(service_id, limit) : undefined;
    },

    /**
     * Refuses a call that exceeds a limit, before anything is written or connected for it. Reads each counter at most once.
     * @throws ApiError as `count`
     */
    async precheck(): Promise<void> {
      if (isLimited(agent)) acceptAgentDecision(await limits.peek(agent));
      if (isLimited(service)) acceptServiceDecision(await limits.peek(service));
      // only a refusal is told from memory
      if (ofAgent?.isRemembered) ofAgent = undefined;
      if (ofService?.isRemembered) ofService = undefined;
    },

    /**
     * Counts the call right before it is sent: against the agent's limits with one write, then against the service's. A call that has already
     * been counted is renewed, so that it counts for a whole period of each limit.
     * @throws ApiError TOO_MANY_REQUESTS, FORBIDDEN if the call will never be possible again, or SERVICE_UNAVAILABLE if a counter cannot be reached
     */
    async count(): Promise<void> {
      const startedMs = performance.now();
      for (let pass = 0; pass < maxPasses && performance.now() - startedMs <= maxCountingMs; pass++) {
        const before = { ofAgent, ofService };
        if (isLimited(agent)) {
          // if this throws, the limiter has refunded what it could
          ofAgent = undefined;
          acceptAgentDecision(await countOrRenew(agent, before.ofAgent));
        }
        if (isLimited(service)) acceptServiceDecision(await countOrRenew(service, before.ofService));
        // neither counter was written in this pass, so neither count has become outdated
        if (before.ofAgent === ofAgent && before.ofService === ofService) return;
      }
      throw unavailable('The call could not be made in time after it was counted. Try again after Retry-After.');
    },

    /** Refunds the agent's budgets and totals for a call that was not sent; rates stay counted. */
    async giveBack(): Promise<void> {
      if (!ofAgent?.buckets) return;
      try {
        await limits.giveBack(agent, ofAgent);
      } catch (error) {
        if (!isUnavailable(error)) throw error;
      }
      ofAgent = undefined;
    },

    /** The rate limit headers of the agent and, unless the agent's limits refuse the call, the service. Empty if a counter cannot be read. */
    async headers(): Promise<Record<string, string>> {
      try {
        const isRefused = ofAgent?.isWithinLimits === false;
        const decisions = await Promise.all([
          ofAgent ?? (isLimited(agent) ? limits.inspect(agent) : undefined),
          ofService ?? (isLimited(service) && !isRefused ? limits.inspect(service) : undefined),
        ]);
        return rateLimitHeaders({ states: decisions.flatMap((decision) => decision?.states ?? []) });
      } catch (error) {
        if (isUnavailable(error)) return {};
        throw error;
      }
    },
  };
}
