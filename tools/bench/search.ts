import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { builtInCorpus, type Corpus, readCorpora } from './search-corpus.ts';
import { compareQuality } from './search-quality.ts';
import type { ScaleTask } from './search-worker.ts';
import { runProcess } from './workers.ts';

interface SearchOptions {
  folder?: string;
  /** numbers of intents, separated by commas */
  sizes: string;
  qualityOnly?: true;
}

export async function measureSearch({ folder = builtInCorpus, sizes, qualityOnly }: SearchOptions): Promise<void> {
  const corpora = await readCorpora(folder);
  for (const corpus of corpora) {
    console.log(`${corpus.name}: ${corpus.documents.length} intents, ${corpus.queries.length} judged queries`);
    console.table(compareQuality(corpus));
  }
  const [corpus] = corpora;
  if (qualityOnly || !corpus) return;
  for (const size of sizes.split(',').map(Number)) await measureScale(size, corpus);
}

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
