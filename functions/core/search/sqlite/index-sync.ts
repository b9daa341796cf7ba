import type { RecordName } from '../../registry/records.ts';
import { batchesOf } from '../../runtime/batches.ts';
import { beyondInvocation } from '../../runtime/invocation.ts';
import { followLog, type LogPosition, pageChanges, type RegistrySource } from '../registry-source.ts';
import type { SearchIndex } from './search-index.ts';

/** An index and its position in the log. The index may contain later changes, too. */
export interface FollowingIndex {
  index: Pick<SearchIndex, 'apply'>;
  position: LogPosition;
  /** head of the log, until an index from a snapshot has reached it; see {@link followLog} */
  head?: LogPosition | undefined;
}

const batchSize = 100;

/** Applies the current state of some records to an index. */
export async function applyNow(
  source: Pick<RegistrySource, 'readRecords'>,
  index: FollowingIndex['index'],
  names: readonly RecordName[],
): Promise<void> {
  for (const batch of batchesOf(names, batchSize)) {
    const records = await source.readRecords(batch);
    const isGone = (_: RecordName, at: number) => records[at] === undefined;
    index.apply(
      records.filter((record) => record !== undefined),
      batch.filter(isGone),
    );
  }
}

/**
 * Brings an index up to date with the registry. Calls must not overlap; after a failure, the next call continues.
 * @param isOvertaken - asked before each full page of changes, which takes about a second to apply
 * @returns false if the index was left behind because it is overtaken
 * @throws LogMismatch if the index has to be rebuilt
 */
export async function catchUp(
  source: Pick<RegistrySource, 'entriesAfter' | 'readRecords'>,
  following: FollowingIndex,
  isOvertaken: (position: LogPosition) => Promise<boolean> = async () => false,
): Promise<boolean> {
  const { index, head } = following;
  for await (const { entries, names, position } of followLog(source, following.position, head)) {
    const isFull = entries.flatMap(({ changes }) => changes).length >= pageChanges;
    if (isFull && (await isOvertaken(following.position))) return false;
    await applyNow(source, index, names);
    following.position = position;
    if (head && position.seq >= head.seq) following.head = undefined;
  }
  following.head = undefined;
  return true;
}

/**
 * Runs the work one call at a time. A call that arrives during a run waits for the next run, because the current one may already have read
 * its data. All waiting calls share the next run, which is not aborted with any of them.
 */
export function oneAtATime<T>(work: () => Promise<T>): () => Promise<T> {
  let current: Promise<unknown> = Promise.resolve();
  let next: Promise<T> | undefined;
  const start = () => {
    next = undefined;
    const started = beyondInvocation(work);
    current = started.catch(() => {});
    return started;
  };
  return () => {
    next ??= current.then(start);
    return next;
  };
}
