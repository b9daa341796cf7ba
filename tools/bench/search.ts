import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { benchmark } from './benchmark.ts';
import { builtInCorpus, type Corpus, readCorpora } from './search-corpus.ts';
import { compareQuality } from './search-quality.ts';
import type { ScaleTask } from './search-worker.ts';
import { runProcess } from './workers.ts';

const usage = `npm run bench -- search [options]
  --folder <path>   judge with each docs.jsonl and queries.jsonl of this folder, and with its OpenAPI documents and questions.txt,
                    instead of the built-in corpus
  --sizes <list>    numbers of intents to measure time and memory at, separated by commas (1000,10000,100000)
  --quality-only    leave time and memory out`;

/** `npm run bench -- search`: measures the quality of search, then its speed and memory. */
export const run = benchmark(usage, { folder: builtInCorpus, sizes: '1000,10000,100000', 'quality-only': false }, async (options) => {
  const corpora = await readCorpora(options.folder);
  for (const corpus of corpora) {
    console.log(`${corpus.name}: ${corpus.documents.length} intents, ${corpus.queries.length} judged queries`);
    console.table(compareQuality(corpus));
  }
  const [corpus] = corpora;
  if (options['quality-only'] || !corpus) return;
  for (const size of options.sizes.split(',').map(Number)) await measureScale(size, corpus);
});

/** Builds a snapshot in one process, and measures opening time, search time and memory in another. */
async function measureScale(size: number, corpus: Corpus): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-search-'));
  try {
    for (const step of ['build', 'measure'] as const)
      await runProcess('./search-worker.ts', { step, folder, size, corpus } satisfies ScaleTask);
  } finally {
    await rm(folder, { recursive: true });
  }
}
