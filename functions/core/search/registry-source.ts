import type { LogEntry } from '../../../schemas/changes.ts';
import { digestOf, type Head } from '../registry/log.ts';
import type { RecordName } from '../registry/records.ts';
import type { Registry } from '../registry/registry.ts';

/** The registry as search reads it. All reads are strongly consistent. */
export type RegistrySource = Pick<Registry, 'head' | 'entriesAfter' | 'readRecords' | 'uidsOf' | 'readAll'>;

/** How far the log has been followed: its last entry that was seen. */
export type Seen = Pick<Head, 'seq' | 'digest'>;

/** How many entries are taken at once, so that whoever is interrupted has not lost much. */
const pageSize = 500;

/** What some entries of the log have changed, each record once. */
export interface LogPage {
  entries: LogEntry[];
  /** services that were deleted */
  deleted: RecordName[];
  /** services before intents */
  names: RecordName[];
  /** how far the log has been followed with this page */
  seen: Seen;
}

/** The log does not go on from what was seen of it: entries have expired, or the table was restored to an earlier moment, or is another one. */
export class LogMismatch extends Error {
  override readonly name = 'LogMismatch';
}

function toPage(entries: LogEntry[]): LogPage {
  const changes = entries.flatMap((entry) => entry.changes);
  const named = (kind: RecordName['kind'], isWanted = (_: LogEntry['changes'][number]): boolean => true): RecordName[] => {
    const ids = changes.filter((change) => change.kind === kind && isWanted(change)).map(({ id }) => id);
    return [...new Set(ids)].map((id) => ({ kind, id }));
  };
  const last = entries.at(-1) as LogEntry;
  return {
    entries,
    deleted: named('service', ({ action }) => action === 'delete'),
    names: [...named('service'), ...named('intent')],
    seen: { seq: last.seq, digest: digestOf(last) },
  };
}

/**
 * The entries of the log that have not been seen, page by page: one query if there are none.
 * @param head - as it was read before, if it was: then it is noticed, too, that the newest entries are missing, or that what was seen never was
 * @throws LogMismatch if the log does not go on from what was seen
 */
export async function* followLog(source: Pick<RegistrySource, 'entriesAfter'>, seen: Seen, head: Seen = seen): AsyncGenerator<LogPage> {
  let { seq } = seen;
  for await (const entries of source.entriesAfter(seq)) {
    if (seq === seen.seq && entries[0]?.previous !== seen.digest) throw new LogMismatch();
    for (const entry of entries) if (entry.seq !== ++seq) throw new LogMismatch();
    for (let start = 0; start < entries.length; start += pageSize) yield toPage(entries.slice(start, start + pageSize));
  }
  if (head.seq < seen.seq || head.seq > seq || (head.seq === seen.seq && head.digest !== seen.digest)) throw new LogMismatch();
}
