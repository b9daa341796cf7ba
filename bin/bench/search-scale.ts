import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Corpus } from './search-corpus.ts';

/** What one process does, so that the memory it uses is its own. */
export interface ScaleTask {
  step: 'build' | 'measure';
  folder: string;
  size: number;
  corpus: Corpus;
}

/** Builds a snapshot of the given number of intents in one process, measures opening, time and memory in another, and prints them. */
export async function measureScale(size: number, corpus: Corpus): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-search-'));
  try {
    for (const step of ['build', 'measure'] as const) {
      const worker = fork(new URL('./search-worker.ts', import.meta.url), { execArgv: ['--expose-gc'] });
      worker.send({ step, folder, size, corpus } satisfies ScaleTask);
      const [code] = await once(worker, 'exit');
      if (code !== 0) throw new Error(`measuring ${size} intents failed`);
    }
  } finally {
    await rm(folder, { recursive: true });
  }
}
