import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { variables } from '../../functions/core/environment.ts';
import type { StackDescription } from '../local/stack-file.ts';
import { localContext, projectRoot, synthesize } from '../local/synthesis.ts';
import { bundleOf, readTemplate } from '../local/template.ts';
import { benchmark } from './benchmark.ts';
import { obtainPat, writePolicy } from './gate.ts';
import { drive, formatTable, inMb, inMs, measureWays, summarize, warmUpOf } from './load.ts';
import { benchEvent, runAlone, startThread } from './workers.ts';

const usage = `npm run bench -- stack [--executions 2000] [--concurrency 16]

Starts the local stack as "npm start" does, and measures its start, its memory and what it adds to a request. Needs the command ps.
  --executions   how many before its memory is measured again, and how many requests are timed
  --concurrency  how many executions at once`;

export const run = benchmark(usage, { executions: 2_000, concurrency: 16 }, async ({ executions, concurrency }) => {
  // Text that no synthesis has seen yet, so that the first start is as if a source had changed.
  using policy = writePolicy(' '.repeat(Date.now() % 10_000));
  const first = await start(policy.folder, policy.policyFile);
  await first[Symbol.asyncDispose]();
  await using stack = await start(policy.folder, policy.policyFile);
  const startBytes = residentBytes(stack.pid);
  const { base_url: baseUrl } = stack.description;
  const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${await obtainPat(baseUrl)}` };
  const body = JSON.stringify({ intent_uid: 'world.example:get-country:v1', parameters: { code: 'JP' } });
  await drive({ url: `${baseUrl}/api/intents/execute`, headers, body, requests: executions, concurrency });
  const afterBytes = residentBytes(stack.pid);
  const addedMs = await measureAdded(baseUrl, policy.policyFile, executions);
  console.log(
    formatTable([
      ['start, first after a change of the sources', `${(first.startedMs / 1_000).toFixed(1)} s`],
      ['start, sources unchanged', `${(stack.startedMs / 1_000).toFixed(1)} s`],
      ['resident memory of all processes, started', inMb(startBytes)],
      [`resident memory of all processes, after ${executions} executions`, inMb(afterBytes)],
      ['added to a request by the stand-in for API Gateway and Lambda, median', `${inMs(addedMs)} ms`],
    ]),
  );
});

/** Starts the stack in a folder of its own and waits until it is ready. */
async function start(folder: string, policyFile: string) {
  const beganMs = performance.now();
  const { start: command } = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8')).scripts;
  const flags = /node (--.*) bin\/run\.js/.exec(command)?.[1]?.split(' ') ?? [];
  const programs = ['run.js', 'local.ts'].map((file) => join(projectRoot, 'bin', file));
  const child = spawn(process.execPath, [...flags, ...programs, '--policy', policyFile], {
    cwd: folder,
    env: { ...process.env, PORT: '0' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const complaint = text(child.stderr);
  for await (const chunk of child.stdout.iterator({ destroyOnReturn: false })) if (String(chunk).includes('Ctrl-C')) break;
  child.stdout.resume();
  const { pid } = child;
  if (pid === undefined || child.exitCode !== null) throw new Error(`the stack did not start: ${await complaint}`);
  const description: StackDescription = JSON.parse(readFileSync(join(folder, '.local', 'stack.json'), 'utf8'));
  const dispose = async () => {
    const ended = once(child, 'close');
    child.kill('SIGTERM');
    await ended;
  };
  return { pid, description, startedMs: performance.now() - beganMs, [Symbol.asyncDispose]: dispose };
}

/** Resident memory of a process and everything that it has started. */
function residentBytes(root: number): number {
  const rows = execFileSync('ps', ['-e', '-o', 'pid=,ppid=,rss='], { encoding: 'utf8' }).trim().split('\n');
  const processes = rows.map((row) => row.trim().split(/\s+/).map(Number));
  const bytesOf = (id: number): number =>
    processes.reduce((sum, [pid, parent, rss = 0]) => sum + (pid === id ? rss * 1024 : 0) + (parent === id ? bytesOf(pid ?? 0) : 0), 0);
  return bytesOf(root);
}

/** How much longer a request takes than a request to a plain server plus a run of the function, for a function that answers at once. */
async function measureAdded(baseUrl: string, policyFile: string, requests: number): Promise<number> {
  await using plain = await startThread('./upstream-worker.ts');
  const ways = { stack: { url: `${baseUrl}/health` }, direct: { url: plain.url } };
  const { stack, direct } = await measureWays(ways, requests, 1);
  const synthesized = await synthesize({ ...localContext, policyFile });
  const folder = dirname(bundleOf(readTemplate(synthesized), synthesized, 'get-health'));
  const environment = { [variables.protocol]: 'proto', [variables.baseUrl]: baseUrl };
  const event = benchEvent({ method: 'GET', path: '/health', baseUrl });
  const { latenciesMs } = await runAlone({ folder, environment }, { event, warmUp: warmUpOf(requests), runs: requests });
  return stack.latencyMs.median - direct.latencyMs.median - summarize(latenciesMs).median;
}
