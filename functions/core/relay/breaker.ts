import QuickLRU from 'quick-lru';

/** Failures in a row after which a host is left alone. */
const failuresToOpen = 5;

/** How long a host is left alone before one call may try it again, in milliseconds. */
const openMs = 10_000;

/** Keeps calls away from hosts that cannot be connected to or let calls run into their deadlines. It remembers a limited number of hosts, in this process only. */
export interface Breaker {
  /** @returns 0 if a call may be made, else the seconds to wait. After a while it lets one call through, the probe. */
  secondsToWait(host: string, call: object): number;
  /** Reports whether the host answered in time. What it answered does not concern the breaker. */
  record(host: string, hasAnswered: boolean): void;
  /** Says that the call taught nothing about the host: if it was the probe, another one may be. */
  release(host: string, call: object): void;
}

export function openBreaker(now: () => number = Date.now): Breaker {
  const hosts = new QuickLRU<string, { failures: number; retryAtMs: number; probe?: object }>({ maxSize: 500 });
  return {
    secondsToWait(host, call) {
      const state = hosts.get(host);
      if (state === undefined || state.failures < failuresToOpen) return 0;
      const waitMs = state.retryAtMs - now();
      if (waitMs > 0) return Math.ceil(waitMs / 1000);
      // This call is the probe: the others wait until its outcome is known.
      state.retryAtMs = now() + openMs;
      state.probe = call;
      return 0;
    },
    record(host, hasAnswered) {
      if (hasAnswered) hosts.delete(host);
      else hosts.set(host, { failures: (hosts.get(host)?.failures ?? 0) + 1, retryAtMs: now() + openMs });
    },
    release(host, call) {
      const state = hosts.get(host);
      if (state?.probe === call) state.retryAtMs = now();
    },
  };
}
