import { createReadStream, existsSync } from 'node:fs';
import { rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { batchesOf } from '../../functions/core/runtime/batches.ts';
import { openSearchIndex, type SearchIndex } from '../../functions/core/search/sqlite/search-index.ts';
import { loadSnapshot, type SnapshotStore, saveSnapshot } from '../../functions/core/search/sqlite/snapshots.ts';
import { mix, multiply, pageSize } from './search-corpus/multiply.ts';
import { type Corpus, toRecords } from './search-corpus.ts';
import { openRawFullText } from './search-quality.ts';
import { compareTimes, milliseconds } from './search-times.ts';

export interface ScaleTask {
  step: 'build' | 'measure';
  folder: string;
  size: number;
  corpus: Corpus;
}

const rawFile = 'raw.sqlite';

const mebibytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MiB`;

const storeIn = (folder: string): SnapshotStore => ({
  read: async (name) => (existsSync(join(folder, name)) ? createReadStream(join(folder, name)) : undefined),
  write: (name, content) => writeFile(join(folder, name), content),
  remove: (name) => rm(join(folder, name), { force: true }),
});

async function build({ folder, size, corpus }: ScaleTask): Promise<void> {
  const file = join(folder, 'index.sqlite');
  const index = openSearchIndex(file);
  const startMs = performance.now();
  for (let from = 0; from < size; from += pageSize) index.apply(multiply(corpus.documents, size, from));
  const builtMs = performance.now() - startMs;
  index.compact();
  index.close();
  const { size: bytes } = await stat(file);
  await saveSnapshot(storeIn(folder), file, { seq: 0, digest: null });
  const raw = openRawFullText(join(folder, rawFile));
  for (let from = 0; from < size; from += pageSize) raw.add(mix(corpus.documents, size, from), from);
  raw.close();
  console.log(`\n${size} intents: built in ${(builtMs / 1000).toFixed(1)} s, ${mebibytes(bytes)} on disk`);
}

/** Replaces a thousand intents as a search does that finds these changes in the log. @returns milliseconds per change */
function replaceMany(index: SearchIndex, { size, corpus }: ScaleTask): number {
  const records = multiply(corpus.documents, size, 0);
  const startMs = performance.now();
  for (const batch of batchesOf(records, 100))
    index.apply(batch.map((record) => (record.kind === 'intent' ? { ...record, description: `${record.description} Changed.` } : record)));
  return (performance.now() - startMs) / records.filter(({ kind }) => kind === 'intent').length;
}

async function measure(task: ScaleTask): Promise<void> {
  const { folder, corpus } = task;
  const before = process.memoryUsage().rss;
  const startMs = performance.now();
  const file = join(folder, 'opened.sqlite');
  await loadSnapshot(storeIn(folder), file);
  const index = openSearchIndex(file);
  const openedMs = performance.now() - startMs;

  const records = toRecords(corpus.documents.slice(0, 50));
  const applyMs = performance.now();
  for (const record of records) index.apply([record]);
  const appliedMs = (performance.now() - applyMs) / records.length;
  globalThis.gc?.();
  const { rss } = process.memoryUsage();
  const peak = process.resourceUsage().maxRSS * 1_024;
  console.log(`opened in ${milliseconds(openedMs)}, one record applied in ${milliseconds(appliedMs)}`);
  console.log(`process memory: ${mebibytes(rss)}, of which ${mebibytes(before)} before the index was opened; at most ${mebibytes(peak)}`);
  const raw = openRawFullText(join(folder, rawFile));
  console.table(await compareTimes((query) => index.search(query), raw.search, corpus));
  raw.close();
  const changeMs = replaceMany(index, task);
  const worth = Math.ceil(openedMs / changeMs);
  console.log(`after a bulk: ${milliseconds(changeMs)} per change; opening a newer snapshot takes as long as ${worth} changes`);
  index.close();
}

const steps = { build, measure };

process.once('message', (task: ScaleTask) => steps[task.step](task).finally(() => process.disconnect()));
