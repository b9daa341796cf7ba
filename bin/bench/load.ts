import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

/** Requests that are all alike. */
export interface Load {
  url: string;
  headers: Record<string, string>;
  /** sent by POST */
  body: string;
  requests: number;
  /** how many run at once: each begins when another has ended */
  concurrency: number;
}

export interface LoadResult {
  /** how long each request took, in milliseconds */
  latenciesMs: Float64Array;
  elapsedMs: number;
}

/**
 * Sends requests from a thread of its own, so that what is measured does not share an event loop with what measures.
 * @throws Error where an answer is not 200
 */
export async function drive(load: Load): Promise<LoadResult> {
  const worker = new Worker(new URL('./load-worker.ts', import.meta.url), { workerData: load });
  const [result] = (await once(worker, 'message')) as [LoadResult];
  await worker.terminate();
  return result;
}

export interface Summary {
  median: number;
  p99: number;
}

/** Median and 99th percentile (nearest rank) of at least one value. */
export function summarize(values: Float64Array): Summary {
  const sorted = values.toSorted();
  const rank = (share: number) => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
  return { median: rank(0.5), p99: rank(0.99) };
}

/** Text columns: the first flush left, the others flush right. */
export function formatTable(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const cell = (text: string, column: number) => (column === 0 ? text.padEnd(widths[column] ?? 0) : text.padStart(widths[column] ?? 0));
  return rows.map((row) => row.map(cell).join('   ').trimEnd()).join('\n');
}
