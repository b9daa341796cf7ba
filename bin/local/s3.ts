import { createHash, randomUUID } from 'node:crypto';
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { crc32 } from 'node:zlib';
import { close, listen } from './http.ts';

export interface S3Options {
  /** keeps the objects, in files that only its owner may read */
  folder: string;
  /** the existing buckets */
  buckets: readonly string[];
}

export interface RunningS3 {
  endpoint: string;
  stop(): Promise<void>;
}

/** An error in the form of S3. */
class S3Error extends Error {
  readonly status: number;
  constructor(status: number, code: string, message: string) {
    super(message);
    this.name = code;
    this.status = status;
  }
}

/**
 * A stand-in for S3 on a loopback port, behind its wire protocol: PutObject, GetObject and DeleteObject of whole objects in buckets that are
 * part of the path, as the SDK has it if the host is an IP address. Bodies may come in chunks with a CRC-32 at the end, which is checked.
 * Takes any credentials.
 */
export async function startS3({ folder, buckets }: S3Options): Promise<RunningS3> {
  const server = createServer(async (request, response) => {
    try {
      await answer(request, response, (path) => locate(path, folder, buckets));
    } catch (error) {
      if (error instanceof S3Error) refuse(response, error);
      else request.socket.destroy();
    }
  });
  const port = await listen(server);
  return { endpoint: `http://127.0.0.1:${port}`, stop: () => close(server) };
}

async function answer(request: IncomingMessage, response: ServerResponse, fileOf: (path: string) => string): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://s3');
  const isKnown = [...searchParams.keys()].every((name) => name === 'x-id') && request.headers.range === undefined;
  switch (isKnown ? request.method : undefined) {
    case 'PUT':
      await store(request, fileOf(pathname));
      response.end();
      return;
    case 'GET':
      await send(fileOf(pathname), response);
      return;
    case 'DELETE':
      await rm(fileOf(pathname), { force: true });
      response.writeHead(204).end();
      return;
    default:
      throw new S3Error(501, 'NotImplemented', 'Only PutObject, GetObject and DeleteObject of whole objects are known here.');
  }
}

/** The file of the object at a path, `/<bucket>/<key>`: named by a digest, so that no key leads out of the folder. */
function locate(pathname: string, folder: string, buckets: readonly string[]): string {
  const [, bucket = '', key = ''] = /^\/([^/]+)\/(.+)$/.exec(pathname) ?? [];
  if (!buckets.includes(bucket)) throw new S3Error(404, 'NoSuchBucket', 'The specified bucket does not exist.');
  return join(
    folder,
    createHash('sha256')
      .update(`${bucket}/${decodeURIComponent(key)}`)
      .digest('hex'),
  );
}

async function send(file: string, response: ServerResponse): Promise<void> {
  const handle = await open(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') throw new S3Error(404, 'NoSuchKey', 'The specified key does not exist.');
    throw error;
  });
  const { size } = await handle.stat();
  response.writeHead(200, { 'Content-Length': size, 'Content-Type': 'binary/octet-stream' });
  await pipeline(handle.createReadStream(), response);
}

/** Writes a body beside the object, and replaces the object once all of the body has arrived. */
async function store(request: IncomingMessage, file: string): Promise<void> {
  await mkdir(join(file, '..'), { recursive: true, mode: 0o700 });
  const draft = `${file}.${randomUUID()}`;
  const handle = await open(draft, 'wx', 0o600);
  try {
    const isChunked = request.headers['x-amz-decoded-content-length'] !== undefined;
    const content = isChunked ? readChunks(request) : readPlain(request);
    await pipeline(content, handle.createWriteStream({ flush: true }));
    await rename(draft, file);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

async function* readPlain(request: IncomingMessage): AsyncGenerator<Buffer> {
  const check = startCheck(request.headers['content-length']);
  for await (const chunk of request) yield check.add(chunk);
  check.end(request.headers['x-amz-checksum-crc32']);
}

/** Undoes the framing `aws-chunked`: `<hex length>\r\n<bytes>\r\n` up to a chunk of no bytes, then header fields. */
async function* readChunks(request: IncomingMessage): AsyncGenerator<Buffer> {
  const check = startCheck(request.headers['x-amz-decoded-content-length']);
  let held = Buffer.alloc(0);
  /** bytes of the current chunk that have not arrived yet; undefined between chunks */
  let missing: number | undefined;
  let isLast = false;
  for await (const part of request) {
    held = Buffer.concat([held, part]);
    while (!isLast) {
      if (missing === undefined) {
        const end = held.indexOf('\r\n');
        if (end === -1) break;
        missing = Number.parseInt(held.toString('latin1', 0, end), 16);
        held = held.subarray(end + 2);
        isLast = !(missing > 0);
      } else {
        const taken = held.subarray(0, missing);
        if (taken.length > 0) yield check.add(taken);
        missing -= taken.length;
        held = held.subarray(taken.length);
        if (missing > 0 || held.length < 2) break;
        held = held.subarray(2);
        missing = undefined;
      }
    }
  }
  if (!isLast) throw incomplete();
  check.end(/^x-amz-checksum-crc32:\s*(\S+)/im.exec(held.toString('latin1'))?.[1]);
}

const incomplete = () => new S3Error(400, 'IncompleteBody', 'The body does not have as many bytes as its header fields say.');

/** Checks a body against its announced length and checksum (base64). */
function startCheck(announced: string | string[] | undefined) {
  let length = 0;
  let checksum = 0;
  return {
    add(bytes: Buffer): Buffer {
      length += bytes.length;
      checksum = crc32(bytes, checksum);
      return bytes;
    },
    end(wanted: string | string[] | undefined): void {
      if (announced !== undefined && length !== Number(announced)) throw incomplete();
      const actual = Buffer.alloc(4);
      actual.writeUInt32BE(checksum);
      if (wanted !== undefined && wanted !== actual.toString('base64')) {
        throw new S3Error(400, 'BadDigest', 'The CRC32 you specified did not match the calculated checksum.');
      }
    },
  };
}

function refuse(response: ServerResponse, { status, name, message }: S3Error): void {
  const body = `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${name}</Code><Message>${message}</Message></Error>`;
  // What is left of the request's body is not read.
  response.writeHead(status, { 'Content-Type': 'application/xml', Connection: 'close' }).end(body);
}
