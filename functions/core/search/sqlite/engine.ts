/**
 * Why a search of this engine is never stale: before a search is answered, `bringUpToDate` reads the log entries after the index's position, then the current state
 * of the records that they name, with strongly consistent reads ({@link catchUp}). A record and its log entry are written in one transaction
 * (`registry/change-log.ts`). A search that arrives during such a run waits for the next one ({@link oneAtATime}). So results include every write that
 * completed before the search began.
 */
import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ApiError } from '../../runtime/api-error.ts';
import { describeCause, log } from '../../runtime/log.ts';
import { followLog, LogMismatch, type LogPosition, type RegistrySource } from '../registry-source.ts';
import type { SearchEngine } from '../search-engine.ts';
import { applyNow, catchUp, type FollowingIndex, oneAtATime } from './index-sync.ts';
import { openSearchIndex, type SearchIndex } from './search-index.ts';
import { isSnapshotAhead, loadSnapshot, type SnapshotStore, UnusableSnapshot } from './snapshots.ts';

export const temporaryIndexFile = (): string => join(tmpdir(), `search-index-${randomUUID()}.sqlite`);

interface OpenIndex extends FollowingIndex {
  index: SearchIndex;
  file: string;
}

/** Opens an engine whose first search loads the newest snapshot, or builds an index from the registry. */
export function openSqliteEngine(source: RegistrySource, snapshots?: SnapshotStore): SearchEngine & { close(): Promise<void> } {
  let opened: OpenIndex | undefined;

  const search: SearchEngine['search'] = async (query, options) => (await bringUpToDate()).search(query, options);

  /** If the table cannot be reached, the next search retries; after any other error, it opens a new index. */
  const bringUpToDate = oneAtATime(async () => {
    try {
      for (;;) {
        opened ??= await openFirst();
        const isCurrent = await catchUp(source, opened, skipAhead).catch(async (error: unknown) => {
          if (!(error instanceof LogMismatch)) throw error;
          opened = await rebuild('the log does not continue from the position of the index', error);
          return catchUp(source, opened);
        });
        if (isCurrent) return opened.index;
      }
    } catch (error) {
      if (!(error instanceof ApiError)) await close();
      throw error;
    }
  });

  async function openFirst(): Promise<OpenIndex> {
    if (!snapshots) return buildIndex(source, temporaryIndexFile());
    return openNewest(snapshots).catch((error: unknown) =>
      rebuild(error instanceof UnusableSnapshot ? error.message : 'its snapshot cannot be read', error),
    );
  }

  /** Opens the newest snapshot in place of the current index, which stays open if that fails. */
  async function openNewest(store: SnapshotStore): Promise<OpenIndex> {
    const file = temporaryIndexFile();
    try {
      const position = await loadSnapshot(store, file);
      // read after the snapshot, so that the head is not older
      const head = await source.head();
      await close();
      return { file, position, head, index: openSearchIndex(file) };
    } catch (error) {
      await rm(file, { force: true });
      throw error;
    }
  }

  /** After a bulk, opening a snapshot that others have saved is faster than applying the changes. */
  async function skipAhead(position: LogPosition): Promise<boolean> {
    try {
      if (!snapshots || !(await isSnapshotAhead(snapshots, position))) return false;
      opened = await openNewest(snapshots);
      return true;
    } catch (error) {
      log.warn('the newest snapshot of the search index cannot be opened', { cause: describeCause(error) });
      return !opened;
    }
  }

  async function rebuild(reason: string, cause: unknown): Promise<OpenIndex> {
    log.warn('the search index is rebuilt from the registry', { reason, cause: describeCause(cause) });
    await close();
    return buildIndex(source, temporaryIndexFile());
  }

  async function close(): Promise<void> {
    const closed = opened;
    opened = undefined;
    closed?.index.close();
    if (closed) await rm(closed.file, { force: true });
  }

  return { search, close };
}

/** Builds an index of the whole registry. Concurrent changes are in the log after `position`. */
export async function buildIndex(source: RegistrySource, file: string): Promise<OpenIndex> {
  const position = await source.head();
  const index = openSearchIndex(file);
  try {
    for await (const { records } of source.readAll()) {
      index.apply(records);
      // yield, so that responses that have arrived are handled before their reads time out
      await nextTurn();
    }
    // a concurrently renamed service may have been skipped, with intents that the log does not name
    for await (const { names } of followLog(source, position)) {
      for (const service of names.filter(({ kind }) => kind === 'service')) {
        const uids = await source.uidsOf(service.id);
        await applyNow(source, index, [service, ...uids.map((id) => ({ kind: 'intent' as const, id }))]);
      }
    }
  } catch (error) {
    index.close();
    await rm(file, { force: true });
    throw error;
  }
  return { index, position, file };
}
