import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

export interface Load {
  url: string;
  headers?: Record<string, string>;
  /** default: GET without a body */
  body?: string;
  requests: number;
  concurrency: number;
}

/**
 * Sends requests from a separate thread, so that the load generator does not share an event loop with the measured code.
 * @returns the latency of each request, and the total time
 * @throws Error if a response is not 200
 */
export async function drive(load: Load) {
  const worker = new Worker(new URL('./load-worker.ts', import.meta.url), { workerData: load });
  const [result] = (await once(worker, 'message')) as [{ latenciesMs: Float64Array; elapsedMs: number }];
  await worker.terminate();
  return result;
}

export interface Summary {
  median: number;
  p99: number;
}

/** Nearest-rank percentile. */
export function percentile(values: Iterable<number>, share: number): number {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

export const summarize = (values: Iterable<number>): Summary => ({ median: percentile(values, 0.5), p99: percentile(values, 0.99) });

export interface Measured {
  latencyMs: Summary;
  perSecond: number;
}

/** Number of rounds in which variants take turns, so that other load on the machine affects all of them alike. */
export const turns = 5;

/** Requests before the measurement. */
export const warmUpOf = (requests: number): number => Math.min(300, requests);

type Variant = Omit<Load, 'requests' | 'concurrency'>;

export async function measureVariants<T extends string>(
  variants: Record<T, Variant>,
  executions: number,
  concurrency: number,
): Promise<Record<T, Measured>> {
  const requests = Math.ceil(executions / turns);
  const samples = Object.entries<Variant>(variants).map(([name, variant]) => ({
    name,
    variant,
    latenciesMs: [] as number[],
    elapsedMs: 0,
  }));
  for (const { variant } of samples) await drive({ ...variant, requests: warmUpOf(executions), concurrency });
  for (let turn = 0; turn < turns; turn++) {
    for (const sample of samples) {
      sample.latenciesMs.push(...(await drive({ ...sample.variant, requests, concurrency: 1 })).latenciesMs);
      sample.elapsedMs += (await drive({ ...sample.variant, requests, concurrency })).elapsedMs;
    }
  }
  return Object.fromEntries(
    samples.map(({ name, latenciesMs, elapsedMs }) => {
      return [name, { latencyMs: summarize(latenciesMs), perSecond: (requests * turns * 1_000) / elapsedMs }];
    }),
  ) as Record<T, Measured>;
}

/** Aligns columns: the first to the left, the others to the right. */
export function formatTable(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const cell = (text: string, column: number) => (column === 0 ? text.padEnd(widths[column] ?? 0) : text.padStart(widths[column] ?? 0));
  return rows.map((row) => row.map(cell).join('   ').trimEnd()).join('\n');
}

export const inMs = (value: number): string => value.toFixed(2);
export const inMb = (bytes: number): string => `${Math.round(bytes / 1024 / 1024)} MB`;
