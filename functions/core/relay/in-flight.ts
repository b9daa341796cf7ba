/** How many calls that wait for long one instance lets a host, and an agent, have before it makes no more. */
export const maxSlow = 10;

/** A call waits for long after this time, in milliseconds. A burst of calls that are answered sooner is not hindered. */
export const slowMs = 3_000;

/** The calls that wait for their answers: those of this process only. */
export interface InFlight {
  /** @returns a function that says that the call is over; undefined if the host or the agent has too many that wait for long */
  enter(host: string, agentId: string): (() => void) | undefined;
}

/**
 * Keeps a host that hangs, and an agent that calls it, from taking all that an instance can do at once. A Lambda environment runs one call
 * at a time, so there it is the reserved concurrency that bounds them all; this bounds them where an environment runs several.
 */
export function openInFlight(now: () => number = Date.now): InFlight {
  /** when the calls of a host or an agent began, the oldest first */
  const begun = new Map<string, { atMs: number }[]>();
  return {
    enter(host, agentId) {
      const call = { atMs: now() };
      const keys = [`host ${host}`, `agent ${agentId}`];
      const isCrowded = (key: string) => {
        const decisive = begun.get(key)?.at(maxSlow - 1);
        return decisive !== undefined && call.atMs - decisive.atMs >= slowMs;
      };
      if (keys.some(isCrowded)) return undefined;
      for (const key of keys) begun.set(key, [...(begun.get(key) ?? []), call]);
      return () => {
        for (const key of keys) {
          const left = begun.get(key)?.filter((one) => one !== call) ?? [];
          if (left.length > 0) begun.set(key, left);
          else begun.delete(key);
        }
      };
    },
  };
}
