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
  let skipped: string | undefined;
  const failed = await promisify(execFile)(process.execPath, ['bin/run.js', ...args], { maxBuffer: 1e8 }).then(
    ({ stdout }) => {
      skipped = /^skipped: .*$/m.exec(stdout)?.[0];
      return undefined;
    },
    (error: { stdout?: string; stderr?: string }) => `${error.stdout ?? ''}${error.stderr ?? ''}`.slice(-4_000),
  );
  report(
    { promise, tried: skipped ?? tried, n: skipped === undefined ? n : 0, violations: failed === undefined ? 0 : 1 },
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
await runHarness('M1: at most `rate` calls in any period, over four processes with lost answers', 'executions', executions, [
  'test/long/rate-limit.ts',
  ...['--executions', String(executions), '--seed', String(seed)],
]);
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

const examples = full(20, 1_000);
await runHarness('M5: a foreign tool finds no answer that the OpenAPI document does not describe', 'examples of Schemathesis', examples, [
  'test/long/schemathesis.ts',
  ...['--examples', String(examples), '--seconds', String(full(120, 1_800)), '--seed', String(seed)],
]);
const histories = full(40, 5_000);
await runHarness(
  'I2, I3: what admins are told is what one registry would say that does one thing after the other',
  'histories',
  histories,
  ['test/long/linearizability.ts', ...['--histories', String(histories), '--seed', String(seed)]],
);
const kills = full(3, 0);
await runHarness('M7: what was answered is there after kill -9, and nothing dead is', 'kills of the local stack', kills || 240, [
  'test/long/crash.ts',
  ...['--points', String(kills), '--seed', String(seed)],
]);
const tokens = full(5_000, 20_000);
await runHarness('M8: three verifiers that share no code agree on every token', 'tokens before three verifiers', tokens, [
  'test/long/verifiers.ts',
  ...['--tokens', String(tokens), '--seed', String(seed)],
]);
const urls = full(2_000, 10_000);
await runHarness('M3: hostile URLs lead to no connection but to public addresses', 'hostile URLs', urls, [
  'test/long/hostile-urls.ts',
  ...['--urls', String(urls), '--seed', String(seed)],
]);
const patterns = full(200, 5_000);
await runHarness('M6: every accepted pattern takes linear time', 'patterns', patterns, [
  'test/long/patterns.ts',
  ...['--patterns', String(patterns), '--seed', String(seed)],
]);
const attempts = full(1_000, 100_000);
await runHarness('M4: a stolen PAT that is bound to proofs is worthless', 'attempts of a thief', attempts, [
  'test/long/stolen-pat.ts',
  ...['--attempts', String(attempts), '--seed', String(seed)],
]);

console.table(
  rows.map(({ promise, tried, n, violations }) => ({ promise: promise.slice(0, 90), tried: tried.slice(0, 60), n, violations })),
);
for (const failure of failures) console.error(`\n${failure}`);
const broken = rows.reduce((total, { violations }) => total + violations, 0);
console.log(`${rows.length} promises tried with seed ${seed}, ${broken} broken.`);
process.exitCode = broken > 0 ? 1 : 0;
