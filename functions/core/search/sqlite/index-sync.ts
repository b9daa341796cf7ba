import { beyondInvocation } from '../../invocation.ts';
import type { RecordName } from '../../registry/records.ts';
import { followLog, type RegistrySource, type Seen } from '../registry-source.ts';
import type { SearchIndex } from './search-index.ts';

/** An index, and how far it has followed the log. What came later may be in it, too. */
export interface FollowingIndex {
  index: Pick<SearchIndex, 'apply'>;
  seen: Seen;
  /** of the log, until the index of a snapshot has come that far: see {@link followLog} */
  head?: Seen | undefined;
}

/** How many records are read and applied at a time. */
const batchSize = 100;

/** Brings some records of an index to what the registry holds now. */
export async function applyNow(
  source: Pick<RegistrySource, 'readRecords'>,
  index: FollowingIndex['index'],
  names: readonly RecordName[],
): Promise<void> {
  for (let start = 0; start < names.length; start += batchSize) {
    const batch = names.slice(start, start + batchSize);
    const records = await source.readRecords(batch);
    const isGone = (_: RecordName, at: number) => records[at] === undefined;
    index.apply(
      records.filter((record) => record !== undefined),
      batch.filter(isGone),
    );
  }
}

/**
 * Brings an index up to date with the registry as of the call; calls must not overlap. What it could not read, the next call reads.
 * @throws LogMismatch if the index has to be built anew
 */
export async function catchUp(source: Pick<RegistrySource, 'entriesAfter' | 'readRecords'>, following: FollowingIndex): Promise<void> {
  const { index, head } = following;
  for await (const { names, seen } of followLog(source, following.seen, head)) {
    await applyNow(source, index, names);
    following.seen = seen;
    if (head && seen.seq >= head.seq) following.head = undefined;
  }
  following.head = undefined;
}

/**
 * Runs one call at a time. A call that arrives during a run waits for the next one, because the running one may have read before the
 * call arrived; all that wait share the next run, so it ends with none of them.
 */
export function oneAtATime<T>(run: () => Promise<T>): () => Promise<T> {
  let running: Promise<unknown> = Promise.resolve();
  let next: Promise<T> | undefined;
  const start = () => {
    next = undefined;
    const run_ = beyondInvocation(run);
    running = run_.catch(() => {});
    return run_;
  };
  return () => {
    next ??= running.then(start);
    return next;
  };
}
