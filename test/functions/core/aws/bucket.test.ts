import { createServer, type RequestListener, type Server } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, describe, expect, test } from '@jest/globals';
import { close, listen } from '../../../../bin/local/http.ts';
import { openBucket } from '../../../../functions/core/aws/bucket.ts';
import { bounded, withinInvocation } from '../../../../functions/core/runtime/invocation.ts';

let server: Server;
let requests = 0;
afterEach(() => close(server));

async function bucketOf(answer: RequestListener) {
  requests = 0;
  server = createServer((request, response) => {
    requests++;
    answer(request, response);
  });
  const endpoint = `http://127.0.0.1:${await listen(server)}`;
  return openBucket('bucket', 'prefix/', { endpoint, region: 'eu-west-1', credentials: { accessKeyId: 'a', secretAccessKey: 'b' } });
}

const failure = (code: string) => `<?xml version="1.0"?><Error><Code>${code}</Code><Message>No.</Message></Error>`;

async function* chunks(count: number, size = 100_000) {
  for (let chunk = 0; chunk < count; chunk++) {
    await pause(1);
    yield Buffer.alloc(size, 'a');
  }
}

describe('a bucket', () => {
  test('a bucket stores what a stream holds under its prefix, as it comes and unchanged', async () => {
    const stored: unknown[] = [];
    const bucket = await bucketOf(async (request, response) => {
      const body = await text(request);
      stored.push(request.method, request.url, request.headers['content-length'], request.headers['content-encoding'], body.length);
      response.end();
    });
    await bucket.write('a b', chunks(30), 3_000_000);
    expect(stored).toEqual(['PUT', '/bucket/prefix/a%20b?x-id=PutObject', '3000000', undefined, 3_000_000]);
  });

  test.each([
    { what: 'has no such object', status: 404, code: 'NoSuchKey', name: undefined, attempts: 1 },
    { what: 'does not exist', status: 404, code: 'NoSuchBucket', name: 'NoSuchBucket', attempts: 1 },
    { what: 'may not be read', status: 403, code: 'AccessDenied', name: 'AccessDenied', attempts: 1 },
    { what: 'fails', status: 500, code: 'InternalError', name: 'InternalError', attempts: 2 },
    { what: 'is overloaded', status: 503, code: 'SlowDown', name: 'SlowDown', attempts: 2 },
  ])('a bucket that $what answers a read with nothing or with an error', async ({ status, code, name, attempts }) => {
    const bucket = await bucketOf((_, response) => response.writeHead(status).end(failure(code)));
    const outcome = await bucket.read('a').catch((error: Error) => error.name);
    expect([outcome, requests]).toEqual([name, attempts]);
  });

  test('a write that the bucket refuses before it has read all of it fails', async () => {
    const bucket = await bucketOf((_, response) => response.writeHead(403).end(failure('AccessDenied')));
    await expect(bucket.write('a', chunks(30), 3_000_000)).rejects.toMatchObject({ name: 'AccessDenied' });
  });

  test('a bucket is not written to any more once the content cannot be read', async () => {
    const broken = (async function* () {
      yield Buffer.from('first');
      throw new Error('the file is damaged');
    })();
    const bucket = await bucketOf((request) => request.resume());
    await expect(bucket.write('a', broken, 100)).rejects.toMatchObject({ name: 'AbortError', cause: { message: 'the file is damaged' } });
  });

  test('a bucket that does not answer is given up with the step that the read or write is part of', async () => {
    const bucket = await bucketOf((request) => request.resume());
    await expect(bounded(50, () => bucket.read('a'))).rejects.toMatchObject({ name: 'AbortError' });
    await expect(bounded(50, () => bucket.write('a', [Buffer.from('all')], 3))).rejects.toMatchObject({ name: 'AbortError' });
  });

  test('a bucket whose answer does not end is given up with the step that the read is part of', async () => {
    const bucket = await bucketOf((_, response) => response.writeHead(200, { 'Content-Length': 100 }).write('begun'));
    const reading = bounded(100, async () => {
      const content = await bucket.read('a');
      return content && text(content);
    });
    await expect(reading).rejects.toThrow();
  });

  test('a bucket is not asked once the step has ended', async () => {
    const bucket = await bucketOf((_, response) => response.end());
    await expect(withinInvocation(AbortSignal.abort(), () => bucket.read('a'))).rejects.toMatchObject({ name: 'AbortError' });
    expect(requests).toBe(0);
  });
});
