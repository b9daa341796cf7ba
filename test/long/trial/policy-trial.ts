/**
 * The promise about trying a policy, at length: what it predicts of recorded calls is exactly what the gate refuses when it runs under that policy.
 * `node bin/run.js test/long/trial/policy-trial.ts [--calls 100000] [--runs 20] [--seed 1]`
 */
import '../../environment.js';
import { seededRandom } from '../../support/random.ts';
import { randomCalls, randomPolicy, tryPolicies } from '../../support/trial/policy-trial.ts';
import { readNumbers } from '../options.ts';

const { calls, runs, seed } = readNumbers({ calls: 100_000, runs: 20, seed: 1 });
const random = seededRandom(seed);
const total = { refused: 0, permitted: 0, limited: 0, unknown: 0 };
const startedMs = performance.now();
for (let run = 0; run < runs; run++) {
  const found = await tryPolicies(randomCalls(Math.ceil(calls / runs), random), randomPolicy(random), randomPolicy(random));
  for (const name of Object.keys(total) as (keyof typeof total)[]) total[name] += found[name];
}
console.log(JSON.stringify({ calls, runs, seed, ...total, seconds: Math.round((performance.now() - startedMs) / 1_000) }));
