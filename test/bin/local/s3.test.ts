import { readdirSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { GetObjectCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type RunningS3, startS3 } from '../../../bin/local/s3.ts';
import { makeFolder } from '../../support/folder.ts';

const folder = join(makeFolder(), 'objects');
let s3: RunningS3;
let client: S3Client;

beforeAll(async () => {
  s3 = await startS3({ folder, buckets: ['kept'] });
  client = new S3Client({
    endpoint: s3.endpoint,
    region: 'eu-west-1',
    maxAttempts: 1,
    requestChecksumCalculation: 'WHEN_REQUIRED',
    credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
  });
});
afterAll(async () => {
  client.destroy();
  await s3.stop();
});

const at = (Key: string) => ({ Bucket: 'kept', Key });
const read = async (key: string) => {
  const { Body } = await client.send(new GetObjectCommand(at(key)));
  return Buffer.from((await Body?.transformToByteArray()) ?? []);
};

test('an object is replaced as a whole, in a file that only its owner can read, and no key leads out of the folder', async () => {
  await client.send(new PutObjectCommand({ ...at('a/b/c'), Body: 'one' }));
  await client.send(new PutObjectCommand({ ...at('a/b/c'), Body: 'two' }));
  expect((await read('a/b/c')).toString()).toBe('two');
  const files = readdirSync(folder);
  expect(files).toEqual([expect.stringMatching(/^[0-9a-f]{64}$/)]);
  expect([statSync(folder).mode & 0o777, statSync(join(folder, files[0] ?? '')).mode & 0o777]).toEqual([0o700, 0o600]);
});

test('a truncated body leaves the object unchanged', async () => {
  await client.send(new PutObjectCommand({ ...at('cut'), Body: 'one' }));
  const files = readdirSync(folder);
  const { host, port, pathname } = new URL(s3.endpoint);
  const socket = connect(Number(port), '127.0.0.1');
  socket.write(`PUT ${pathname}/kept/cut HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 5\r\n\r\nhel`);
  while (readdirSync(folder).length === files.length) await sleep(5);
  socket.destroy();
  while (readdirSync(folder).length > files.length) await sleep(5);
  expect((await read('cut')).toString()).toBe('one');
});
