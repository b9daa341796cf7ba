import { openExecutionStats } from '../../../functions/usage/stats.ts';
import type { TestedFeature } from '../feature.ts';

export const usage: TestedFeature = {
  stores: (table) => ({ stats: openExecutionStats(table) }),
  cases: { 'get-stats': { prepare: async () => ({}), isForAll: true } },
  invalid: [['get-stats', { query: { period: 'year' } }]],
};
