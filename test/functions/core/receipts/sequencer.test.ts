import { generateKeyPairSync, sign } from 'node:crypto';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { verifyCheckpoint } from '../../../../client/receipts.ts';
import { type Entry, newReceiptItem, spellEntry } from '../../../../functions/core/receipts/entries.ts';
import { verifierKey } from '../../../../functions/core/receipts/note.ts';
import { type HeadItem, type LoggedItem, openSequencer, type SequencedLog } from '../../../../functions/core/receipts/sequencer.ts';
import { leafHash, rootOf, tilePath } from '../../../../functions/core/receipts/tiles.ts';
import { keys, newReceiptPartitions } from '../../../../functions/core/table/keys.ts';
import { newUlid } from '../../../../functions/core/ulid.ts';
import { openMemoryTable } from '../../../world/memory-table.ts';

const origin = 'log';
const { privateKey, publicKey } = generateKeyPairSync('ed25519');
const verifier = { origin, publicKey: Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url') };
let table: ReturnType<typeof openMemoryTable>;
let log: SequencedLog;

beforeEach(() => {
  table = openMemoryTable();
  const objects = new Map<string, Buffer>();
  log = {
    store: { read: async (path) => objects.get(path), write: async (path, content) => void objects.set(path, Buffer.from(content)) },
    verifier: async () => verifier,
    logKey: { sign: async (text) => sign(null, text, privateKey) },
    publicKeys: async () => ({ key: verifierKey(verifier), 'jwks.json': '' }),
  };
});

const sequence = (changed: Partial<SequencedLog> = {}, over: typeof table = table) =>
  openSequencer({ ...log, ...changed }, over)(() => 60_000);

async function addReceipts(count: number): Promise<Entry[]> {
  const entries = Array.from({ length: count }, () => ({ executionId: newUlid(), digest: 'd'.repeat(43) }));
  await Promise.all(entries.map((entry) => table.put(newReceiptItem(entry))));
  return entries;
}

const waiting = async () => (await Promise.all(newReceiptPartitions().map((pk) => table.query(pk)))).flatMap(({ items }) => items).length;

/** Reads the published log, and checks its checkpoint and lowest tiles against its entries. */
async function readLog(): Promise<string[]> {
  const note = String(await log.store.read('checkpoint'));
  const { size, root } = await verifyCheckpoint(note, verifierKey(verifier));
  const entries: string[] = [];
  for (let at = 0; at < size; at += 256) {
    const count = Math.min(256, size - at);
    const bundle = await log.store.read(tilePath('entries', at / 256, count));
    for (let offset = 0; bundle && offset < bundle.length; ) {
      const length = bundle.readUInt16BE(offset);
      entries.push(bundle.toString('utf8', offset + 2, offset + 2 + length));
      offset += 2 + length;
    }
    const tile = await log.store.read(tilePath(0, at / 256, count));
    expect(tile).toEqual(Buffer.concat(entries.slice(at).map(leafHash)));
  }
  expect(Buffer.from(rootOf(entries.map(leafHash))).toString('base64')).toBe(root);
  return entries;
}

/** Expects every receipt in the log once, its index stored, and none waiting. */
async function expectLogged(entries: readonly Entry[]): Promise<void> {
  const logged = await readLog();
  expect([...logged].sort()).toEqual(entries.map(spellEntry).sort());
  const places = await table.getAll<LoggedItem>(entries.slice(0, 100).map(({ executionId }) => keys.loggedReceipt(executionId, origin)));
  expect(places.map((place) => logged[place?.index ?? -1])).toEqual(entries.slice(0, 100).map(spellEntry));
  expect(await waiting()).toBe(0);
  expect(await table.get<HeadItem>(keys.receiptLog(origin))).not.toHaveProperty('entries');
}

/** Runs a sequencer that fails at one of its operations, before or after it takes effect, as in a crash. */
function sequenceUntil(step: number, when: 'before' | 'after'): Promise<void> {
  let steps = 0;
  const guard =
    <A extends unknown[], R>(run: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      const isHere = steps++ === step;
      if (steps > step + 1 || (isHere && when === 'before')) throw new Error('crash');
      const result = await run(...args);
      if (isHere) throw new Error('crash');
      return result;
    };
  const { store, logKey } = log;
  const guarded = Object.fromEntries(
    (['get', 'getAll', 'query', 'put', 'update', 'delete'] as const).map((name) => [name, guard(table[name] as () => Promise<unknown>)]),
  );
  const failing = { store: { read: guard(store.read), write: guard(store.write) }, logKey: { sign: guard(logKey.sign) } };
  return sequence(failing, guarded as unknown as typeof table);
}

describe.each(['before', 'after'] as const)('a crash %s any step', (when) => {
  test('loses and duplicates nothing', async () => {
    await sequence();
    let all: Entry[] = [];
    let crashes = 0;
    for (let step = 0; ; step++) {
      all = [...all, ...(await addReceipts(3))];
      const crashed = await sequenceUntil(step, when).then(
        () => false,
        () => true,
      );
      // after every second crash, the next run crashes too
      if (step % 2 === 0) await sequenceUntil(step % 7, when).catch(() => {});
      await sequence();
      await expectLogged(all);
      if (!crashed) break;
      crashes++;
    }
    expect(crashes).toBeGreaterThan(25);
  });
});

test('concurrent sequencers lose and duplicate nothing', async () => {
  let all: Entry[] = [];
  for (let round = 0; round < 4; round++) {
    const [entries] = await Promise.all([addReceipts(40), sequence(), sequence(), sequence()]);
    all = [...all, ...entries];
  }
  await Promise.all([sequence(), sequence()]);
  await expectLogged(all);
});

test('failing S3 requests lose and duplicate nothing', async () => {
  let seed = 1;
  const fails = () => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % 4 === 0;
  };
  const flaky =
    <A extends unknown[], R>(run: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      if (fails()) throw new Error('503 SlowDown');
      const result = await run(...args);
      if (fails()) throw new Error('connection lost');
      return result;
    };
  const store = { read: flaky(log.store.read), write: flaky(log.store.write) };
  let all: Entry[] = [];
  let failures = 0;
  for (let round = 0; round < 25; round++) {
    all = [...all, ...(await addReceipts(30))];
    await sequence({ store }).catch(() => failures++);
  }
  expect(failures).toBeGreaterThan(5);
  await sequence();
  await expectLogged(all);
});

test('a late retry of a write does not log a receipt twice', async () => {
  const [entry] = await addReceipts(1);
  await sequence();
  if (entry) await table.put(newReceiptItem(entry));
  await sequence();
  await expectLogged(entry ? [entry] : []);
});

test('a late sequencer does not replace a checkpoint with an earlier one', async () => {
  await sequence();
  const first = await addReceipts(2);
  const { promise: resumed, resolve: resume } = Promise.withResolvers<void>();
  const write = async (path: string, content: Buffer | string) => {
    if (path === 'checkpoint') await resumed;
    await log.store.write(path, content);
  };
  const late = sequence({ store: { ...log.store, write } });
  while ((await table.get<HeadItem>(keys.receiptLog(origin)))?.size !== 2) await new Promise((resolve) => setTimeout(resolve, 5));
  await sequence();
  const second = await addReceipts(2);
  await sequence();
  resume();
  await late;
  await expectLogged([...first, ...second]);
});

test.each([255, 256, 257, 1_000])('a log of %i receipts is complete', async (count) => {
  const entries = await addReceipts(count);
  await sequence();
  await expectLogged(entries);
});
