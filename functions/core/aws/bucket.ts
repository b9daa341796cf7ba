import { Readable } from 'node:stream';
import { DeleteObjectCommand, GetObjectCommand, NoSuchKey, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { currentSignal } from '../runtime/invocation.ts';
import { type AwsAccess, awsClientSettings } from './aws-client.ts';

/**
 * Opens the objects under one key prefix of an S3 bucket. A connection is closed after 5 silent seconds; a large object may take longer in total.
 * Reads are tried twice.
 */
export function openBucket(bucket: string, prefix: string, access: AwsAccess = {}) {
  const client = new S3Client({
    ...awsClientSettings(5_000, 2),
    // https protects writes, and the digest in the manifest protects reads
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    // without a logger, the SDK writes to the console that a write cannot be tried again
    logger: { debug() {}, info() {}, warn() {}, error() {} },
    ...access,
  });
  const at = (name: string) => ({ Bucket: bucket, Key: prefix + name });

  return {
    /** @returns undefined if it does not exist */
    async read(name: string): Promise<Readable | undefined> {
      try {
        return (await client.send(new GetObjectCommand(at(name)))).Body as Readable;
      } catch (error) {
        if (error instanceof NoSuchKey) return undefined;
        throw error;
      }
    },
    /** @param bytes - length of the content */
    async write(name: string, content: Iterable<Uint8Array> | AsyncIterable<Uint8Array>, bytes: number): Promise<void> {
      const failed = new AbortController();
      const body = Readable.from(content).on('error', (error) => failed.abort(error));
      const abortSignal = AbortSignal.any([failed.signal, ...[currentSignal() ?? []].flat()]);
      await client.send(new PutObjectCommand({ ...at(name), Body: body, ContentLength: bytes }), { abortSignal });
    },
    async remove(name: string): Promise<void> {
      await client.send(new DeleteObjectCommand(at(name)));
    },
  };
}
