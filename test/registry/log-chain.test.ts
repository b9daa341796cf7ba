import { describe, expect, test } from '@jest/globals';
import { digestEntry, openChainCheck } from '../../registry/log-chain.ts';
import type { LogEntry, LogHead } from '../../schemas/changes.ts';

/** A log of ten entries as written by the gate, oldest first. */
function makeLog(): LogEntry[] {
  const entries: LogEntry[] = [];
  for (let seq = 1; seq <= 10; seq++) {
    const before = entries.at(-1);
    entries.push({
      seq,
      at: new Date(Date.UTC(2027, 2, seq)).toISOString(),
      actor: { subject: 's-1', user_name: 'amina' },
      request_id: `r-${seq}`,
      changes: [{ kind: 'intent', id: `tides.example:get-${seq}:v1`, action: 'create', digest_after: 'sha-256=x' }],
      previous: before ? digestEntry(before) : null,
    });
  }
  return entries;
}

const log = makeLog();
const at = (seq: number): LogEntry => log[seq - 1] as LogEntry;
const headAt = (seq: number): LogHead => ({ seq, digest: digestEntry(at(seq)) });
const altered = (seq: number): LogEntry => ({ ...at(seq), actor: { subject: 's-2' } });
const withEntry = (entry: LogEntry) => log.map((one) => (one.seq === entry.seq ? entry : one));

/** @param entries - oldest first; they are read in pages of three, newest first */
function check(entries: readonly LogEntry[], head = headAt(10), expected?: LogHead, now?: LogHead) {
  const chain = openChainCheck(head, expected);
  const newestFirst = entries.toReversed();
  for (let start = 0; start < newestFirst.length; start += 3) chain.add(newestFirst.slice(start, start + 3));
  return chain.finish(now);
}

const misfitsOf = (...some: Parameters<typeof check>) => check(...some).misfits.map(({ seq, problem }) => `${seq} ${problem}`);

describe('a log fits', () => {
  test.each<{ what: string; given: Parameters<typeof check>; count: number; oldest?: number }>([
    { what: 'as it was written', given: [log], count: 10, oldest: 1 },
    { what: 'if its beginning has expired', given: [log.slice(4)], count: 6, oldest: 5 },
    { what: 'if entries have come since its head was read', given: [log, headAt(7)], count: 10, oldest: 1 },
    { what: 'without any change', given: [[], { seq: 0, digest: null }], count: 0 },
    { what: 'if all of it has expired', given: [[]], count: 0 },
    { what: 'with the head that an earlier check has printed', given: [log, headAt(10), headAt(6)], count: 10, oldest: 1 },
    { what: 'if its head has moved on meanwhile', given: [log, headAt(7), undefined, headAt(10)], count: 10, oldest: 1 },
  ])('a log fits $what', ({ given, count, oldest }) => {
    expect(check(...given)).toEqual({ misfits: [], count, ...(oldest && { oldest: { seq: oldest, at: at(oldest).at } }) });
  });

  test('a log fits whatever the order of the members', () => {
    const { seq, ...members } = at(4);
    expect(misfitsOf(withEntry({ ...members, seq }))).toEqual([]);
  });
});

test.each<[string, Parameters<typeof check>, string[]]>([
  ['an entry that was changed', [withEntry(altered(4))], ['4 does not match the digest in entry 5.']],
  ['the first entry that was changed', [withEntry(altered(1))], ['1 does not match the digest in entry 2.']],
  ['the newest entry, changed', [withEntry(altered(10))], ['10 does not match the head of the log.']],
  [
    'two entries that were changed, the older one first',
    [withEntry(altered(4)).map((entry) => (entry.seq === 8 ? altered(8) : entry))],
    ['4 does not match the digest in entry 5.', '8 does not match the digest in entry 9.'],
  ],
  ['an entry that is missing', [log.filter(({ seq }) => seq !== 4)], ['4 is missing.']],
  ['the newest entries missing', [log.slice(0, 8)], ['9 is missing.', '10 is missing.']],
  ['two entries in each other’s place', [log.toSpliced(3, 2, at(5), at(4))], ['5 is missing.', '5 is out of order.']],
  [
    'what two entries say, swapped',
    [log.toSpliced(3, 2, { ...at(5), seq: 4 }, { ...at(4), seq: 5 })],
    // entry 3, too, because entry 4 now refers to another predecessor
    ['3 does not match the digest in entry 4.', '4 does not match the digest in entry 5.', '5 does not match the digest in entry 6.'],
  ],
  ['another head', [log, { seq: 10, digest: 'sha-256=x' }], ['10 does not match the head of the log.']],
  ['a head that was put back', [log, { seq: 8, digest: headAt(7).digest }], ['8 does not match the head of the log.']],
  [
    'a first entry with another before it',
    [[{ ...at(1), previous: 'sha-256=x' }], { seq: 1, digest: digestEntry({ ...at(1), previous: 'sha-256=x' }) }],
    ['1 is the first entry, but refers to an earlier one.'],
  ],
  [
    'another entry than the expected one',
    [log, headAt(10), { seq: 6, digest: 'sha-256=x' }],
    [`6 does not match the expected entry: its digest is ${headAt(6).digest}.`],
  ],
  ['an expected entry that is kept no more', [log.slice(4), headAt(10), headAt(2)], ['2 is expected, but is no longer kept.']],
  ['an expected entry in a log of which nothing is kept', [[], headAt(10), headAt(9)], ['9 is expected, but is no longer kept.']],
  ['entries that the head does not reach', [log, headAt(8), undefined, headAt(8)], ['10 is not in the log, which ends with entry 8.']],
  [
    'entries without a head',
    [log, { seq: 0, digest: null }, undefined, { seq: 0, digest: null }],
    ['10 is not in the log, which is empty.'],
  ],
  ['a log that ends before the expected entry', [log.slice(0, 8), headAt(8), headAt(10)], ['10 is expected, but the log ends before it.']],
])('the verification of the log names %s', (_, given, misfits) => {
  expect(misfitsOf(...given)).toEqual(misfits);
});
