import QuickLRU from 'quick-lru';

/** Failures in a row after which a host's circuit opens. */
const failuresToOpen = 5;

/** How long a circuit stays open before one call may probe the host, in milliseconds. */
const openMs = 10_000;

/** Opens circuit breakers, one per host, in this process only. A circuit opens when connections fail or calls time out repeatedly. */
export function openBreaker(now: () => number = Date.now) {
  const hosts = new QuickLRU<string, { failures: number; retryAtMs: number; probe?: object }>({ maxSize: 500 });
  return {
    /** @returns 0 if a call may be made, else the seconds to wait. A half-open circuit lets one call through, the probe. */
    secondsToWait(host: string, call: object): number {
      const state = hosts.get(host);
      if (state === undefined || state.failures < failuresToOpen) return 0;
      const waitMs = state.retryAtMs - now();
      if (waitMs > 0) return Math.ceil(waitMs / 1000);
      state.retryAtMs = now() + openMs;
      state.probe = call;
      return 0;
    },
    record(host: string, hasAnswered: boolean): void {
      if (hasAnswered) hosts.delete(host);
      else hosts.set(host, { failures: (hosts.get(host)?.failures ?? 0) + 1, retryAtMs: now() + openMs });
    },
    /** Reports a call that neither succeeded nor failed because of the host. If it was the probe, the next call becomes the probe. */
    release(host: string, call: object): void {
      const state = hosts.get(host);
      if (state?.probe === call) state.retryAtMs = now();
    },
  };
}

export type Breaker = ReturnType<typeof openBreaker>;
