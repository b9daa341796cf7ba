import { canonicalDigest } from '../schemas/canonical.ts';
import type { LogEntry, LogHead } from '../schemas/changes.ts';

/** The value of `previous` in the next entry: SHA-256 of the canonical form (RFC 8785). */
export const digestEntry = (entry: LogEntry): string => `sha-256=${canonicalDigest(entry)}`;

/**
 * Checks the log from newest entry to oldest: no gaps, and the digest of each entry is the `previous` of its successor.
 * @param head - from the first page, which may start with newer entries
 * @param expected - the head printed by an earlier check
 */
export function openChainCheck(head: LogHead, expected?: LogHead) {
  const misfits: { seq: number; problem: string }[] = [];
  const fails = (seq: number, problem: string) => misfits.push({ seq, problem });
  let count = 0;
  let newest = 0;
  let last: LogEntry | undefined;
  let next: { seq: number; digest?: string | null } = { seq: head.seq };

  function check(entry: LogEntry): void {
    const { seq, previous } = entry;
    count++;
    newest = Math.max(newest, seq);
    if (count === 1 && seq > head.seq) next = { seq };
    if (seq > next.seq) {
      fails(seq, 'is out of order.');
      return;
    }
    for (let missing = next.seq; missing > seq; missing--) fails(missing, 'is missing.');
    const isNamed = seq === next.seq && next.digest !== undefined;
    const digest = digestEntry(entry);
    if (isNamed && digest !== next.digest) fails(seq, `does not match the digest in entry ${seq + 1}.`);
    else if (seq === head.seq && digest !== head.digest) fails(seq, 'does not match the head of the log.');
    else if (seq === expected?.seq && digest !== expected.digest) fails(seq, `does not match the expected entry: its digest is ${digest}.`);
    if (seq === 1 && previous !== null) fails(seq, 'is the first entry, but refers to an earlier one.');
    next = { seq: seq - 1, digest: previous };
    last = entry;
  }

  return {
    /** @param entries - the next page, newest first */
    add: (entries: readonly LogEntry[]): void => entries.forEach(check),

    /**
     * @param now - the current head, read after the last page
     * @returns oldest - entry 1 unless older entries have expired
     */
    finish(now: LogHead = { ...head, seq: Math.max(head.seq, newest) }) {
      if (newest > now.seq) fails(newest, `is not in the log, which ${now.seq === 0 ? 'is empty' : `ends with entry ${now.seq}`}.`);
      if (expected && expected.seq > head.seq) fails(expected.seq, 'is expected, but the log ends before it.');
      else if (expected && expected.seq < (last?.seq ?? Number.POSITIVE_INFINITY))
        fails(expected.seq, 'is expected, but is no longer kept.');
      misfits.sort((left, right) => left.seq - right.seq);
      return { misfits, count, ...(last && { oldest: { seq: last.seq, at: last.at } }) };
    },
  };
}
