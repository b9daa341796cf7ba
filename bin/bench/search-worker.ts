import { createReadStream, existsSync } from 'node:fs';
import { rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openSearchIndex, type SearchIndex } from '../../functions/core/search/sqlite/search-index.ts';
import { loadSnapshot, type SnapshotStore, saveSnapshot } from '../../functions/core/search/sqlite/snapshots.ts';
import { type SearchQuery, searchQuery } from '../../schemas/search.ts';
import { percentile } from './load.ts';
import { type Corpus, type Document, toRecords } from './search-corpus.ts';

/** Either builds a snapshot of so many intents and keeps it, or measures opening, time and memory. */
export interface ScaleTask {
  step: 'build' | 'measure';
  folder: string;
  size: number;
  corpus: Corpus;
}

const mebibytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MiB`;
const milliseconds = (time: number): string => `${time.toFixed(2)} ms`;

/** Snapshots without a storage service: only the index is measured. */
const storeIn = (folder: string): SnapshotStore => ({
  read: async (name) => (existsSync(join(folder, name)) ? createReadStream(join(folder, name)) : undefined),
  write: (name, content) => writeFile(join(folder, name), content),
  remove: (name) => rm(join(folder, name), { force: true }),
});

/** The same numbers in each run (a linear congruential generator). */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 31;
  };
}

/** Operations of the corpus mixed with one another: each takes its words from three, so that words are as frequent as in the corpus. */
function* multiply(documents: readonly Document[], size: number): Generator<Document[]> {
  const next = numbers(size);
  const pick = () => documents[Math.floor(next() * documents.length)] as Document;
  for (let start = 0; start < size; start += 1_000) {
    yield Array.from({ length: Math.min(1_000, size - start) }, (_, at) => {
      const [one, two, three] = [pick(), pick(), pick()];
      return {
        ...one,
        id: String(start + at),
        service_name: `${one.service_name} ${Math.floor((start + at) / 50)}`,
        description: `${one.description}. ${two.description}. ${three.description}.`,
        tags: [...new Set([...one.tags, ...two.tags])],
      };
    });
  }
}

function timeEach(index: SearchIndex, queries: SearchQuery[]): Record<'median' | 'p95', string> {
  for (const query of queries.slice(0, 20)) index.search(query);
  const times = queries.map((query) => {
    const startMs = performance.now();
    index.search(query);
    return performance.now() - startMs;
  });
  return { median: milliseconds(percentile(times, 0.5)), p95: milliseconds(percentile(times, 0.95)) };
}

/** Builds an index and keeps it as a snapshot. */
async function build({ folder, size, corpus }: ScaleTask): Promise<void> {
  const file = join(folder, 'index.sqlite');
  const index = openSearchIndex(file);
  const startMs = performance.now();
  let from = 0;
  for (const documents of multiply(corpus.documents, size)) {
    index.apply(toRecords(documents, from));
    from += documents.length;
  }
  const builtMs = performance.now() - startMs;
  index.compact();
  index.close();
  const { size: bytes } = await stat(file);
  await saveSnapshot(storeIn(folder), file, Date.now());
  console.log(`\n${size} intents: built in ${(builtMs / 1000).toFixed(1)} s, ${mebibytes(bytes)} on disk`);
}

/** Opens the snapshot as a search instance would, asks, applies records, and looks at its memory. */
async function measure({ folder, corpus }: ScaleTask): Promise<void> {
  const before = process.memoryUsage().rss;
  const startMs = performance.now();
  const file = join(folder, 'opened.sqlite');
  await loadSnapshot(storeIn(folder), file);
  const index = openSearchIndex(file);
  const openedMs = performance.now() - startMs;
  const { total } = index.search(searchQuery.parse({}));

  const next = numbers(7);
  const questions = corpus.queries.map(({ query }) => query);
  const words = questions.flatMap((question) => question.split(' '));
  const ofTwentyWords = () => Array.from({ length: 20 }, () => words[Math.floor(next() * words.length)]).join(' ');
  const ask = (toQuery: (question: string) => Record<string, string>) =>
    timeEach(
      index,
      questions.map((question) => searchQuery.parse(toQuery(question))),
    );
  const times = {
    'a question': ask((query) => ({ query })),
    'a question of 20 words': ask(() => ({ query: ofTwentyWords() })),
    'a question, a tag and a name': ask((query) => ({ query, tags: 'travel', intent_name: 'get' })),
    'the words of a description': ask(() => ({ description: 'a book' })),
    'all, the last page': ask(() => ({ page: String(Math.ceil(total / 10)) })),
  };

  const records = toRecords(corpus.documents.slice(0, 50));
  const applyMs = performance.now();
  for (const record of records) index.apply([record]);
  const appliedMs = (performance.now() - applyMs) / records.length;
  globalThis.gc?.();
  const { rss } = process.memoryUsage();
  console.log(`opened in ${milliseconds(openedMs)}, one record applied in ${milliseconds(appliedMs)}`);
  console.log(`memory of the process: ${mebibytes(rss)}, of these ${mebibytes(before)} before it opened the index`);
  console.table(times);
  index.close();
}

const steps = { build, measure };

process.once('message', (task: ScaleTask) => steps[task.step](task).finally(() => process.disconnect()));
