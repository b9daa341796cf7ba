import { errorTable } from '../../schemas/errors.ts';
import type { ServiceStats, StatsNumbers } from '../../schemas/usage/stats.ts';

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

export const answeredOf = ({ latency }: StatsNumbers): number => sum(latency);

/** Mean latency of the service, in milliseconds; undefined if it never answered. */
export function meanOf(numbers: StatsNumbers): number | undefined {
  const answered = answeredOf(numbers);
  return answered > 0 ? Math.round(numbers.upstream_ms / answered) : undefined;
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
