import { rm } from 'node:fs/promises';
import { serveSchedule } from './core/http/serve.ts';
import { openRegistry } from './core/registry/registry.ts';
import { log } from './core/runtime/log.ts';
import type { RegistrySource } from './core/search/registry-source.ts';
import { buildIndex, temporaryIndexFile } from './core/search/sqlite/engine.ts';
import { isSnapshotDue, type SnapshotStore, saveSnapshot, snapshotsFromEnvironment } from './core/search/sqlite/snapshots.ts';
import { keys } from './core/table/keys.ts';
import { takeLease } from './core/table/leases.ts';
import { type Table, tableFromEnvironment } from './core/table/table.ts';

/** As long as the function may run: if a run crashes, the next one starts when this has passed. */
const leaseSeconds = 300;

/**
 * Runs on a schedule, after each deployment and during bulk changes: saves snapshots of the search index as long as one is due, so that the last run of a
 * bulk leaves few changes to apply. One run at a time. A snapshot is always built from the registry, so that faults in older ones do not survive.
 */
export const createAction =
  ({ source, snapshots, table }: { source: RegistrySource; snapshots: SnapshotStore; table: Pick<Table, 'get' | 'update'> }) =>
  async (_event?: unknown, remainingMs = () => Number.POSITIVE_INFINITY): Promise<void> => {
    const giveBack = await takeLease(table, keys.snapshot(), 1, leaseSeconds);
    if (!giveBack) return;
    try {
      let saved: number | undefined;
      // another one takes as long as the last
      for (let tookMs = 0; remainingMs() > 2 * tookMs && (await isSnapshotDue(snapshots, source)); ) {
        const startedMs = Date.now();
        saved = await save(source, snapshots);
        tookMs = Date.now() - startedMs;
      }
      log.info(upToDate, { is_new: saved !== undefined, ...(saved !== undefined && { seq: saved }) });
    } finally {
      await giveBack();
    }
  };

/** Saves a snapshot. @returns its position in the log */
async function save(source: RegistrySource, snapshots: SnapshotStore): Promise<number> {
  const file = temporaryIndexFile();
  const { index, position } = await buildIndex(source, file);
  try {
    index.compact();
    index.close();
    await saveSnapshot(snapshots, file, position);
  } finally {
    await rm(file);
  }
  return position.seq;
}

/** An alarm watches for this line. */
const upToDate = 'the snapshot of the search index is as new as it should be';

const snapshots = snapshotsFromEnvironment();

function openAction() {
  if (snapshots === undefined) return () => Promise.reject(new TypeError('missing environment variable: SNAPSHOT_BUCKET'));
  const table = tableFromEnvironment();
  return createAction({ source: openRegistry(table), snapshots, table });
}

export const handler = serveSchedule(openAction());
