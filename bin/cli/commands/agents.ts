import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { agent } from '../../../schemas/agent.ts';
import { readAnswer } from '../../probes.ts';
import { openContext } from '../context.ts';

const agentPath = (id: string): string => `/api/agents/${encodeURIComponent(id)}`;

export function addAgents(program: CommandUnknownOpts): void {
  const agents = program.command('agents').description('Agents that have signed the policy: show, revoke, unbind');
  agents
    .command('show <agent_id>')
    .description('Show the key that an agent is bound to, and when it last got a PAT')
    .action(async (id, _, command) => {
      const { api, terminal } = openContext(command);
      terminal.record(readAnswer(agent, await api.call('GET', agentPath(id), { isAdmin: true })));
    });
  agents
    .command('revoke <agent_id>')
    .description('Refuse every PAT that the agent has got until now; it may ask for another')
    .action(async (id, _, command) => {
      const { api, terminal } = openContext(command);
      const revoked = readAnswer(agent, await api.call('POST', `${agentPath(id)}/revoke`, { body: {}, isAdmin: true }));
      terminal.result(revoked, `The PATs of ${id} are refused from now on. It may sign the policy again.`);
    });
  agents
    .command('unbind <agent_id>')
    .description('Free the agent_id for another key, and refuse every PAT that it has got')
    .option('-y, --yes', 'without asking')
    .action(async (id, { yes }, command) => {
      const { api, terminal } = openContext(command);
      await terminal.requireConfirmation(`Free ${id} for whichever key comes next?`, yes);
      await api.call('DELETE', agentPath(id), { isAdmin: true });
      terminal.result({ agent_id: id, unbound: true }, `${id} is free for another key.`);
    });
}
