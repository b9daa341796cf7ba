/** How many calls one instance lets wait for a host, and for an agent, at the same time. */
export const maxInFlight = { host: 10, agent: 10 };

/** Counts the calls that wait for their answers. It knows of those of this process only. */
export interface InFlight {
  /** @returns a function that says that the call is over; undefined if the host or the agent has as many calls waiting as it may */
  enter(host: string, agentId: string): (() => void) | undefined;
}

/**
 * Keeps a host that hangs, and an agent that calls it, from taking all that an instance can do at once. A Lambda environment runs one call
 * at a time, so there it is the reserved concurrency that bounds them all; this bounds them where an environment runs several.
 */
export function openInFlight(): InFlight {
  const counts = new Map<string, number>();
  return {
    enter(host, agentId) {
      const places = [
        { key: `host ${host}`, max: maxInFlight.host },
        { key: `agent ${agentId}`, max: maxInFlight.agent },
      ];
      if (places.some(({ key, max }) => (counts.get(key) ?? 0) >= max)) return undefined;
      for (const { key } of places) counts.set(key, (counts.get(key) ?? 0) + 1);
      return () => {
        for (const { key } of places) {
          const left = (counts.get(key) ?? 1) - 1;
          if (left > 0) counts.set(key, left);
          else counts.delete(key);
        }
      };
    },
  };
}
