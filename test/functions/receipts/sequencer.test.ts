import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { beforeEach, describe, expect, jest, test } from '@jest/globals';
import { type Checkpoint, verifyCheckpoint, verifyConsistency } from '../../../client/receipts.ts';
import { log as lines } from '../../../functions/core/runtime/log.ts';
import { newUlid, timeOfUlid } from '../../../functions/core/runtime/ulid.ts';
import { type Entry, newReceiptItem, spellEntry } from '../../../functions/receipts/entries.ts';
import { verifierKey } from '../../../functions/receipts/note.ts';
import { newReceiptPartitions, receiptKeys } from '../../../functions/receipts/records.ts';
import { type HeadItem, type LoggedItem, leaseMs, openSequencer, type SequencedLog } from '../../../functions/receipts/sequencer.ts';
import { leafHash, readConsistency, rootOf, tilePath } from '../../../functions/receipts/tiles.ts';
import { openMemoryTable } from '../../world/memory-table.ts';

const origin = 'log';
const { privateKey, publicKey } = generateKeyPairSync('ed25519');
const verifier = { origin, publicKey: Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url') };
let table: ReturnType<typeof openMemoryTable>;
let log: SequencedLog;
let objects: Map<string, Buffer>;
let nowMs: number;
const logged = jest.spyOn(lines, 'info');

beforeEach(() => {
  table = openMemoryTable();
  objects = new Map();
  nowMs = Date.now();
  logged.mockClear();
  log = {
    store: { read: async (path) => objects.get(path), write: async (path, content) => void objects.set(path, Buffer.from(content)) },
    verifier: async () => verifier,
    logKey: { sign: async (text) => sign(null, text, privateKey) },
    publicKeys: async () => ({ key: verifierKey(verifier), 'jwks.json': '' }),
  };
});

const sequence = (changed: Partial<SequencedLog> = {}, over: typeof table = table) =>
  openSequencer({ ...log, ...changed }, over, () => nowMs)(() => 60_000);

/** As {@link sequence}, once the lease of a run that has crashed is over. */
const sequenceLater: typeof sequence = (...input) => {
  nowMs += leaseMs + 1;
  return sequence(...input);
};

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
  const places = await table.getAll<LoggedItem>(
    entries.slice(0, 100).map(({ executionId }) => receiptKeys.loggedReceipt(executionId, origin)),
  );
  expect(places.map((place) => logged[place?.index ?? -1])).toEqual(entries.slice(0, 100).map(spellEntry));
  expect(await waiting()).toBe(0);
  expect(await table.get<HeadItem>(receiptKeys.receiptLog(origin))).not.toHaveProperty('page');
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
    (['get', 'getAll', 'query', 'put', 'update', 'delete', 'writeAll'] as const).map((name) => [
      name,
      guard(table[name] as () => Promise<unknown>),
    ]),
  );
  const failing = { store: { read: guard(store.read), write: guard(store.write) }, logKey: { sign: guard(logKey.sign) } };
  return sequenceLater(failing, guarded as unknown as typeof table);
}

