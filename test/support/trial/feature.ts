import { loadPolicyTemplate } from '../../../functions/core/policy/policy.ts';
import { openTrials } from '../../../functions/trial/trial-verdict.ts';
import type { TestedFeature } from '../feature.ts';

export const trial: TestedFeature = {
  stores: () => ({ findTrial: openTrials(loadPolicyTemplate()) }),
  cases: { 'get-policy-trial': { prepare: async () => ({}), isFullAdminsOnly: true } },
  invalid: [['get-policy-trial', { query: { period: 'year' } }]],
};
