import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { boundOf } from '../../../functions/core/execution/slow-calls.ts';
import type { Hanging, simulateHanging } from '../../../tools/bench/hanging.ts';

/** In a separate process, whose timers can be simulated. */
async function simulate(given: Hanging): ReturnType<typeof simulateHanging> {
  const code = `import { simulateHanging } from './tools/bench/hanging.ts'; console.log(JSON.stringify(await simulateHanging(${JSON.stringify(given)})));`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', code]);
  return JSON.parse(stdout);
}

const execute = { environments: 300, healthy: 50, minutes: 3 };

test.each<[number, Omit<Hanging, 'hanging'>]>([
  [20, execute],
  [60, execute],
  // it answers, but slowly
  [100, { ...execute, hangMs: 10_000 }],
  [10, { environments: 100, healthy: 10, minutes: 3 }],
])('%s calls a second to an upstream that hangs refuse at most 1 % of the others after the first minute', async (hanging, given) => {
  const [, ...later] = await simulate({ ...given, hanging, bound: boundOf(given.environments) });
  expect(later.filter((refused) => refused > 0.01)).toEqual([]);
});

test('without a bound, calls to an upstream that hangs refuse more than a third of the others', async () => {
  const [, second] = await simulate({ ...execute, minutes: 2, hanging: 60 });
  expect(second).toBeGreaterThan(0.33);
});
