import { expect, test } from '@jest/globals';
import type { PolicyTemplate } from '../../../functions/core/policy/template.ts';
import { loadPolicyTemplate } from '../../support/policy.ts';
import { seededRandom } from '../../support/random.ts';
import { randomCalls, randomPolicy, runCalls, tryPolicies } from '../../support/trial/policy-trial.ts';

test('the gate refuses under a policy exactly what its trial predicted', async () => {
  const random = seededRandom(1);
  const total = { refused: 0, permitted: 0, limited: 0, unknown: 0 };
  for (let run = 0; run < 4; run++) {
    const found = await tryPolicies(randomCalls(300, random), randomPolicy(random), randomPolicy(random));
    for (const name of Object.keys(total) as (keyof typeof total)[]) total[name] += found[name];
  }
  for (const count of Object.values(total)) expect(count).toBeGreaterThan(10);
}, 60_000);

test('a trial that fails has no effect on executions', async () => {
  const random = seededRandom(2);
  const [calls, policy] = [randomCalls(100, random), randomPolicy(random)];
  const alone = await runCalls(calls, policy);
  const broken = { ...loadPolicyTemplate(), permission: [{ target: 'nowhere', action: 'fly' }] } as PolicyTemplate;
  const beside = await runCalls(calls, policy, broken);
  expect(beside.refusedBy).toEqual(alone.refusedBy);
  expect(beside.lines.filter(({ trial }) => trial)).toEqual([]);
  const tried = await runCalls(calls, policy, policy);
  expect(tried.refusedBy).toEqual(alone.refusedBy);
  expect(tried.lines.filter(({ trial }) => trial).length).toBeGreaterThan(90);
});
