import type { ServiceStats, StatsNumbers } from '../schemas/stats.ts';

/** Usage columns after the name, for the command line and the console. */
export const usageHeads = ['Calls', 'Refused', 'Upstream failures', 'Mean latency'] as const;

const sum = (counts: readonly number[]): number => counts.reduce((total, count) => total + count, 0);

export function usageCells({ executions, refusals, upstream_failures, upstream_ms, latency }: StatsNumbers): string[] {
  const refused = sum(Object.values(refusals));
  const answered = sum(latency);
  const share = refused > 0 ? ` (${Math.round((100 * refused) / executions)} %)` : '';
  return [
    String(executions),
    `${refused}${share}`,
    String(upstream_failures),
    answered > 0 ? `${Math.round(upstream_ms / answered)} ms` : '-',
  ];
}

export const usedService = ({ service_id, service_name }: Pick<ServiceStats, 'service_id' | 'service_name'>): string =>
  service_name ?? (service_id === undefined ? 'Refused before an intent was looked up' : 'A deleted service');
