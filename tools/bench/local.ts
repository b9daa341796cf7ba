import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { StackDescription } from '../../bin/local/stack-file.ts';
import { intentUid, parameters, path, register } from './execute.ts';
import { obtainPat, writePolicy } from './gate.ts';
import { drive, formatTable, inMs, summarize, warmUpOf } from './load.ts';
import { startThread } from './workers.ts';

/** Measures the gate that `npm start` starts, with everything in it, in a process of its own. */
export async function measureLocal({ executions, concurrency }: { executions: number; concurrency: number }): Promise<void> {
  await using upstream = await startThread('./upstream-worker.ts');
  using policy = writePolicy();
  const { child, stack } = await startLocal(policy.folder, policy.policyFile);
  try {
    await register(stack.base_url, stack.admin_token, upstream.url);
    const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${await obtainPat(stack.base_url)}` };
    const gate = { url: `${stack.base_url}${path}`, headers, body: JSON.stringify({ intent_uid: intentUid, parameters }) };
    const direct = { url: `${upstream.url}/echo`, headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(parameters) };
    const memory = [['at start', memoryOf(child.pid)]];
    const latencies = async (load: typeof gate | typeof direct, atOnce: number) =>
      summarize((await drive({ ...load, requests: executions, concurrency: atOnce })).latenciesMs);

    const together = await latencies(gate, concurrency);
    memory.push([`after ${executions} executions, ${concurrency} at once`, memoryOf(child.pid)]);
    await sleep(20_000);
    memory.push(['20 seconds later', memoryOf(child.pid)]);
    await drive({ ...direct, requests: warmUpOf(executions), concurrency: 1 });
    const [alone, without] = [await latencies(gate, 1), await latencies(direct, 1)];
    const added = { median: alone.median - without.median, p99: alone.p99 - without.p99 };
    const rows = Object.entries({ 'one after the other': alone, 'added by the gate': added, [`${concurrency} at once`]: together });
    const shown = rows.map(([name, { median, p99 }]) => [name, inMs(median), inMs(p99), (p99 / median).toFixed(2)]);
    console.log(formatTable([['milliseconds', 'median', 'p99', 'p99 / median'], ...shown]));
    console.log(formatTable([['memory of the process', ''], ...memory]));
  } finally {
    child.kill();
  }
}

async function startLocal(folder: string, policyFile: string) {
  const program = ['--max-semi-space-size=2', resolve('bin/run.js'), resolve('bin/local.ts'), '--port', '0', '--policy', policyFile];
  const child = spawn(process.execPath, program, { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] });
  await new Promise<void>((isReady, fail) => {
    child.stdout.setEncoding('utf8').on('data', (text) => text.includes('Press Ctrl-C to stop.') && isReady());
    child.once('close', () => fail(new Error('the stack does not start')));
  });
  const stack: StackDescription = JSON.parse(readFileSync(join(folder, '.local', 'stack.json'), 'utf8'));
  return { child, stack };
}

/** The memory of a process and its children: their own, and their share of what they have in common. */
function memoryOf(pid: number | undefined): string {
  if (process.platform !== 'linux') return 'measured on Linux only';
  const parents = readdirSync('/proc').flatMap((id) => (/^\d+$/.test(id) ? [[id, parentOf(id)]] : []));
  const sizeOf = (id: string): number => {
    const [, own = 0] = /^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${id}/smaps_rollup`, 'utf8')) ?? [];
    return parents.reduce((sum, [child = '', parent]) => (parent === id ? sum + sizeOf(child) : sum), Number(own));
  };
  return `${Math.round(sizeOf(String(pid)) / 1024)} MB`;
}

function parentOf(id: string): string | undefined {
  try {
    return /\) \w (\d+)/.exec(readFileSync(`/proc/${id}/stat`, 'utf8'))?.[1];
  } catch {
    // it has ended meanwhile
    return undefined;
  }
}
