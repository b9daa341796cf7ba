import { openBucket, type S3Access } from '../../bucket.ts';
import { readEnvironment } from '../../environment.ts';
import type { SnapshotStore } from './snapshots.ts';

export type { S3Access };

/** Snapshots in an S3 bucket, under one prefix. */
export const bucketSnapshots = (bucket: string, access?: S3Access): SnapshotStore => openBucket(bucket, 'search-index/', access);

export function snapshotsFromEnvironment(): SnapshotStore | undefined {
  const { snapshotBucket } = readEnvironment([], ['snapshotBucket']);
  return snapshotBucket ? bucketSnapshots(snapshotBucket) : undefined;
}
