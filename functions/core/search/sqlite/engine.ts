import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ApiError } from '../../api-error.ts';
import { describeCause, log } from '../../log.ts';
import type { RegistrySource } from '../registry-source.ts';
import type { SearchEngine } from '../search-engine.ts';
import { type DatedIndex, followChanges, oneAtATime } from './index-sync.ts';
import { openSearchIndex } from './search-index.ts';
import { loadSnapshot, type SnapshotStore, UnusableSnapshot } from './snapshots.ts';

/** A new path for an index file of this process. */
export const temporaryIndexFile = (): string => join(tmpdir(), `search-index-${randomUUID()}.sqlite`);

/** Builds an index of all that the registry holds, into a new file. */
export async function buildIndex(source: Pick<RegistrySource, 'readAll'>, file: string): Promise<DatedIndex> {
  const asOfMs = Date.now();
  const index = openSearchIndex(file);
  try {
    for await (const { records } of source.readAll()) index.apply(records);
  } catch (error) {
    index.close();
    await rm(file);
    throw error;
  }
  return { index, asOfMs };
}

/** The newest snapshot or, if it cannot be used, a new index. */
async function openNewest(source: RegistrySource, snapshots: SnapshotStore | undefined, file: string): Promise<DatedIndex> {
  if (!snapshots) return buildIndex(source, file);
  try {
    const asOfMs = await loadSnapshot(snapshots, file);
    return { index: openSearchIndex(file), asOfMs };
  } catch (error) {
    const reason = error instanceof UnusableSnapshot ? error.message : 'it cannot be read';
    log.warn('the search index is rebuilt from the registry because its snapshot cannot be used', { reason, cause: describeCause(error) });
    await rm(file, { force: true });
    return buildIndex(source, file);
  }
}

/**
 * Searches an index file of this process, which the first search opens and every search brings up to date: whatever was written before a
 * search began is in its answer.
 */
export function openSqliteEngine(source: RegistrySource, snapshots?: SnapshotStore): SearchEngine {
  const file = temporaryIndexFile();
  let opened: { dated: DatedIndex; catchUp: () => Promise<void> } | undefined;

  async function close(): Promise<void> {
    opened?.dated.index.close();
    opened = undefined;
    await rm(file, { force: true });
  }

  /** If the table does not answer, the next search tries again; an index that fails is opened anew. */
  const bringUpToDate = oneAtATime(async () => {
    try {
      if (!opened) {
        const dated = await openNewest(source, snapshots, file);
        opened = { dated, catchUp: followChanges(source, dated) };
      }
      await opened.catchUp();
      return opened.dated.index;
    } catch (error) {
      if (!(error instanceof ApiError)) await close();
      throw error;
    }
  });

  return { search: async (query, options) => (await bringUpToDate()).search(query, options), close };
}
