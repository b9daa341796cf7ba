import type { Services } from './ceilings-services.ts';
import type { CeilingReport, CeilingTask } from './ceilings-worker.ts';
import { formatTable } from './load.ts';
import { runProcess, startThread } from './workers.ts';

/** Executions per second that both functions should sustain. */
const goal = 10_000;

const shards = 8;

const steps: [title: string, step: CeilingTask['step']][] = [
  ['append receipts (sequence-receipts)', 'sequence'],
  ['add up a minute (count-usage)', 'count'],
  ['store deliveries (count-usage, in parallel)', 'keep'],
];

const round = (value: number, digits = 1): string => value.toFixed(digits);
const mebibytes = (bytes: number): string => (bytes / 2 ** 20).toFixed(0);

/**
 * Prints what the sequencer and the counter take for the executions of some seconds at {@link goal} a second. Another thread simulates DynamoDB and
 * S3, with their usual delays.
 */
export async function measureCeilings({ seconds, rounds, agents }: { seconds: number; rounds: number; agents: number }): Promise<void> {
  const entries = seconds * goal;
  const rows = [];
  for (const [title, step] of steps) {
    const reports: CeilingReport[] = [];
    let counts: Record<string, number> = {};
    for (let turn = 0; turn < rounds; turn++) {
      const data: Services = { executionsOfShard: entries / shards, agents, receipts: step === 'sequence' ? entries : 0 };
      await using services = await startThread('./ceilings-services.ts', data);
      const env = {
        ...process.env,
        AWS_ENDPOINT_URL: services.url,
        AWS_REGION: 'eu-west-1',
        AWS_ACCESS_KEY_ID: 'bench',
        AWS_SECRET_ACCESS_KEY: 'bench',
        LOG_LEVEL: 'SILENT',
      };
      const task: CeilingTask = { step, entries: step === 'keep' ? goal : entries };
      reports.push(await runProcess<CeilingReport>('./ceilings-worker.ts', task, { env }));
      counts = await services.ask();
    }
    const count = step === 'keep' ? goal : entries;
    const per1000 = (value: number): number => (value / count) * 1_000;
    const [best] = reports.toSorted((one, other) => one.processorMs - other.processorMs);
    if (!best) continue;
    const requests = Object.entries({ ...counts, ...(best.signatures > 0 && { 'KMS signature': best.signatures }) });
    const ratios = reports.map(({ processorMs }) => 1 / per1000(processorMs) / (goal / 1_000_000)).sort((one, other) => one - other);
    rows.push([
      title,
      String(count),
      round(per1000(best.processorMs)),
      `${round(ratios.at(-1) ?? 0, 2)} [${ratios.map((ratio) => round(ratio, 2)).join(' ')}]`,
      round(count / best.tookMs / (goal / 1_000), 2),
      `${mebibytes(best.before)} -> ${mebibytes(Math.max(...reports.map(({ peak }) => peak)))}`,
      requests.map(([name, made]) => `${name} ${round(per1000(made), 2)}`).join(', '),
    ]);
  }
  console.log(
    `\n${seconds} s of ${goal} executions a second; the log of receipts has 4,000,000 entries. Ratios are to that rate: processor is what one vCPU of this machine sustains, elapsed includes the simulated delays.\n`,
  );
  const heads = ['', 'entries', 'processor ms per 1,000', 'processor: best [all]', 'elapsed', 'memory, MiB', 'requests per 1,000'];
  console.log(formatTable([heads, ...rows]));
}
