import { rm } from 'node:fs/promises';
import { serveSchedule } from './core/http/serve.ts';
import { log } from './core/log.ts';
import { openRegistry } from './core/registry/registry.ts';
import type { RegistrySource } from './core/search/registry-source.ts';
import { buildIndex, temporaryIndexFile } from './core/search/sqlite/engine.ts';
import { isSnapshotDue, type SnapshotStore, saveSnapshot, snapshotsFromEnvironment } from './core/search/sqlite/snapshots.ts';
import { tableFromEnvironment } from './core/table/table.ts';

/**
 * Runs on a schedule and after each deployment: saves a snapshot of the search index if one is due. It is always built from the registry, so that
 * faults in older snapshots do not survive.
 */
export const createAction =
  ({ source, snapshots }: { source: RegistrySource; snapshots: SnapshotStore }) =>
  async (): Promise<void> => {
    if (!(await isSnapshotDue(snapshots, source))) return log.info(upToDate, { is_new: false });
    const file = temporaryIndexFile();
    const { index, position } = await buildIndex(source, file);
    try {
      index.compact();
      index.close();
      await saveSnapshot(snapshots, file, position);
    } finally {
      await rm(file);
    }
    log.info(upToDate, { is_new: true, seq: position.seq });
  };

/** An alarm watches for this line. */
const upToDate = 'the snapshot of the search index is as new as it should be';

const snapshots = snapshotsFromEnvironment();

export const handler = serveSchedule(
  snapshots === undefined
    ? () => Promise.reject(new TypeError('missing environment variable: SNAPSHOT_BUCKET'))
    : createAction({ source: openRegistry(tableFromEnvironment()), snapshots }),
);
