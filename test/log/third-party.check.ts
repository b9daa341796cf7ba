import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { listen } from '../../bin/local/http.ts';
import { type Checkpoint, verifyCheckpoint, verifyConsistency } from '../../client/receipts.ts';
import { openKms } from '../../functions/core/aws/kms.ts';
import { runInBatches } from '../../functions/core/runtime/batches.ts';
import { variables } from '../../functions/core/runtime/environment.ts';
import { newUlid } from '../../functions/core/runtime/ulid.ts';
import { newReceiptItem } from '../../functions/receipts/entries.ts';
import { receiptVariables } from '../../functions/receipts/environment.ts';
import { openEvidenceKey } from '../../functions/receipts/evidence-keys.ts';
import { signCheckpoint } from '../../functions/receipts/note.ts';
import { readConsistency } from '../../functions/receipts/tiles.ts';
import { startApi } from '../e2e/api.ts';
import { connectTable } from '../support/connect-table.ts';
import { makeFolder } from '../support/folder.ts';
import { installTools } from '../support/python.ts';

const run = promisify(execFile);
const version = 'v1.0.4';
const hasGo = await run('go', ['version']).then(
  () => true,
  () => false,
);

const python = await installTools(
  // they ask for Python 3.12, and run on 3.11
  ['--ignore-requires-python', 'aics-tlog==0.2.1', 'aics-witness==0.1.0'],
  'aics-tlog and aics-witness are not tested',
);

const folder = makeFolder();
const { stack } = await startApi();
const { environment, name: sequencer } = stack.definitionOf('sequence-receipts');
const at = { region: 'eu-west-1', credentials: { accessKeyId: 'test', secretAccessKey: 'test' } };
const table = connectTable(stack.dynamodb_endpoint, {
  registry: environment[variables.registryTable] ?? '',
  activity: environment[variables.activityTable] ?? '',
});
const log = openEvidenceKey(openKms({ endpoint: stack.kms_endpoint, ...at }), environment[receiptVariables.logKey] ?? '');

beforeAll(async () => {
  if (!hasGo) return;
  await run('go', ['install', `github.com/transparency-dev/tessera/cmd/fsck@${version}`], { env: { ...process.env, GOBIN: folder } });
  await run('go', ['build', '-buildvcs=false', '-o', folder], { cwd: 'test/log/consistency' });
}, 600_000);

const read = async (path: string) => (await fetch(`${stack.base_url}/log/${path}`)).text();

/** Serves the log of the running gate. @param alter - changes an answer */
async function serveLog(alter: (path: string, bytes: Buffer) => Buffer | undefined) {
  const server = createServer(async (request, response) => {
    const path = request.url ?? '';
    const answer = await fetch(stack.base_url + path);
    const bytes = answer.status === 200 ? alter(path, Buffer.from(await answer.arrayBuffer())) : undefined;
    response.writeHead(bytes ? 200 : 404).end(bytes);
  });
  return { url: `http://127.0.0.1:${await listen(server)}/log/`, stop: () => server.close() };
}

/** Whether Tessera's fsck accepts the log; it repeats requests for a broken bundle, so it has a time limit. */
async function isAccepted(url: string, timeout: number): Promise<boolean> {
  const file = join(folder, 'log.key');
  const key = await read('key');
  await writeFile(file, key);
  const options = [`-storage_url=${url}`, `-public_key=${file}`, `-origin=${key.split('+')[0]}`, '-ui=false', '-logtostderr'];
  return run(join(folder, 'fsck'), options, { timeout }).then(
    ({ stderr }) => stderr.includes('Successfully fsck'),
    () => false,
  );
}

interface Extension {
  older: Checkpoint;
  newer: Checkpoint;
  /** hashes in base64 */
  proof: string[];
}

/** Whether each consistency proof is accepted, by Tessera's Merkle library and by the client. */
async function judge(extensions: Extension[]) {
  const child = run(join(folder, 'consistency'));
  child.child.stdin?.end(JSON.stringify(extensions));
  const ours = extensions.map(({ older, newer, proof }) =>
    verifyConsistency(older, newer, proof).then(
      () => true,
      () => false,
    ),
  );
  return { theirs: JSON.parse((await child).stdout) as boolean[], ours: await Promise.all(ours) };
}

let size = 0;
/** What auditors keep. */
const kept: string[] = [];

/** Puts receipts where executions put them, and has the gate's own function write the log. */
async function growTo(count: number): Promise<void> {
  const added = Array.from({ length: count - size }, () => ({ executionId: newUlid(), digest: 'd'.repeat(43) }));
  await runInBatches(added, 32, (entry) => table.put(newReceiptItem(entry)));
  size = count;
  for (;;) {
    const checkpoint = await read('checkpoint');
    if (checkpoint.split('\n')[1] === String(count)) return void kept.push(checkpoint);
    await fetch(
      `${stack.definitionOf('execute-intent').environment.AWS_ENDPOINT_URL_LAMBDA}/2015-03-31/functions/${sequencer}/invocations`,
      {
        method: 'POST',
        headers: { 'x-amz-invocation-type': 'Event', 'Content-Type': 'application/json' },
        body: '{}',
      },
    );
    await setTimeout(1_000);
  }
}

