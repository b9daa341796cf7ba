/** A process of {@link ./rate-limit.ts}: executes as often as it may, and reports when, until its parent disconnects. */
import { setTimeout } from 'node:timers/promises';
import { openRateLimiter } from '../../functions/core/limit/rate-limiter.ts';
import type { TableName } from '../../functions/core/store/keys.ts';
import type { RateLimit } from '../../schemas/pat.ts';
import { connectTable } from '../support/connect-table.ts';

export interface Task {
  endpoint: string;
  tableNames: Record<TableName, string>;
  /** executions at the same time */
  concurrency: number;
  agents: { thumbprint: string; limits: RateLimit[] }[];
}

export interface Report {
  /** index of the agent, and when the call was made in milliseconds since the epoch */
  executed: [agent: number, timeMs: number][];
  refused: number;
  /** not counted in time */
  late: number;
  /** the table was out of reach */
  unreachable: number;
}

const newReport = (): Report => ({ executed: [], refused: 0, late: 0, unreachable: 0 });

process.once('message', async ({ endpoint, tableNames, agents, concurrency }: Task) => {
  const counter = openRateLimiter(connectTable(endpoint, tableNames));
  let report = newReport();

  const executeOnce = async () => {
    const index = Math.floor(Math.random() * agents.length);
    const { thumbprint, limits } = agents[index] as Task['agents'][0];
    try {
      const { isAdmitted } = await counter.consume({
        holder: thumbprint,
        counter: 'execute',
        charges: limits.map(({ rate, period }) => ({ id: String(period), name: 'execute', rate, period, cost: 1 })),
      });
      if (isAdmitted) report.executed.push([index, Date.now()]);
      else report.refused++;
      if (!isAdmitted) await setTimeout(1);
    } catch (error) {
      if ((error as Error).message.startsWith('The call could not be counted')) report.late++;
      else report.unreachable++;
    }
  };
  const reporting = setInterval(() => {
    if (!process.connected) return;
    process.send?.(report);
    report = newReport();
  }, 250);
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      while (process.connected) await executeOnce();
    }),
  );
  clearInterval(reporting);
});
