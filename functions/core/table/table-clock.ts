/** Between which moments the table's time is, in milliseconds since the epoch. */
export interface TimeBounds {
  earliestMs: number;
  latestMs: number;
}

/** What this process knows of the table's time, which is the one that all instances share. */
export interface TableClock {
  /** from minus to plus infinity if no answer has told the time yet */
  bounds(): TimeBounds;
  /** Takes note of an answer; times are of the clock that {@link openTableClock} was given. */
  observe(answer: { sentMs: number; receivedMs: number; headers: Readonly<Record<string, string>> }): void;
}

/** How far the date of an answer may be from the table's time besides its resolution, in milliseconds: many servers answer for one table. */
const toleranceMs = 100;

/** How much more or less time may pass here than at the table, as a share of it: NTP lets clocks run at most 0.05 % faster or slower. */
const maxDrift = 0.001;

/**
 * Measures the table's time by the `Date` of its answers (RFC 9110 section 6.6.1), which has whole seconds: when the table answered, which was
 * between request and answer, its time was within that second. So one answer bounds the time to a little more than a second, and several, in
 * different parts of a second, to little more than the tolerance. An answer that contradicts those before it is believed in their place.
 * @param monotonicMs - a clock that nobody sets
 */
export function openTableClock(monotonicMs: () => number = () => performance.now()): TableClock {
  /** how far the table's time is ahead of the clock here, as of `atMs` */
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
      // an answer with an age comes from a cache
      if (Number.isNaN(dateMs) || headers.age !== undefined) return;
      const [low, high] = widen(receivedMs);
      const [newLow, newHigh] = [dateMs - toleranceMs - receivedMs, dateMs + 1_000 + toleranceMs - sentMs];
      const isNew = newLow > high || newHigh < low;
      [least, most, atMs] = isNew ? [newLow, newHigh, receivedMs] : [Math.max(low, newLow), Math.min(high, newHigh), receivedMs];
    },
  };
}