describe.each(['before', 'after'] as const)('a crash %s any step', (when) => {
  test('a crash loses and duplicates nothing', async () => {
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
      await sequenceLater();
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
  while ((await table.get<HeadItem>(receiptKeys.receiptLog(origin)))?.size !== 2) await new Promise((resolve) => setTimeout(resolve, 5));
  await sequenceLater();
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

const operations = ['get', 'getAll', 'query', 'put', 'update', 'delete', 'writeAll'] as const;

/** A table and a log whose operations call `before` first. */
function watched(before: (name: string) => Promise<void> | void) {
  const guard =
    (name: string, run: (...args: never[]) => Promise<unknown>) =>
    async (...args: unknown[]) => {
      await before(name);
      return run(...(args as never[]));
    };
  const { store, logKey } = log;
  return {
    parts: {
      store: { read: guard('read', store.read), write: guard('write', store.write) },
      logKey: { sign: guard('sign', logKey.sign) },
    } as Partial<SequencedLog>,
    table: { ...table, ...Object.fromEntries(operations.map((name) => [name, guard(name, table[name])])) } as typeof table,
  };
}

const checkpoint = async (): Promise<Checkpoint> => verifyCheckpoint(String(await log.store.read('checkpoint')), verifierKey(verifier));

/** Expects the log to extend an earlier checkpoint, as a monitor would. */
async function expectExtended(older: Checkpoint): Promise<void> {
  const newer = await checkpoint();
  const proof = older.size > 0 && older.size < newer.size ? await readConsistency(log.store.read, older.size, newer.size) : [];
  await verifyConsistency(
    older,
    newer,
    proof.map((hash) => Buffer.from(hash).toString('base64')),
  );
}

test('a run that another has overtaken at any step changes nothing when it goes on', async () => {
  await sequence();
  let all: Entry[] = [];
  let steps = 0;
  for (let pausedAt = 0; ; pausedAt++) {
    const fresh = await addReceipts(3);
    const before = await checkpoint();
    const { promise: resumed, resolve: resume } = Promise.withResolvers<void>();
    const { promise: paused, resolve: pause } = Promise.withResolvers<boolean>();
    let step = 0;
    const late = watched(async () => {
      if (step++ !== pausedAt) return;
      pause(true);
      await resumed;
    });
    const run = sequenceLater(late.parts, late.table).finally(() => pause(false));
    const isPaused = await paused;
    all = [...all, ...fresh, ...(await addReceipts(2))];
    await sequenceLater();
    resume();
    await run;
    // what the run that went on has put back is found again
    await sequenceLater();
    await expectLogged(all);
    if (before.size > 0) await expectExtended(before);
    if (!isPaused) break;
    steps++;
  }
  expect(steps).toBeGreaterThan(25);
});

test('while a run is at work, others read and write nothing but its lease, and log the oldest receipt', async () => {
  await sequence();
  const [first] = await addReceipts(1);
  const { promise: resumed, resolve: resume } = Promise.withResolvers<void>();
  const { promise: paused, resolve: pause } = Promise.withResolvers<void>();
  const slow = watched(async (name) => {
    if (name !== 'sign') return;
    pause();
    await resumed;
  });
  const run = sequence(slow.parts, slow.table);
  await paused;
  logged.mockClear();
  const names: string[] = [];
  const other = watched((name) => void names.push(name));
  nowMs = timeOfUlid(first?.executionId ?? '') + 7_000;
  await sequence(other.parts, other.table);
  expect([...new Set(names)]).toEqual(['update', 'query']);
  expect(names.filter((name) => name === 'update')).toHaveLength(1);
  expect(logged.mock.calls).toEqual([['sequenced receipts', { receipts: 0, oldest_seconds: 7 }]]);
  resume();
  await run;
  expect(logged.mock.calls.at(-1)).toEqual(['sequenced receipts', { receipts: 1, oldest_seconds: 0 }]);
  await expectLogged(first ? [first] : []);
});

test.each<[title: string, remaining: readonly number[], appended: number]>([
  ['stops before its first page', [29_999], 0],
  ['stops after a page that it has claimed', [60_000, 29_999], 0],
  ['stops after a page whose tiles are written', [60_000, 60_000, 29_999], 0],
  ['stops after its first page', [60_000, 60_000, 60_000, 29_999], 5_632],
  ['ends if no receipt waits', [60_000], 6_000],
])('a run that runs out of time %s, and the next one goes on', async (_, remaining, appended) => {
  await sequence();
  const entries = await addReceipts(6_000);
  const oldest = Math.min(...entries.map(({ executionId }) => timeOfUlid(executionId)));
  nowMs = oldest + 90_000;
  logged.mockClear();
  let turn = 0;
  await openSequencer(log, table, () => nowMs)(() => remaining[Math.min(turn++, remaining.length - 1)] ?? 0);
  const age = appended === 6_000 ? 0 : expect.closeTo(90, 0);
  expect(logged.mock.calls).toEqual([['sequenced receipts', { receipts: appended, oldest_seconds: age }]]);
  await sequence();
  await expectLogged(entries);
});

test('a run that fails logs how far it came', async () => {
  await sequence();
  const [first] = await addReceipts(1);
  nowMs = timeOfUlid(first?.executionId ?? '') + 61_000;
  const failing: SequencedLog['logKey'] = {
    sign: async () => {
      throw new Error('KMS is away');
    },
  };
  logged.mockClear();
  await expect(sequence({ logKey: failing })).rejects.toThrow('KMS is away');
  expect(logged.mock.calls).toEqual([['sequenced receipts', { receipts: 0, oldest_seconds: 61 }]]);
  // a failure, as opposed to a crash, gives the lease back
  await sequence();
  await expectLogged(first ? [first] : []);
});

test('the keys are published once, and again after they have changed', async () => {
  const written: string[] = [];
  const write = async (path: string, content: Buffer | string) => {
    written.push(path);
    await log.store.write(path, content);
  };
  const run = async (jwks: string) => {
    await addReceipts(1);
    written.length = 0;
    const publicKeys = async () => ({ key: verifierKey(verifier), 'jwks.json': jwks });
    await sequence({ store: { ...log.store, write }, publicKeys });
    return written.filter((path) => !path.startsWith('tile/'));
  };
  expect(await run('1')).toEqual(['key', 'jwks.json', 'checkpoint', 'checkpoint']);
  expect(await run('1')).toEqual(['checkpoint']);
  expect(await run('2')).toEqual(['key', 'jwks.json', 'checkpoint']);
  expect(await run('2')).toEqual(['checkpoint']);
});

test('a receipt in a partition of an earlier release is appended once, and no longer waits', async () => {
  const entry = { executionId: newUlid(), digest: 'd'.repeat(43) };
  const [, other = ''] = newReceiptPartitions().filter((pk) => pk !== receiptKeys.newReceipt(entry.executionId).pk);
  await table.put({ ...newReceiptItem(entry), pk: other });
  await sequence();
  await sequence();
  await expectLogged([entry]);
});

/** A log of so many entries, of which only the right edge exists: the incomplete tiles of each level. */
async function prepareLog(size: number): Promise<Uint8Array[][]> {
  const levels: Uint8Array[][] = [];
  for (let level = 0; Math.floor(size / 256 ** level) > 0; level++) {
    const count = Math.floor(size / 256 ** level);
    const hashes = Array.from({ length: count % 256 }, () => randomBytes(32));
    levels.push(hashes);
    if (hashes.length > 0) objects.set(tilePath(level, Math.floor(count / 256), hashes.length), Buffer.concat(hashes));
  }
  if (size % 256 > 0) objects.set(tilePath('entries', Math.floor(size / 256), size % 256), Buffer.from('earlier entries'));
  await table.put({ ...receiptKeys.receiptLog(origin), size, checkpoint: 'earlier', run_number: 1 });
  return levels;
}

/** The root over subtrees of sizes that are powers of 256, largest first, and leaves: RFC 6962, section 2.1, in the plainest way. */
function plainRoot(subtrees: readonly [size: number, hash: Uint8Array][]): Uint8Array {
  const [only] = subtrees;
  if (subtrees.length === 1 && only) return only[1];
  const total = subtrees.reduce((sum, [size]) => sum + size, 0);
  const half = 2 ** Math.ceil(Math.log2(total) - 1);
  let at = 0;
  for (let sum = 0; sum < half; at++) sum += subtrees[at]?.[0] ?? 0;
  return rootOf([plainRoot(subtrees.slice(0, at)), plainRoot(subtrees.slice(at))]);
}

test.each([
  ['4,000,100', 4_000_100, 300],
  ['4,194,303', 4_194_303, 1],
  ['4,194,304', 4_194_304, 6_000],
  ['256³ - 1', 256 ** 3 - 1, 2],
])('a log of %s entries is extended from its right edge, without reading anything else', async (_, size, count) => {
  const levels = await prepareLog(size);
  const before = new Set(objects.keys());
  const entries = await addReceipts(count);
  const readPaths: string[] = [];
  const read = async (path: string) => {
    if (path !== 'checkpoint') readPaths.push(path);
    return log.store.read(path);
  };
  await sequence({ store: { ...log.store, read } });
  const leaves = entries.map(spellEntry).sort();
  // both pages of a run are sorted by themselves
  const inPages = count > 5_632 ? await entriesAfter(size) : leaves;
  expect([...inPages].sort()).toEqual(leaves);
  const edge = levels.flatMap((hashes, level) => hashes.map((hash) => [256 ** level, hash] as [number, Uint8Array])).reverse();
  const subtrees = levels.flatMap((_hashes, at) => edge.filter(([width]) => width === 256 ** (levels.length - 1 - at)).reverse());
  const root = plainRoot([...subtrees, ...inPages.map((entry) => [1, leafHash(entry)] as [number, Uint8Array])]);
  expect(await checkpoint()).toMatchObject({ size: size + count, root: Buffer.from(root).toString('base64') });
  expect(readPaths.filter((path) => !before.has(path))).toEqual([]);
  expect(new Set(readPaths).size).toBe(readPaths.length);
  expect(await waiting()).toBe(0);
});

/** The entries that were appended to a log of `size` entries, which is a multiple of 256. */
async function entriesAfter(size: number): Promise<string[]> {
  const found: string[] = [];
  const end = (await checkpoint()).size;
  for (let at = size; at < end; at += 256) {
    const bundle = await log.store.read(tilePath('entries', at / 256, Math.min(256, end - at)));
    for (let offset = 0; bundle && offset < bundle.length; offset += 72) found.push(bundle.toString('utf8', offset + 2, offset + 72));
  }
  return found;
}

describe('a head that is older than the published checkpoint', () => {
  const warned = jest.spyOn(lines, 'warn');

  test.each<[string, number, number]>([
    ['is missing, of a log with one receipt', 1, 0],
    ['is missing, of a log with a full tile', 257, 0],
    ['was restored from when the log was smaller', 300, 4],
  ])('a head that %s is replaced by the published checkpoint, so that the log never contradicts itself', async (_, count, earlier) => {
    const first = await addReceipts(earlier);
    if (earlier > 0) await sequence();
    const head = await table.get(receiptKeys.receiptLog(origin));
    const entries = [...first, ...(await addReceipts(count))];
    await sequence();
    const before = await checkpoint();
    table = openMemoryTable();
    if (earlier > 0 && head) await table.put({ ...receiptKeys.receiptLog(origin), ...head });
    const fresh = await addReceipts(2);
    await sequenceLater();
    await expectExtended(before);
    expect(await readLog()).toHaveLength(entries.length + fresh.length);
    expect(warned).toHaveBeenCalledWith(expect.stringContaining('continues from its published checkpoint'), {
      size: entries.length,
      head: earlier,
    });
  });

  test('a head is not replaced by a checkpoint that the key of the log did not sign', async () => {
    await addReceipts(1);
    await sequence();
    const [text = ''] = String(objects.get('checkpoint')).split('\n\n');
    objects.set('checkpoint', Buffer.from(`${text.replace('\n1\n', '\n9\n')}\n\n— ${origin} ${randomBytes(68).toString('base64')}\n`));
    table = openMemoryTable();
    await addReceipts(1);
    await expect(sequenceLater()).rejects.toThrow('the checkpoint in the bucket is not signed by the key of the log');
  });
});

test.each<[string, (set: Partial<HeadItem>) => boolean]>([
  ['claims the page', ({ page }) => page !== undefined],
  ['advances the head', ({ size, page }) => size !== undefined && page === undefined],
  ['gives up the page', (set) => set.size === undefined && set.page === undefined && set.keys !== undefined],
])('a late copy of a repeated write that %s changes nothing', async (_, isMeant) => {
  await sequence();
  const entries = await addReceipts(3);
  let late: Parameters<typeof table.update> | undefined;
  const watching = {
    ...table,
    update: (async (...write: Parameters<typeof table.update>) => {
      if (isMeant((write[1].set ?? {}) as Partial<HeadItem>) && write[1].when) late = write;
      return table.update(...write);
    }) as typeof table.update,
  };
  await sequence({}, watching);
  if (!late) throw new Error('there was no such write');
  await table.update(...late);
  entries.push(...(await addReceipts(2)));
  await sequenceLater();
  await expectLogged(entries);
});

test.each([
  ['an older one of the log', () => undefined],
  ['one that the key of the log did not sign', () => Buffer.from('forged\n9\n')],
  ['nothing but an empty object', () => Buffer.from('')],
])('a published checkpoint that was replaced by %s is published again', async (_, replace) => {
  await addReceipts(1);
  await sequence();
  const older = objects.get('checkpoint');
  const entries = await addReceipts(1);
  await sequence();
  const newest = String(objects.get('checkpoint'));
  objects.set('checkpoint', replace() ?? older ?? Buffer.from(''));
  await sequenceLater();
  expect(String(objects.get('checkpoint'))).toBe(newest);
  expect(entries).toHaveLength(1);
});

test.each([
  ['before their tiles', 0],
  ['after the head has advanced', 2],
])('entries that an earlier release left in the head %s are appended once', async (_, advanced) => {
  await sequence();
  const entries = await addReceipts(2);
  const texts = entries.map(spellEntry).sort();
  if (advanced > 0) {
    await sequence();
    for (const entry of entries) await table.put(newReceiptItem(entry));
  }
  await table.update(receiptKeys.receiptLog(origin), { set: { entries: texts, from: 0 } });
  entries.push(...(await addReceipts(1)));
  await sequenceLater();
  await expectLogged(entries);
  expect(await table.get(receiptKeys.receiptLog(origin))).not.toHaveProperty('entries');
});
