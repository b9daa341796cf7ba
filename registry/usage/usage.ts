import type { ServiceStats, StatsNumbers } from '../../schemas/usage/stats.ts';

/** Usage columns after the name. */
export const usageHeads = ['Calls', 'Refused', 'Upstream failures', 'Mean latency'] as const;

const sum = (counts: readonly number[]): number => counts.reduce((total, count) => total + count, 0);

export const refusedOf = ({ refusals }: StatsNumbers): number => sum(Object.values(refusals));

export const answeredOf = ({ latency }: StatsNumbers): number => sum(latency);

/** Mean latency of the service, in milliseconds; undefined if it never answered. */
export function meanOf(numbers: StatsNumbers): number | undefined {
  const answered = answeredOf(numbers);
  return answered > 0 ? Math.round(numbers.upstream_ms / answered) : undefined;
}

export function usageCells(numbers: StatsNumbers): string[] {
  const { executions, upstream_failures } = numbers;
  const refused = refusedOf(numbers);
  const share = refused > 0 ? ` (${Math.round((100 * refused) / executions)} %)` : '';
  const mean = meanOf(numbers);
  return [String(executions), `${refused}${share}`, String(upstream_failures), mean === undefined ? '-' : `${mean} ms`];
}

export const usedService = ({ service_id, service_name }: Pick<ServiceStats, 'service_id' | 'service_name'>): string =>
  service_name ?? (service_id === undefined ? 'Refused early' : 'A deleted service');
