import { canonicalDigest } from '../../../functions/core/policy/canonical.ts';
import type { LogEntry, LogHead } from '../../../schemas/changes.ts';

/** An entry that does not fit the chain, and why. */
export interface Misfit {
  seq: number;
  problem: string;
}

export interface ChainReport {
  /** oldest first; none if the chain is whole */
  misfits: Misfit[];
  /** how many entries were checked */
  count: number;
  /** where the log begins: 1 unless older entries have expired */
  oldest?: Pick<LogEntry, 'seq' | 'at'>;
}

/** What the next entry holds as `previous`: the SHA-256 of the canonical form (RFC 8785) of the entry as the API shows it. */
export const digestEntry = (entry: LogEntry): string => `sha-256=${canonicalDigest(entry)}`;

/**
 * Checks the registry's log from its newest entry to its oldest: numbers without gaps, and each entry the one that its successor names.
 * @param head - as the first page gives it; entries that have come since may stand before its own
 * @param expected - the head that an earlier check has printed
 */
export function openChainCheck(head: LogHead, expected?: LogHead) {
  const misfits: Misfit[] = [];
  const fails = (seq: number, problem: string) => misfits.push({ seq, problem });
  let count = 0;
  let newest = 0;
  let last: LogEntry | undefined;
  /** what the entry that comes next has to be */
  let next: { seq: number; digest?: string | null } = { seq: head.seq };

  function check(entry: LogEntry): void {
    const { seq, previous } = entry;
    count++;
    newest = Math.max(newest, seq);
    if (count === 1 && seq > head.seq) next = { seq };
    if (seq > next.seq) {
      fails(seq, 'stands out of its place in the order.');
      return;
    }
    for (let missing = next.seq; missing > seq; missing--) fails(missing, 'is missing.');
    const isNamed = seq === next.seq && next.digest !== undefined;
    const digest = digestEntry(entry);
    if (isNamed && digest !== next.digest) fails(seq, `is not the entry that entry ${seq + 1} was written after.`);
    else if (seq === head.seq && digest !== head.digest) fails(seq, 'is not the entry that the head of the log names.');
    else if (seq === expected?.seq && digest !== expected.digest)
      fails(seq, `is another entry than the one expected: its digest is ${digest}.`);
    if (seq === 1 && previous !== null) fails(seq, 'is the first entry, but names one before it.');
    next = { seq: seq - 1, digest: previous };
    last = entry;
  }

  return {
    /** @param entries - the next page, newest first */
    add: (entries: readonly LogEntry[]): void => entries.forEach(check),

    /** @param now - the head as it is after the last page: it names the newest entry, or one that has come since */
    finish(now: LogHead = { ...head, seq: Math.max(head.seq, newest) }): ChainReport {
      if (newest > now.seq) fails(newest, `is not in the log, whose head names ${now.seq === 0 ? 'none' : `entry ${now.seq}`}.`);
      if (expected && expected.seq > head.seq) fails(expected.seq, 'is expected, but the log ends before it.');
      else if (expected && expected.seq < (last?.seq ?? Number.POSITIVE_INFINITY))
        fails(expected.seq, 'is expected, but is not among those that are kept.');
      misfits.sort((left, right) => left.seq - right.seq);
      return { misfits, count, ...(last && { oldest: { seq: last.seq, at: last.at } }) };
    },
  };
}
