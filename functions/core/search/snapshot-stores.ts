import { createReadStream } from 'node:fs';
import { access, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { DeleteObjectCommand, GetObjectCommand, NoSuchKey, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { awsClientSettings } from '../aws-client.ts';
import { readEnvironment } from '../environment.ts';
import type { SnapshotStore } from './snapshots.ts';

/** Snapshots in a folder, which is made where it is missing. */
export const folderSnapshots = (folder: string): SnapshotStore => ({
  async read(name) {
    const path = join(folder, name);
    const isThere = await access(path).then(
      () => true,
      () => false,
    );
    return isThere ? createReadStream(path) : undefined;
  },
  async write(name, content) {
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, `${name}.part`), content);
    await rename(join(folder, `${name}.part`), join(folder, name));
  },
  remove: (name) => rm(join(folder, name), { force: true }),
});

/** A client that gives a silent connection up after 5 seconds: a large snapshot may take longer than that as a whole. */
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

/** The folder or bucket that the environment names; the folder is the local stack's, and wins. Undefined where it names none. */
export function snapshotsFromEnvironment(): SnapshotStore | undefined {
  const { snapshotBucket, snapshotFolder } = readEnvironment([], ['snapshotBucket', 'snapshotFolder']);
  if (snapshotFolder) return folderSnapshots(snapshotFolder);
  return snapshotBucket ? bucketSnapshots(snapshotBucket) : undefined;
}
