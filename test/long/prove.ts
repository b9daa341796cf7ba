/**
 * Tries to break what the gate promises, and says how often it tried.
 * `npm run prove -- [--long] [--seed 1] [--only TEXT]`, or `--only NAME --replay FILE` for the schedule that a violation was printed with
 */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { parseArgs, promisify } from 'node:util';
import { replay } from '../world/explore.ts';
import { openCopy } from '../world/plant.ts';
import { plantedBugs } from '../world/planted.ts';
import { run } from '../world/run.ts';
import { scenarios } from '../world/scenarios.ts';
import { trials } from '../world/trials.ts';

const { values } = parseArgs({
  options: {
    long: { type: 'boolean' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string', default: '' },
    replay: { type: 'string' },
  },
});
const { long: isLong = false, only } = values;
const seed = Number(values.seed);

interface Row {
  promise: string;
  tried: string;
  n: number;
  violations: number;
}

const rows: Row[] = [];
const failures: string[] = [];

function report(row: Row, violation?: { message: string; script: string }): void {
  rows.push(row);
  console.log(`${row.violations === 0 ? 'holds ' : 'BROKEN'}  ${row.n.toLocaleString('en')} ${row.tried}: ${row.promise}`);
  if (violation) failures.push(`${row.tried}\n${violation.message}\n${violation.script}`);
}

/** Runs one of the long harnesses in a process of its own; it ends with 1 if a promise was broken. */
async function runHarness(promise: string, tried: string, n: number, args: string[]): Promise<void> {
  if (!tried.includes(only)) return;
  const failed = await promisify(execFile)(process.execPath, ['bin/run.js', ...args], { maxBuffer: 1e8 }).then(
    () => undefined,
    (error: { stdout?: string; stderr?: string }) => `${error.stdout ?? ''}${error.stderr ?? ''}`.slice(-4_000),
  );
  report(
    { promise, tried, n, violations: failed === undefined ? 0 : 1 },
    failed === undefined ? undefined : { message: failed, script: `node ${args.join(' ')}` },
  );
}

if (values.replay !== undefined) {
  const scenario = scenarios.find(({ name }) => name.includes(only));
  const message = scenario && (await replay(scenario, readFileSync(values.replay, 'utf8').trim()));
  console.log(scenario === undefined ? `No scenario is called ${only}.` : (message ?? 'The promise held.'));
  process.exit(message === undefined && scenario ? 0 : 1);
}

for (const { name, promise } of [...scenarios, ...trials]) {
  if (!name.includes(only)) continue;
  const isTrial = trials.some((trial) => trial.name === name);
  const { count, isComplete, violation } = await run(name, { seconds: isLong ? (isTrial ? 30 : 120) : 2, seed });
  const what = isTrial ? `random ${name}` : `schedules${isComplete ? ' (all)' : ''} of "${name}"`;
  report({ promise, tried: what, n: count, violations: violation ? 1 : 0 }, violation);
}

const copy = openCopy();
try {
  for (const bug of plantedBugs) {
    if (!bug.name.includes(only)) continue;
    const { count, violation } = await copy.plant(bug, { seconds: 60, seed });
    report(
      {
        promise: `a planted bug is caught: ${bug.name}`,
        tried: `tries of "${bug.caughtBy}" until it was`,
        n: count,
        violations: violation ? 0 : 1,
      },
      violation ? undefined : { message: `"${bug.name}" was not caught.`, script: `${bug.file}: ${bug.line} -> ${bug.becomes}` },
    );
  }
} finally {
  copy.close();
}

const full = (short: number, long: number) => (isLong ? long : short);
const executions = full(20_000, 1_000_000);
await runHarness(
  'M1: at most `rate` calls in any period, over four processes with lost answers, one clock five seconds ahead and one behind',
  'executions',
  executions,
  ['test/long/rate-limit.ts', ...['--executions', String(executions), '--skew', '5000', '--seed', String(seed)]],
);
const rounds = full(10, 1_000);
await runHarness('M2: one call for 200 requests at once under one key', 'rounds', rounds, [
  'test/long/idempotency.ts',
  ...['--rounds', String(rounds), '--seed', String(seed)],
]);
const requests = full(3_000, 100_000);
await runHarness('M5: every answer is one that the OpenAPI document describes, and none is a 500', 'hostile requests', requests, [
  'test/long/fuzz.ts',
  ...['--requests', String(requests), '--seed', String(seed)],
]);

console.table(
  rows.map(({ promise, tried, n, violations }) => ({ promise: promise.slice(0, 90), tried: tried.slice(0, 60), n, violations })),
);
for (const failure of failures) console.error(`\n${failure}`);
const broken = rows.reduce((total, { violations }) => total + violations, 0);
console.log(`${rows.length} promises tried with seed ${seed}, ${broken} broken.`);
process.exitCode = broken > 0 ? 1 : 0;
