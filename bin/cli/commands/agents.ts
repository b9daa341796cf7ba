import type { Command } from 'commander';
import { agent } from '../../../schemas/agent.ts';
import { readAnswer } from '../../probes.ts';
import { openContext } from '../context.ts';
import { confirmOrRefuse } from './confirm.ts';
import { showRecord } from './show.ts';

const agentPath = (id: string): string => `/api/agents/${encodeURIComponent(id)}`;

export function addAgents(program: Command): void {
  const agents = program.command('agents').description('Agents that have signed the policy: show, revoke, unbind');
  agents
    .command('show <agent_id>')
    .description('Show the key that an agent is bound to, and when it last got a PAT')
    .action(async (id: string, _, command: Command) => {
      const { api, terminal } = openContext(command);
      showRecord(terminal, readAnswer(agent, await api.call('GET', agentPath(id), { isAdmin: true })));
    });
  agents
    .command('revoke <agent_id>')
    .description('Refuse every PAT that the agent has got until now; it may ask for another')
    .action(async (id: string, _, command: Command) => {
      const { api, terminal } = openContext(command);
      const revoked = readAnswer(agent, await api.call('POST', `${agentPath(id)}/revoke`, { body: {}, isAdmin: true }));
      terminal.say(`The PATs of ${id} are refused from now on. It may sign the policy again.`);
      terminal.json(revoked);
    });
  agents
    .command('unbind <agent_id>')
    .description('Free the agent_id for another key, and refuse every PAT that it has got')
    .option('-y, --yes', 'without asking')
    .action(async (id: string, { yes }: { yes?: boolean }, command: Command) => {
      const { api, terminal } = openContext(command);
      await confirmOrRefuse(terminal, yes, `Free ${id} for whichever key comes next?`);
      await api.call('DELETE', agentPath(id), { isAdmin: true });
      terminal.say(`${id} is free for another key.`);
      terminal.json({ agent_id: id, unbound: true });
    });
}
