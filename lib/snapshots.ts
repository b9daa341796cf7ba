import { Duration } from 'aws-cdk-lib';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { Bucket } from 'aws-cdk-lib/aws-s3';
import type { Construct } from 'constructs';
import { createBucket } from './bucket.ts';
import type { Settings } from './settings.ts';

/** Bytes per intent in an index file, and copies of the file while it is rewritten. */
const indexBytes = { intent: 2_000, copies: 3 };

/** Storage (at least Lambda's default of 512 MB) and memory for a function with a search index of the expected size. */
export function indexSize({ expectedIntents }: Settings, memoryMb: number): { storageMb: number; memoryMb: number } {
  const neededMb = Math.ceil((expectedIntents * indexBytes.intent * indexBytes.copies) / 2 ** 20);
  // 1,769 MB of memory come with a whole core, which opens and rewrites a large file twice as fast.
  return { storageMb: Math.max(512, neededMb), memoryMb: expectedIntents > 100_000 ? Math.max(1_769, memoryMb) : memoryMb };
}

/** Snapshots of the search index. They can be rebuilt from the table, so old ones expire. */
export const createSnapshotBucket = (scope: Construct, settings: Settings, key?: IKey): Bucket =>
  createBucket(scope, 'Snapshots', settings, key, {
    lifecycle: { expiration: Duration.days(7), noncurrentVersionExpiration: Duration.days(1) },
    unlogged:
      'Only two functions can reach the bucket, and its content is derived from the table; a second bucket for access logs would add nothing.',
  });
