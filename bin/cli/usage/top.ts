import { type CommandUnknownOpts, Option } from '@commander-js/extra-typings';
import { readAnswer } from '../../../registry/api.ts';
import { requireService } from '../../../registry/read.ts';
import { operand } from '../../../registry/shell-words.ts';
import { usageCells, usageHeads, usedService } from '../../../registry/usage/usage.ts';
import { type StatsNumbers, stats, statsByAgent } from '../../../schemas/usage/stats.ts';
import { groupOf, openContext, watchOption } from '../context.ts';
import type { Terminal } from '../terminal.ts';

const periodOf = { '1h': 'hour', '24h': 'day', '30d': 'month' } as const;
type Since = keyof typeof periodOf;

const since = () =>
  new Option('--since <duration>', 'how far back: 1h, 24h or 30d').choices(Object.keys(periodOf) as Since[]).default('24h' as const);

function show<Row extends StatsNumbers>(terminal: Terminal, since: Since, rows: Row[], head: string, nameOf: (row: Row) => string): void {
  if (rows.length === 0) terminal.remark(`There were no executions in the last ${since}.`);
  const cells = rows.map((row) => [nameOf(row), ...usageCells(row)]);
  terminal.list([head, ...usageHeads], cells, rows);
}

/** Must be called after the groups `services` and `agents` were added. */
export function addTop(program: CommandUnknownOpts): void {
  groupOf(program, 'agents')
    ?.command('top')
    .description('List the agents with the most executions')
    .option('--service <service>', 'only executions of intents of this service, by service_id or name')
    .addOption(since())
    .addOption(watchOption)
    .action(async ({ service, since, watch }, command) => {
      const { api, terminal } = openContext(command);
      const serviceId = service === undefined ? undefined : (await requireService(api, service)).record.service_id;
      const query = { period: periodOf[since], by: 'agent', service_id: serviceId };
      await terminal.watch(watch, async () => {
        const { agents } = readAnswer(statsByAgent, await api.call('GET', '/api/stats', { query, isAdmin: true }));
        show(terminal, since, agents, 'Agent', ({ agent_id }) => agent_id);
        const [first] = agents;
        if (first) terminal.say(`To block the first: intent-gate agents block --reason '...' ${operand(first.agent_id)}`);
      });
    });
  groupOf(program, 'services')
    ?.command('top')
    .description('List the services with the most executions')
    .addOption(since())
    .addOption(watchOption)
    .action(async ({ since, watch }, command) => {
      const { api, terminal } = openContext(command);
      const query = { period: periodOf[since], by: 'service' };
      await terminal.watch(watch, async () => {
        const { services } = readAnswer(stats, await api.call('GET', '/api/stats', { query, isAdmin: true }));
        show(terminal, since, services, 'Service', usedService);
        const { service_id, service_name } = services.find((one) => one.service_name !== undefined) ?? {};
        if (service_id === undefined) return;
        terminal.say(`To see who calls ${service_name}: intent-gate agents top --service ${service_id} --since ${since}`);
        terminal.say(`To stop all its calls: intent-gate services pause ${service_id}`);
      });
    });
}
