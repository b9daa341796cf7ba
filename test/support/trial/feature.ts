import { operator } from '../../../functions/core/admin/admin.ts';
import { logged } from '../../../functions/core/registry/publish-policy.ts';
import { changes } from '../admin-case.ts';
import type { TestedFeature } from '../feature.ts';
import { loadPolicyTemplate } from '../policy.ts';
import { trialOf } from './policy-trial.ts';

let count = 0;
const nextPolicy = () => ({ ...loadPolicyTemplate(), uid: `{base_url}/trials/${++count}` });

export const trial: TestedFeature = {
  stores: () => ({ findTrial: trialOf(loadPolicyTemplate()) }),
  cases: {
    'get-policy-trial': { prepare: async () => ({}), isFullAdminsOnly: true },
    'put-policy-trial': { ...changes('policy', 'publish', async () => ({ body: nextPolicy() }), 'trial'), isFullAdminsOnly: true },
    'delete-policy-trial': {
      ...changes(
        'policy',
        'delete',
        async ({ publisher }) => {
          const trial = String(++count).padStart(43, '0');
          await publisher.change(operator, [], () => ({ members: { trial }, logged: logged('trial', 'publish', undefined, trial) }));
          return {};
        },
        'trial',
      ),
      isFullAdminsOnly: true,
    },
  },
  invalid: [['get-policy-trial', { query: { period: 'year' } }]],
};
