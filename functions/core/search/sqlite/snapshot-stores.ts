import { Readable } from 'node:stream';
import { DeleteObjectCommand, GetObjectCommand, NoSuchKey, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { awsClientSettings } from '../../aws-client.ts';
import { readEnvironment } from '../../environment.ts';
import type { SnapshotStore } from './snapshots.ts';

/**
 * A client that gives a silent connection up after 5 seconds: a large snapshot may take longer than that as a whole.
 * `AWS_ENDPOINT_URL_S3` redirects it.
 */
const s3Client = (): S3Client => new S3Client(awsClientSettings({ socketTimeout: 5_000 }));

/** Snapshots in an S3 bucket, under one prefix. */
export function bucketSnapshots(bucket: string, client = s3Client()): SnapshotStore {
  const at = (name: string) => ({ Bucket: bucket, Key: `search-index/${name}` });
  return {
    async read(name) {
      try {
        const { Body } = await client.send(new GetObjectCommand(at(name)));
        return Body as Readable | undefined;
      } catch (error) {
        if (error instanceof NoSuchKey) return undefined;
        throw error;
      }
    },
    async write(name, content, bytes) {
      await client.send(new PutObjectCommand({ ...at(name), Body: Readable.from(content), ContentLength: bytes }));
    },
    async remove(name) {
      await client.send(new DeleteObjectCommand(at(name)));
    },
  };
}

/** Snapshots in the bucket that the environment names. Undefined if it names none. */
export function snapshotsFromEnvironment(): SnapshotStore | undefined {
  const { snapshotBucket } = readEnvironment([], ['snapshotBucket']);
  return snapshotBucket ? bucketSnapshots(snapshotBucket) : undefined;
}
