import { type CommandUnknownOpts, Option } from '@commander-js/extra-typings';
import { Refusal } from '../../../client/errors.ts';
import { type Agent, type AgentWithUsage, agent, agentPage, agentState, agentWithUsage } from '../../../schemas/agent.ts';
import { readAnswer } from '../../probes.ts';
import type { Api } from '../api.ts';
import { openContext } from '../context.ts';
import { CliFailure } from '../failure.ts';
import { nextQuery } from '../registry/read.ts';

const agentPath = (id: string): string => `/api/agents/${encodeURIComponent(id)}`;

const findAgent = async (api: Api, id: string): Promise<AgentWithUsage> =>
  readAnswer(agentWithUsage, await api.call('GET', agentPath(id), { isAdmin: true }));

/** Whether an agent of this id has been here: one that is only blocked has no key. */
async function isKnownAgent(api: Api, id: string): Promise<boolean> {
  try {
    return (await findAgent(api, id)).key_thumbprint !== undefined;
  } catch (error) {
    if (error instanceof Refusal && error.status === 404) return false;
    throw error;
  }
}

async function listAgents(api: Api, state: string): Promise<Agent[]> {
  const found: Agent[] = [];
  for (let query: Record<string, string> | undefined = { state, page_size: '100' }; query !== undefined; ) {
    const reply = await api.call('GET', '/api/agents', { query, isAdmin: true });
    found.push(...readAnswer(agentPage, reply).agents);
    query = nextQuery(reply.headers);
  }
  return found;
}

export function addAgents(program: CommandUnknownOpts): void {
  const agents = program
    .command('agents')
    .description('Agents that have signed the policy: list, show, block, unblock, approve, revoke, unbind');
  agents
    .command('list')
    .description('List the agents of one state, with the keys that they are bound to')
    .addOption(
      new Option('--state <state>', 'active, pending (wait for approval) or blocked').choices(agentState.options).default('active'),
    )
    .action(async ({ state }, command) => {
      const { api, terminal } = openContext(command);
      const found = await listAgents(api, state);
      terminal.table(
        found.map(({ agent_id, key_thumbprint = '-', last_issue, first_seen, block }) => [
          agent_id,
          key_thumbprint,
          block?.reason ?? last_issue ?? first_seen ?? '',
        ]),
      );
      if (found.length === 0) terminal.remark(`No agent is ${state}.`);
      terminal.json(found);
    });
  agents
    .command('show <agent_id>')
    .description(
      'Show the key that an agent is bound to, when it last got a PAT, whether it is blocked, and what it has used of its limits',
    )
    .action(async (id, _, command) => {
      const { api, terminal } = openContext(command);
      terminal.record(await findAgent(api, id));
    });
  agents
    .command('block <agent_id>')
    .description('Keep an agent out: no PAT is issued to its id or its key, and none is accepted')
    .requiredOption('--reason <text>', 'why, for other admins; the agent is not told')
    .option('-y, --yes', 'also if no agent has this id yet')
    .action(async (id, { reason, yes }, command) => {
      const { api, terminal } = openContext(command);
      const isKnown = await isKnownAgent(api, id);
      if (!isKnown && !yes) {
        const unknown = 'No agent of this id has a PAT; a block would wait for it.';
        if (!terminal.isInteractive) throw new CliFailure('failure', `${unknown} Nothing was changed. Check the id, or give --yes.`);
        await terminal.requireConfirmation(`${unknown} Block ${id} all the same?`, yes);
      }
      const blocked = readAnswer(agent, await api.call('PUT', `${agentPath(id)}/block`, { body: { reason }, isAdmin: true }));
      terminal.result(
        blocked,
        isKnown
          ? `${id} is blocked, under this id and its key, until you unblock it. None of its calls is sent any more.`
          : `No agent of this id has a PAT; the block waits for it, until you unblock ${id}.`,
      );
    });
  agents
    .command('unblock <agent_id>')
    .description('Lift the block of an agent')
    .action(async (id, _, command) => {
      const { api, terminal } = openContext(command);
      await api.call('DELETE', `${agentPath(id)}/block`, { isAdmin: true });
      terminal.result({ agent_id: id, unblocked: true }, `${id} is no longer blocked. PATs that have not expired are accepted again.`);
    });
  agents
    .command('approve <agent_id>')
    .description('Let an agent that waits for approval have PATs, with the key that it has presented')
    .option('-y, --yes', 'without asking')
    .action(async (id, { yes }, command) => {
      const { api, terminal } = openContext(command);
      const { key_thumbprint = '' } = await findAgent(api, id);
      await terminal.requireConfirmation(`Let ${id} have PATs, with the key whose thumbprint is ${key_thumbprint}?`, yes);
      const approved = readAnswer(agent, await api.call('POST', `${agentPath(id)}/approve`, { body: { key_thumbprint }, isAdmin: true }));
      terminal.result(approved, `${id} may have PATs from now on, with this key.`);
    });
  agents
    .command('revoke <agent_id>')
    .description('Refuse every PAT that the agent has got until now; it may ask for another: block it to keep it out')
    .action(async (id, _, command) => {
      const { api, terminal } = openContext(command);
      const revoked = readAnswer(agent, await api.call('POST', `${agentPath(id)}/revoke`, { body: {}, isAdmin: true }));
      terminal.result(
        revoked,
        `The PATs of ${id} are refused from now on. It may sign the policy again; "agents block" is what keeps it out.`,
      );
    });
  agents
    .command('unbind <agent_id>')
    .description('Free the agent_id for another key, and refuse every PAT that it has got; a block stays')
    .option('-y, --yes', 'without asking')
    .action(async (id, { yes }, command) => {
      const { api, terminal } = openContext(command);
      await terminal.requireConfirmation(`Free ${id} for whichever key comes next?`, yes);
      await api.call('DELETE', agentPath(id), { isAdmin: true });
      terminal.result({ agent_id: id, unbound: true }, `${id} is free for another key.`);
    });
}
