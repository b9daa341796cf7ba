import type { LimitRequest } from '../../functions/core/limit/limit-request.ts';
import type { RateLimiter } from '../../functions/core/limit/rate-limiter.ts';
import { madeWithinMs } from '../../functions/core/limit/window.ts';

/**
 * Makes a call as the relay does: counted, then renewed right before it is made. If this process has stood still in between for longer than a call
 * may take, it is renewed once more.
 * @param prepare - what happens between counting and making it
 * @returns when it was made, in milliseconds since the epoch; undefined if it was refused
 */
export async function makeCall(
  limits: RateLimiter,
  request: LimitRequest,
  prepare: () => Promise<unknown> = async () => {},
): Promise<number | undefined> {
  const withinMs = madeWithinMs(Math.min(...request.charges.map(({ period }) => period)));
  let decision = await limits.consume(request);
  if (decision.isWithinLimits) await prepare();
  while (decision.isWithinLimits) {
    const startedMs = Date.now();
    decision = await limits.renew(request, decision);
    const nowMs = Date.now();
    if (decision.isWithinLimits && nowMs - startedMs <= withinMs) return nowMs;
  }
  return undefined;
}
