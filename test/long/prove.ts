/**
 * Tries to break what the gate promises, and says how often it tried.
 * `npm run prove -- [--long] [--seed 1] [--only TEXT] [--write]`, or `--only NAME --replay FILE` for the schedule that a violation was printed with.
 * With `--write` it writes the table of planted bugs into docs/proofs.md, and keeps which scenario needs which condition.
 */
import '../environment.js';
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs, promisify } from 'node:util';
import { replay } from '../world/explore.ts';
import { type Lane, openLane } from '../world/lane.ts';
import { plantedBugs, withBug } from '../world/planted.ts';
import { scenarios } from '../world/scenarios.ts';
import { spare } from '../world/spare.ts';
import { trials } from '../world/trials.ts';

const { values } = parseArgs({
  options: {
    long: { type: 'boolean' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string', default: '' },
    replay: { type: 'string' },
    write: { type: 'boolean' },
  },
});
const { long: isLong = false, only } = values;
const seed = Number(values.seed);
const full = (short: number, long: number) => (isLong ? long : short);

interface Row {
  promise: string;
  tried: string;
  n: number;
  /** what broke the promise, and how to see it again */
  violation?: { message: string; script: string } | undefined;
}

/** One line of the report, and how it is found out. */
interface Job {
  name: string;
  run(lane: Lane): Promise<Row>;
}

/** The scenario that catches the lack of a condition, and the schedule in which it does: the ids of its steps. */
type Need = [scenario: string, steps: string];

/** Who needs which condition, as it was found out last. */
const neededFile = new URL('../world/needed.json', import.meta.url);
const needs: Record<string, Need> = Object.fromEntries(
  Object.entries<Need>(JSON.parse(readFileSync(neededFile, 'utf8'))).filter(([, [needed]]) =>
    scenarios.some(({ name }) => name === needed),
  ),
);
const toScript = (steps: string): string => steps.replaceAll(', ', '\n');
/** The scenarios that meet a condition, by its id, as far as they have been played. */
const meeting = new Map<string, Set<string>>();
const triesOf = new Map<string, number>();

const played = ({ name, promise }: { name: string; promise: string }, isTrial: boolean): Job => ({
  name,
  run: async (lane) => {
    const { count, isComplete, conditions, violation } = await lane.play({ name, seconds: isTrial ? full(1.5, 20) : full(0.5, 6), seed });
    if (!isTrial) for (const id of conditions) meet(id, name);
    const tried = isTrial ? `random ${name}` : `schedules${isComplete ? ' (all)' : ''} of "${name}"`;
    return { promise, tried, n: count, violation };
  },
});

const planted = (bug: (typeof plantedBugs)[number]): Job => ({
  name: `planted bug: ${bug.name}`,
  run: async (lane) => {
    const { count, violation } = await lane.play({ name: bug.caughtBy, seconds: 60, seed, change: withBug(bug) });
    triesOf.set(bug.name, count);
    return {
      promise: `a planted bug is caught: ${bug.name}`,
      tried: `tries of "${bug.caughtBy}" until it was`,
      n: count,
      violation: violation ? undefined : { message: `"${bug.name}" was not caught.`, script: `${bug.file}: ${bug.line} -> ${bug.becomes}` },
    };
  },
});

/**
 * Each condition that some scenario meets is left out in turn: some scenario has to need it. The schedule that needed it last is played
 * first; if it does not any more, another is looked for, in the long form anew in any case.
 */
const needed = (omit: string): Job => ({
  name: `condition: ${omit}`,
  run: async (lane) => {
    const promise = `a condition is needed: ${omit}`;
    const [known, steps] = needs[omit] ?? [];
    let n = 0;
    if (known !== undefined && steps !== undefined && !isLong) {
      n++;
      const { conditions, violation } = await lane.play({ name: known, seconds: 30, seed, omit, script: toScript(steps) });
      for (const id of conditions) meet(id, known);
      if (violation) return { promise, tried: `schedule of "${known}" in which it was missed`, n };
    }
    const candidates = meeting.get(omit) ?? (only === '' ? [] : scenarios.map(({ name }) => name));
    for (const name of new Set([...(known === undefined ? [] : [known]), ...candidates])) {
      const { count, conditions, violation } = await lane.play({ name, seconds: name === known ? 30 : 3, seed, omit });
      n += count;
      for (const id of conditions) meet(id, name);
      if (!violation) continue;
      const { violation: broken } = await lane.play({ name, seconds: 30, seed, script: violation.script });
      if (broken) return { promise, tried: `schedule of "${name}" that fails with the condition, too`, n, violation: broken };
      const ids = violation.script.split('\n').map((line) => line.replace(/ \(.*$/, ''));
      needs[omit] = [name, ids.join(', ')];
      return { promise, tried: `tries of "${name}" until it was missed`, n };
    }
    if (!meeting.has(omit) && values.write) return { promise, tried: 'tries that do not meet it any more', n };
    const message = `No scenario ${meeting.has(omit) ? 'needs' : 'meets'} the condition "${omit}".`;
    return { promise, tried: 'tries without it', n, violation: { message, script: `met by ${[...(meeting.get(omit) ?? [])].join(', ')}` } };
  },
});

/** Notes that a scenario meets a condition. One that was not known is left out in turn, too. */
function meet(id: string, scenario: string): void {
  if (!meeting.has(id) && needs[id] === undefined && spare[id] === undefined && 'condition: '.includes(only)) addJob(needed(id));
  meeting.set(id, (meeting.get(id) ?? new Set()).add(scenario));
}

/** The schedules in which some condition is missed, with all conditions in place: without one, this breaks. */
const narrow: Job = {
  name: 'schedules that need a condition',
  run: async (lane) => {
    const promise = 'every promise holds in the schedules that are known to need a condition';
    let n = 0;
    for (const [id, [scenario, steps]] of Object.entries(needs)) {
      n++;
      const { violation } = await lane.play({ name: scenario, seconds: 30, seed, script: toScript(steps) });
      if (violation)
        return { promise, tried: 'schedules', n, violation: { ...violation, message: `${violation.message} (${id}, "${scenario}")` } };
    }
    return { promise, tried: 'schedules', n };
  },
};

interface Harness {
  promise: string;
  /** what is counted */
  tried: string;
  n: number;
  /** a program of test/long and its options; it ends with 1 if the promise was broken */
  program: string[];
}

const counted = (program: string, option: string, n: number, ...options: string[]) => ({
  n,
  program: [program, `--${option}`, String(n), ...options, '--seed', String(seed)],
});

/** What is tried against real parts, in processes of its own; what takes longest first. */
const harnesses: Harness[] = [
  {
    promise: 'M7: what was answered is there after kill -9, and nothing dead is',
    tried: 'kills of the local stack',
    ...counted('crash.ts', 'points', full(1, 66)),
  },
  {
    promise: 'M1: at most `rate` calls in any period, over four processes with lost answers, one clock five seconds ahead and one behind',
    tried: 'executions',
    ...counted(
      'rate-limit.ts',
      'executions',
      full(5_000, 1_000_000),
      '--agents',
      String(full(60, 120)),
      '--concurrency',
      String(full(8, 24)),
      '--skew',
      '5000',
    ),
  },
  {
    promise: 'M5: a foreign tool finds no answer that the OpenAPI document does not describe',
    tried: 'examples of Schemathesis',
    ...counted('schemathesis.ts', 'examples', full(1, 100), '--seconds', String(full(60, 300)), ...(isLong ? [] : ['--phases', 'fuzzing'])),
  },
  {
    promise: 'M5: every answer is one that the OpenAPI document describes, and none is a 500',
    tried: 'hostile requests',
    ...counted('fuzz.ts', 'requests', full(1_000, 100_000)),
  },
  {
    promise: 'I2, I3: what admins are told is what one registry would say that does one thing after the other',
    tried: 'histories',
    ...counted('linearizability.ts', 'histories', full(10, 300)),
  },
  {
    promise: 'M4: a stolen PAT that is bound to proofs is worthless',
    tried: 'attempts of a thief',
    ...counted('stolen-pat.ts', 'attempts', full(500, 100_000)),
  },
  {
    promise: 'M6: every accepted pattern takes linear time',
    tried: 'patterns',
    ...counted('patterns.ts', 'patterns', full(100, 5_000)),
  },
  {
    promise: 'M8: three verifiers that share no code agree on every token',
    tried: 'tokens before three verifiers',
    ...counted('verifiers.ts', 'tokens', full(2_000, 20_000)),
  },
  {
    promise: 'what trying a policy predicts of recorded calls is what the gate refuses under it, by an independent count of limits, too',
    tried: 'recorded calls',
    ...counted('trial/policy-trial.ts', 'calls', full(2_000, 100_000)),
  },
  {
    promise: 'M2: one call for 200 requests at once under one key',
    tried: 'rounds',
    ...counted('idempotency.ts', 'rounds', full(50, 1_000)),
  },
  {
    promise: 'M3: hostile URLs lead to no connection but to public addresses',
    tried: 'hostile URLs',
    ...counted('hostile-urls.ts', 'urls', full(1_000, 10_000)),
  },
];

/** A harness that takes longer hangs. */
const maxHarnessMs = full(10, 90) * 60_000;

/** What the harnesses that run have said last. */
const lastLines = new Map<string, string>();

const harnessed = ({ promise, tried, n, program: [file = '', ...options] }: Harness): Job => ({
  name: tried,
  run: async () => {
    const args = [`test/long/${file}`, ...options];
    const script = `node bin/run.js ${args.join(' ')}`;
    try {
      const running = promisify(execFile)(process.execPath, ['bin/run.js', ...args], { maxBuffer: 1e8, timeout: maxHarnessMs });
      if (isLong) running.child.stdout?.on('data', (text) => void lastLines.set(tried, String(text).trim().split('\n').at(-1) ?? ''));
      const { stdout } = await running.finally(() => lastLines.delete(tried));
      const skipped = /^skipped: .*$/m.exec(stdout)?.[0];
      return skipped === undefined ? { promise, tried, n } : { promise, tried: skipped, n: 0 };
    } catch (error) {
      const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
      return { promise, tried, n, violation: { message: `${stdout}${stderr}`.slice(-4_000), script } };
    }
  },
});

if (values.replay !== undefined) {
  const scenario = scenarios.find(({ name }) => name.includes(only));
  const message = scenario && (await replay(scenario, readFileSync(values.replay, 'utf8').trim()));
  console.log(scenario === undefined ? `No scenario is called ${only}.` : (message ?? 'The promise held.'));
  process.exit(message === undefined && scenario ? 0 : 1);
}

const jobs = [
  ...harnesses.map(harnessed),
  ...scenarios.map((scenario) => played(scenario, false)),
  ...trials.map((trial) => played(trial, true)),
  narrow,
  ...plantedBugs.map(planted),
  ...Object.keys(needs).map(needed),
].filter(({ name }) => name.includes(only));

if (jobs.length === 0) {
  console.error(
    `Nothing that is tried has "${only}" in its name: --only takes a part of the name of a scenario, trial or planted bug, or what a harness counts.`,
  );
  process.exit(1);
}

const startedMs = performance.now();
const rows: Row[] = [];
const left = [...jobs.entries()];
let done = 0;

function addJob(job: Job): void {
  left.push([jobs.push(job) - 1, job]);
}

async function work(lane: Lane): Promise<void> {
  for (let next = left.shift(); next !== undefined; next = left.shift()) {
    const [at, job] = next;
    const row = await job.run(lane).catch((error: Error): Row => {
      const violation = { message: String(error.stack), script: `npm run prove -- --only '${job.name}'` };
      return { promise: `(this could not be tried to its end: ${job.name})`, tried: 'tries', n: 0, violation };
    });
    rows[at] = row;
    const { promise, tried, n, violation } = row;
    const seconds = Math.round((performance.now() - startedMs) / 1_000);
    const progress = `${String(++done).padStart(3)}/${jobs.length} ${String(seconds).padStart(4)} s`;
    console.log(`${progress}  ${violation ? 'BROKEN' : 'holds '}  ${n.toLocaleString('en')} ${tried}: ${promise}`);
  }
  lane.close();
}

const telling = setInterval(() => {
  for (const [tried, line] of lastLines) console.log(`        ... ${tried}: ${line}`);
}, 60_000).unref();

// one process on each of two cores
await Promise.all([work(openLane()), work(openLane())]);

clearInterval(telling);

console.table(
  rows.map(({ promise, tried, n, violation }) => ({
    promise: promise.slice(0, 90),
    tried: tried.slice(0, 95),
    n,
    violations: violation ? 1 : 0,
  })),
);
const broken = rows.filter(({ violation }) => violation !== undefined);
for (const { tried, violation } of broken) console.error(`\n${tried}\n${violation?.message}\n${violation?.script}`);
if (values.write) writeFindings();
console.log(
  `${rows.length} promises tried with seed ${seed} in ${Math.round((performance.now() - startedMs) / 1_000)} s, ${broken.length} broken.`,
);
process.exitCode = broken.length > 0 ? 1 : 0;

function writeFindings(): void {
  const known = only === '' ? Object.entries(needs).filter(([id]) => meeting.has(id)) : Object.entries(needs);
  writeFileSync(neededFile, `${JSON.stringify(Object.fromEntries(known.toSorted()))}\n`);
  const path = new URL('../../docs/proofs.md', import.meta.url);
  const table = plantedBugs.map(({ name }) => `| ${name} | ${triesOf.get(name)?.toLocaleString('en') ?? ''} |`).join('\n');
  const head = '| planted bug | tries until it was caught |\n|---|---|\n';
  if (triesOf.size < plantedBugs.length) return;
  writeFileSync(
    path,
    readFileSync(path, 'utf8').replace(/\| planted bug \|[^\n]*\n(?:\|[^\n]*\n)*/, () => `${head}${table}\n`),
  );
}
