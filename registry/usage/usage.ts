import { errorTable } from '../../schemas/errors.ts';
import { latencyLimits, type ServiceStats, type StatsNumbers } from '../../schemas/usage/stats.ts';

/** Usage columns after the name. */
export const usageHeads = ['Calls', 'Served', 'Refused', 'Failed', 'Mean latency'] as const;

const sum = (counts: readonly number[]): number => counts.reduce((total, count) => total + count, 0);

/** Unsuccessful calls by error code: those that failed, because of the service or the gate, or those that the gate refused. */
export const codesOf = ({ refusals }: Pick<StatsNumbers, 'refusals'>, areFailures: boolean): [code: string, count: number][] =>
  Object.entries(refusals).filter(
    ([code]) => code in errorTable && errorTable[code as keyof typeof errorTable].status >= 500 === areFailures,
  );

const countCodes = (numbers: StatsNumbers, areFailures: boolean) => sum(codesOf(numbers, areFailures).map(([, count]) => count));

/** Each call is served, refused or failed. */
export const refusedOf = (numbers: StatsNumbers): number => countCodes(numbers, false);

export const failedOf = (numbers: StatsNumbers): number => countCodes(numbers, true);

export const servedOf = (numbers: StatsNumbers): number => numbers.executions - refusedOf(numbers) - failedOf(numbers);

/** Mean latency of the service, in milliseconds; undefined if it never answered. */
export function meanOf(numbers: StatsNumbers): number | undefined {
  const answered = sum(numbers.latency);
  return answered > 0 ? Math.round(numbers.upstream_ms / answered) : undefined;
}

/** The sums of several numbers. */
export function addUp(all: readonly StatsNumbers[]): StatsNumbers {
  const sumOf = (numberOf: (one: StatsNumbers) => number) => sum(all.map(numberOf));
  const refusals: Record<string, number> = {};
  for (const [code, count] of all.flatMap((one) => Object.entries(one.refusals))) refusals[code] = (refusals[code] ?? 0) + count;
  return {
    executions: sumOf(({ executions }) => executions),
    refusals,
    upstream_calls: sumOf(({ upstream_calls }) => upstream_calls),
    upstream_failures: sumOf(({ upstream_failures }) => upstream_failures),
    drift: sumOf(({ drift }) => drift),
    upstream_ms: sumOf(({ upstream_ms }) => upstream_ms),
    latency: [...latencyLimits, Number.POSITIVE_INFINITY].map((_, at) => sumOf(({ latency }) => latency[at] ?? 0)),
  };
}

export function usageCells(numbers: StatsNumbers): string[] {
  const { executions } = numbers;
  const refused = refusedOf(numbers);
  const share = refused > 0 ? ` (${Math.round((100 * refused) / executions)} %)` : '';
  const mean = meanOf(numbers);
  const [served, failed] = [servedOf(numbers), failedOf(numbers)];
  return [String(executions), String(served), `${refused}${share}`, String(failed), mean === undefined ? '-' : `${mean} ms`];
}

export const usedService = ({ service_id, service_name }: Pick<ServiceStats, 'service_id' | 'service_name'>): string =>
  service_name ?? (service_id === undefined ? 'Refused early' : 'A deleted service');
