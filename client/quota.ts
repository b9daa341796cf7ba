/** When quota is available again, and what is used up until then. */
interface Wait {
  /** local time in milliseconds since the epoch */
  untilMs: number;
  words: string;
}

/** Remembers from the gate's answers how long calls have to wait for quota. */
export function openQuota() {
  const usedUp = new Map<string, Wait>();
  const limitsOf = new Map<string, string[]>();

  /** @param name - of a limit, or the uid of an intent */
  function noteWait(name: string, ms: number, words: string): void {
    const untilMs = Date.now() + ms;
    if (untilMs > (usedUp.get(name)?.untilMs ?? 0)) usedUp.set(name, { untilMs, words });
  }

  return {
    noteWait,

    noteHeaders: (intentUid: string, headers: Headers): void => {
      const limits = readLimits(headers);
      for (const { name, pauseMs } of limits) if (pauseMs > 0) noteWait(name, pauseMs, describeLimit(name, headers));
      const names = limits.map(({ name }) => name);
      if (names.length > 0) limitsOf.set(intentUid, names);
    },

    /** The longest wait for an intent, which may be over. Before its first execution, only global limits and its own refusals are known. */
    find: (intentUid: string): Wait | undefined => {
      const own = limitsOf.get(intentUid);
      const counts = (name: string) => name === intentUid || (own ? own.includes(name) : /^execute(-\d+)?$/.test(name));
      const waits = [...usedUp].filter(([name]) => counts(name)).map(([, wait]) => wait);
      return waits.sort((a, b) => b.untilMs - a.untilMs)[0];
    },
  };
}

/** How long to wait for each limit, in milliseconds: 0 unless it is used up (draft-ietf-httpapi-ratelimit-headers). */
function readLimits(headers: Headers): { name: string; pauseMs: number }[] {
  const items = (headers.get('ratelimit') ?? '').matchAll(/"([^"]*)";r=(\d+)(?:;t=(\d+))?/g);
  return [...items].map(([, name = '', remaining, seconds = '0']) => ({ name, pauseMs: remaining === '0' ? Number(seconds) * 1000 : 0 }));
}

/** What is used up: an amount of money if the limit is a budget, which `Budget-Warning` says. */
function describeLimit(name: string, headers: Headers): string {
  const items = (headers.get('budget-warning') ?? '').matchAll(/"([^"]*)";used="[^"]*";budget="([^"]*)";unit="([^"]*)"/g);
  const [, , amount, unit] = [...items].find(([, one]) => one === name) ?? [];
  return amount === undefined ? `The limit "${name}" is used up` : `The budget "${name}" is used up (${amount} ${unit})`;
}