async function askPython(url: string, more: object) {
  const child = execFile(python ?? '', ['test/log/third_party.py'], { maxBuffer: 1e8 });
  let [stdout, stderr] = ['', ''];
  child.stdout?.on('data', (text) => {
    stdout += text;
  });
  child.stderr?.on('data', (text) => {
    stderr += text;
  });
  child.stdin?.end(JSON.stringify({ url, key: await read('key'), kept: kept.slice(0, -1), changes: 0, ...more }));
  await new Promise((resolve) => child.once('close', resolve));
  if (stdout === '') throw new Error(stderr);
  return JSON.parse(stdout);
}

const sizes = [1, 255, 256, 257, 1_000, ...(process.env.LOG_SIZES ?? '10000,70000').split(',').map(Number)];

const url = `${stack.base_url}/log/`;

test.each(sizes)(
  'a running gate has a log of %i receipts, which others accept',
  async (count) => {
    await growTo(count);
    if (hasGo) expect(await isAccepted(url, 240_000)).toBe(true);
    const bundles = Math.ceil(count / 256);
    const consistencies = kept.slice(1).map(() => true);
    if (python) expect(await askPython(url, {})).toMatchObject({ size: count, bundles, inclusions: true, consistencies });
  },
  1_200_000,
);

(python ? test : test.skip)(
  'aics-tlog notices 1,500 of 1,500 changes, and aics-witness cosigns, but not a fork',
  async () => {
    const [origin = '', checkpointSize] = kept.at(-1)?.split('\n') ?? [];
    const verifier = { origin, publicKey: (await log.read()).publicKey };
    const fork = await signCheckpoint(verifier, Number(checkpointSize), Buffer.alloc(32, 7), log.sign);
    // a part of the log that can be checked often: it is the whole log of that size
    const [small = ''] = kept.filter((one) => one.split('\n')[1] === '1000');
    const { url: older, stop } = await serveLog((path, bytes) => (path === '/log/checkpoint' ? Buffer.from(small) : bytes));
    expect(await askPython(older, { kept: [], changes: 1_500 })).toMatchObject({ size: 1_000, noticed: 1_500 });
    stop();
    const { cosigned, ...said } = await askPython(url, { fork });
    expect(said).toMatchObject({ witnesses: ['witness.example/w1'], refuses_fork: true });
    expect(await verifyCheckpoint(cosigned, await read('key'))).toMatchObject({ size: Number(checkpointSize) });
  },
  600_000,
);

(hasGo ? test : test.skip)("Tessera's Merkle library accepts every consistency proof that the client accepts, and no other", async () => {
  const key = await read('key');
  const checkpoints = await Promise.all(kept.map((note) => verifyCheckpoint(note, key)));
  const readTile = async (path: string) => Buffer.from(await (await fetch(`${url}${path}`)).arrayBuffer());
  const genuine = await Promise.all(
    checkpoints.flatMap((newer, end) =>
      checkpoints.slice(0, end).map(async (older) => {
        const proof = await readConsistency(readTile, older.size, newer.size);
        return { older, newer, proof: proof.map((hash) => Buffer.from(hash).toString('base64')) };
      }),
    ),
  );
  const all = genuine.map(() => true);
  expect(await judge(genuine)).toEqual({ theirs: all, ours: all });

  const other = Buffer.alloc(32, 7).toString('base64');
  const forged = genuine.flatMap(({ older, newer, proof }, at): Extension[] => [
    ...proof.map((_, place) => ({ older, newer, proof: proof.with(place, other) })),
    ...proof.map((_, place) => ({ older, newer, proof: proof.toSpliced(place, 1) })),
    ...[...proof, ''].map((_, place) => ({ older, newer, proof: proof.toSpliced(place, 0, other) })),
    { older, newer, proof: [] },
    { older, newer, proof: genuine.at(at - 1)?.proof ?? [] },
    { older: { ...older, root: other }, newer, proof },
    { older, newer: { ...newer, root: other }, proof },
    { older: { ...older, size: older.size + 1 }, newer, proof },
    { older, newer: { ...newer, size: newer.size * 2 }, proof },
    { older: newer, newer: older, proof },
  ]);
  const none = forged.map(() => false);
  expect(await judge(forged)).toEqual({ theirs: none, ours: none });
});

(hasGo ? describe : describe.skip)("Tessera's fsck (needs Go)", () => {
  test.each<[what: string, alter: (path: string, bytes: Buffer) => Buffer | undefined]>([
    ['a receipt is removed', (path, bytes) => (path.includes('/entries/000') ? bytes.subarray(2 + bytes.readUInt16BE(0)) : bytes)],
    ['a bundle is missing', (path, bytes) => (path.includes('/entries/000') ? undefined : bytes)],
    [
      'a byte of a tile is another',
      (path, bytes) => (path.includes('/tile/0/000') ? Buffer.concat([Buffer.of((bytes[0] ?? 0) ^ 1), bytes.subarray(1)]) : bytes),
    ],
  ])(
    "Tessera's fsck notices that %s",
    async (_, alter) => {
      const { url, stop } = await serveLog(alter);
      expect(await isAccepted(url, 15_000)).toBe(false);
      stop();
    },
    60_000,
  );
});
