import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { serve } from '../../functions/core/http/serve.ts';
import { newReceiptItem } from '../../functions/core/receipts/entries.ts';
import { openSequencer } from '../../functions/core/receipts/sequencer.ts';
import { newUlid } from '../../functions/core/ulid.ts';
import { createAction } from '../../functions/get-log.ts';
import { eventOf } from '../support/invoke.ts';
import { startReceiptLog } from '../support/receipts.ts';
import { startTable, type TestTable } from '../support/table.ts';

const run = promisify(execFile);
const version = 'v1.0.4';
const hasGo = await run('go', ['version']).then(
  () => true,
  () => false,
);

let folder: string;
let database: TestTable;
let running: Awaited<ReturnType<typeof startReceiptLog>>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fsck-'));
  [database, running] = await Promise.all([startTable(), startReceiptLog()]);
  if (hasGo)
    await run('go', ['install', `github.com/transparency-dev/tessera/cmd/fsck@${version}`], { env: { ...process.env, GOBIN: folder } });
}, 600_000);
afterAll(async () => {
  await Promise.all([database.stop(), running.stop()]);
  await rm(folder, { recursive: true });
});

/** Serves the log as its function answers. @param alter - changes an answer */
async function serveLog(alter: (path: string, bytes: Buffer) => Buffer | undefined = (_, bytes) => bytes) {
  const handle = serve(createAction({ log: running.log, table: database.table }), { protocol: 'proto' });
  const server = createServer(async (request, response) => {
    const path = request.url ?? '';
    const context = { getRemainingTimeInMillis: () => 60_000 } as Parameters<typeof handle>[1];
    const { statusCode, body, isBase64Encoded } = await handle(eventOf({ path }), context);
    const bytes = statusCode === 200 ? alter(path, Buffer.from(body, isBase64Encoded ? 'base64' : 'utf8')) : undefined;
    response.writeHead(bytes ? 200 : 404).end(bytes);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/log/`, stop: () => server.close() };
}

/** Whether Tessera's fsck accepts the log; it repeats requests for a broken bundle, so it has a time limit. */
async function isAccepted(url: string, timeout: number): Promise<boolean> {
  const file = join(folder, 'log.key');
  await writeFile(file, (await running.log.publicKeys()).key);
  const options = [`-storage_url=${url}`, `-public_key=${file}`, `-origin=${running.log.origin}`, '-ui=false', '-logtostderr'];
  return run(join(folder, 'fsck'), options, { timeout }).then(
    ({ stderr }) => stderr.includes('Successfully fsck'),
    () => false,
  );
}

let size = 0;
async function growTo(count: number): Promise<void> {
  for (; size < count; size += 500) {
    const some = Array.from({ length: Math.min(500, count - size) }, () => ({ executionId: newUlid(), digest: 'd'.repeat(43) }));
    await Promise.all(some.map((entry) => database.table.put(newReceiptItem(entry))));
  }
  size = count;
  const { store, verifier, logKey, publicKeys } = running.log;
  await openSequencer({ table: database.table, store, verifier, sign: logKey.sign, publicKeys, now: Date.now })(() => 600_000);
}

const sizes = [1, 255, 256, 257, 1_000, ...(process.env.LOG_SIZES ?? '10000,70000').split(',').map(Number)];

(hasGo ? describe : describe.skip)("Tessera's fsck (needs Go)", () => {
  test.each(sizes)(
    'accepts a log of %i receipts',
    async (count) => {
      await growTo(count);
      const { url, stop } = await serveLog();
      expect(await isAccepted(url, 120_000)).toBe(true);
      stop();
    },
    1_200_000,
  );

  test.each<[what: string, alter: (path: string, bytes: Buffer) => Buffer | undefined]>([
    ['a receipt is removed', (path, bytes) => (path.includes('/entries/000') ? bytes.subarray(2 + bytes.readUInt16BE(0)) : bytes)],
    ['a bundle is missing', (path, bytes) => (path.includes('/entries/000') ? undefined : bytes)],
    [
      'a byte of a tile is another',
      (path, bytes) => (path.includes('/tile/0/000') ? Buffer.concat([Buffer.of((bytes[0] ?? 0) ^ 1), bytes.subarray(1)]) : bytes),
    ],
  ])(
    'notices that %s',
    async (_, alter) => {
      const { url, stop } = await serveLog(alter);
      expect(await isAccepted(url, 15_000)).toBe(false);
      stop();
    },
    60_000,
  );
});
