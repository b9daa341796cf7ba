import type { LogEntry } from '../../../schemas/changes.ts';
import { digestOf, type Head } from '../registry/log.ts';
import type { RecordName } from '../registry/records.ts';
import type { Registry } from '../registry/registry.ts';

/** The registry as search reads it. All reads are strongly consistent. */
export type RegistrySource = Pick<Registry, 'head' | 'entriesAfter' | 'readRecords' | 'uidsOf' | 'readAll'>;

/** The last log entry that was read. */
export type LogPosition = Pick<Head, 'seq' | 'digest'>;

/** Changes per page; an entry is not divided. An interrupted reader repeats at most one page. */
export const pageChanges = 1_000;

export interface LogPage {
  entries: LogEntry[];
  deleted: RecordName[];
  /** services before intents */
  names: RecordName[];
  position: LogPosition;
}

/** Thrown if the log does not continue from the last entry that was read: entries have expired, or the table was restored or replaced. */
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
    position: { seq: last.seq, digest: digestOf(last) },
  };
}

function* inPages(entries: readonly LogEntry[]): Generator<LogEntry[]> {
  let page: LogEntry[] = [];
  let changes = 0;
  for (const entry of entries) {
    page.push(entry);
    changes += entry.changes.length;
    if (changes < pageChanges) continue;
    yield page;
    [page, changes] = [[], 0];
  }
  if (page.length > 0) yield page;
}

/**
 * Reads the log after `position`, page by page; a single query if there is nothing new.
 * @param head - head of the log, if it was read before; detects missing newest entries and a different history, too
 * @throws LogMismatch
 */
export async function* followLog(
  source: Pick<RegistrySource, 'entriesAfter'>,
  position: LogPosition,
  head: LogPosition = position,
): AsyncGenerator<LogPage> {
  let { seq } = position;
  for await (const entries of source.entriesAfter(seq)) {
    if (seq === position.seq && entries[0]?.previous !== position.digest) throw new LogMismatch();
    for (const entry of entries) if (entry.seq !== ++seq) throw new LogMismatch();
    for (const page of inPages(entries)) yield toPage(page);
  }
  if (head.seq < position.seq || head.seq > seq || (head.seq === position.seq && head.digest !== position.digest)) throw new LogMismatch();
}
