/** Bounds of the table's current time, in milliseconds since the epoch. */
export interface TimeBounds {
  earliestMs: number;
  latestMs: number;
}

/** An estimate of the table's time, which all instances share. */
export interface TableClock {
  /** unbounded before the first response */
  bounds(): TimeBounds;
  /** Updates the bounds from a response; times are readings of the clock given to {@link openTableClock}. */
  observe(answer: { sentMs: number; receivedMs: number; headers: Readonly<Record<string, string>> }): void;
}

/** Assumed maximum skew between the clocks of the table's servers, in milliseconds. */
const toleranceMs = 100;

/** Maximum relative drift between the two clocks: NTP slews each by at most 0.05 %. */
const maxDrift = 0.001;

/**
 * Estimates the table's time from the `Date` of its responses (RFC 9110 section 6.6.1), which has a resolution of one second. The date was current at
 * some moment between request and response. So one response bounds the time to little more than a second; several, at different fractions of a
 * second, bound it to little more than the tolerance. A response that contradicts earlier ones replaces them.
 * @param monotonicMs - a monotonic clock
 */
export function openTableClock(monotonicMs: () => number = () => performance.now()): TableClock {
  /** bounds of the table's offset from this clock, as of `atMs` */
  let [least, most, atMs] = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY, 0];
  const widen = (nowMs: number) => {
    const driftMs = Math.max(0, nowMs - atMs) * maxDrift;
    return [least - driftMs, most + driftMs] as const;
  };

  return {
    bounds: () => {
      const nowMs = monotonicMs();
      const [low, high] = widen(nowMs);
      return { earliestMs: nowMs + low, latestMs: nowMs + high };
    },
    observe: ({ sentMs, receivedMs, headers }) => {
      const dateMs = Date.parse(headers.date ?? '');
      // a response with an age comes from a cache
      if (Number.isNaN(dateMs) || headers.age !== undefined) return;
      const [low, high] = widen(receivedMs);
      const [newLow, newHigh] = [dateMs - toleranceMs - receivedMs, dateMs + 1_000 + toleranceMs - sentMs];
      const isNew = newLow > high || newHigh < low;
      [least, most, atMs] = isNew ? [newLow, newHigh, receivedMs] : [Math.max(low, newLow), Math.min(high, newHigh), receivedMs];
    },
  };
}
