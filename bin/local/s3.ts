import { createHash, randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { listenForStack } from './guard.ts';
import { close, targetOf } from './http.ts';
import { ServiceError } from './json-service.ts';

export type RunningS3 = Awaited<ReturnType<typeof startS3>>;

const statuses: Record<string, number> = { NoSuchBucket: 404, NoSuchKey: 404, NotImplemented: 501 };

/**
 * A stand-in for S3 on a loopback port with its wire protocol: PutObject, GetObject and DeleteObject of whole objects, with the bucket in the path, as
 * the SDK does for IP addresses. Bodies must not be chunked with checksums; the functions do not send such. Accepts any credentials at an
 * address that only this stack knows.
 * @param options.folder - stores the objects in files readable only by their owner
 * @param options.buckets - names of the existing buckets
 */
export async function startS3({ folder, buckets }: { folder: string; buckets: readonly string[] }) {
  const server = createServer(async (request, response) => {
    try {
      await answer(request, response, (path) => locate(path, folder, buckets));
    } catch (error) {
      if (error instanceof ServiceError) refuse(response, error);
      else request.socket.destroy();
    }
  });
  return { endpoint: await listenForStack(server), stop: () => close(server) };
}

async function answer(request: IncomingMessage, response: ServerResponse, fileOf: (path: string) => string): Promise<void> {
  const { pathname, searchParams } = targetOf(request);
  const { range, 'x-amz-decoded-content-length': chunked } = request.headers;
  const isPlain = range === undefined && chunked === undefined && [...searchParams.keys()].every((name) => name === 'x-id');
  if (!isPlain || !['PUT', 'GET', 'DELETE'].includes(request.method ?? ''))
    throw new ServiceError('NotImplemented', 'Only PutObject, GetObject and DeleteObject of whole objects are supported here.');
  const file = fileOf(pathname);
  if (request.method === 'GET') return send(file, response);
  if (request.method === 'PUT') await store(request, file);
  else await rm(file, { force: true });
  response.writeHead(request.method === 'PUT' ? 200 : 204).end();
}

/** The file of the object at `/<bucket>/<key>`, named by a digest so that no key leads out of the folder. */
function locate(pathname: string, folder: string, buckets: readonly string[]): string {
  const [, bucket = '', key = ''] = /^\/([^/]+)\/(.+)$/.exec(pathname) ?? [];
  if (!buckets.includes(bucket)) throw new ServiceError('NoSuchBucket', 'The specified bucket does not exist.');
  const name = `${bucket}/${decode(key)}`;
  return join(folder, createHash('sha256').update(name).digest('hex'));
}

function decode(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch {
    throw new ServiceError('InvalidURI', 'The key must be percent-encoded UTF-8.');
  }
}

async function send(file: string, response: ServerResponse): Promise<void> {
  const handle = await open(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') throw new ServiceError('NoSuchKey', 'The specified key does not exist.');
    throw error;
  });
  const { size } = await handle.stat();
  response.writeHead(200, { 'Content-Length': size, 'Content-Type': 'binary/octet-stream' });
  await pipeline(handle.createReadStream(), response);
}

/** Writes a body to a new file, which replaces the object once complete. */
async function store(request: IncomingMessage, file: string): Promise<void> {
  await mkdir(join(file, '..'), { recursive: true, mode: 0o700 });
  const draft = `${file}.${randomUUID()}`;
  try {
    await pipeline(request, createWriteStream(draft, { flags: 'wx', mode: 0o600, flush: true }));
    await rename(draft, file);
  } finally {
    await rm(draft, { force: true });
  }
}

function refuse(response: ServerResponse, { name, message }: ServiceError): void {
  const body = `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${name}</Code><Message>${message}</Message></Error>`;
  // The rest of the request's body is not read.
  response.writeHead(statuses[name] ?? 400, { 'Content-Type': 'application/xml', Connection: 'close' }).end(body);
}
