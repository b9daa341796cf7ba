import { type CommandUnknownOpts, Option } from '@commander-js/extra-typings';
import { Refusal } from '../../../client/errors.ts';
import type { Exchange } from '../../../client/http.ts';
import { type Agent, type AgentWithUsage, agent, agentAddress, agentPage, agentState, agentWithUsage } from '../../../schemas/agent.ts';
import { readAnswer } from '../../probes.ts';
import type { Api } from '../api.ts';
import { openContext } from '../context.ts';
import { CliFailure } from '../failure.ts';
import { nextQuery } from '../registry/read.ts';

/** Calls an endpoint of one agent, whatever its id is. */
function callAgent(
  api: Api,
  method: string,
  id: string | undefined,
  key: string | undefined,
  operation = '',
  body?: object,
): Promise<Exchange> {
  if (id === undefined && key === undefined)
    throw new CliFailure('usage', 'Name the agent by its agent_id, by --key with the thumbprint of its key, or by both.');
  const { path, query } = agentAddress(id, key);
  return api.call(method, `${path}${operation}`, { query, isAdmin: true, ...(body && { body }) });
}

const findAgent = async (api: Api, id: string | undefined, key: string | undefined): Promise<AgentWithUsage> =>
  readAnswer(agentWithUsage, await callAgent(api, 'GET', id, key));

const keyOption = '--key <thumbprint>';
const keyHelp = 'the RFC 7638 thumbprint of its key, in place of the agent_id or beside it';
const nameOf = (id: string | undefined, key: string | undefined): string => id ?? `the agent with the key ${key}`;

/** Whether an agent of this id has been here: one that is only blocked has no key. */
async function isKnownAgent(api: Api, id: string | undefined, key: string | undefined): Promise<boolean> {
  try {
    return (await findAgent(api, id, key)).key_thumbprint !== undefined;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    if (error.status === 404) return false;
    // several keys wait under it
    if (error.status === 409 && key === undefined) return true;
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
    .description('Agents that have signed the policy: list, show, block, unblock, approve, clear-waiting, revoke, unbind');
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
    .command('show [agent_id]')
    .option(keyOption, keyHelp)
    .description(
      'Show the key that an agent is bound to, when it last got a PAT, whether it is blocked, and what it has used of its limits',
    )
    .action(async (id, { key }, command) => {
      const { api, terminal } = openContext(command);
      terminal.record(await findAgent(api, id, key));
    });
  agents
    .command('block [agent_id]')
    .option(keyOption, keyHelp)
    .description('Keep an agent out: no PAT is issued to its id or its key, and none is accepted')
    .requiredOption('--reason <text>', 'why, for other admins; the agent is not told')
    .option('-y, --yes', 'also if no agent has this id yet')
    .action(async (id, { reason, yes, key }, command) => {
      const { api, terminal } = openContext(command);
      const isKnown = await isKnownAgent(api, id, key);
      if (!isKnown && !yes) {
        const unknown = 'No agent of this id has a PAT; a block would wait for it.';
        if (!terminal.isInteractive) throw new CliFailure('failure', `${unknown} Nothing was changed. Check the id, or give --yes.`);
        await terminal.requireConfirmation(`${unknown} Block ${nameOf(id, key)} all the same?`, yes);
      }
      const blocked = readAnswer(agent, await callAgent(api, 'PUT', id, key, '/block', { reason }));
      terminal.result(
        blocked,
        isKnown
          ? `${blocked.agent_id} is blocked, under this id and its key, until you unblock it. None of its calls is sent any more.`
          : `No agent of this id has a PAT; the block waits for it, until you unblock ${blocked.agent_id}.`,
      );
    });
  agents
    .command('unblock [agent_id]')
    .option(keyOption, keyHelp)
    .description('Lift the block of an agent')
    .action(async (id, { key }, command) => {
      const { api, terminal } = openContext(command);
      await callAgent(api, 'DELETE', id, key, '/block');
      terminal.result(
        { agent_id: id, key_thumbprint: key, unblocked: true },
        `${nameOf(id, key)} is no longer blocked. PATs that have not expired are accepted again.`,
      );
    });
  agents
    .command('approve [agent_id]')
    .option(keyOption, keyHelp)
    .description('Let an agent have PATs, with the key that waits for approval; with --key, also before it asks')
    .option('-y, --yes', 'without asking')
    .action(async (id, { yes, key }, command) => {
      const { api, terminal } = openContext(command);
      const asked = id !== undefined && key !== undefined ? { agent_id: id, key_thumbprint: key } : await findAgent(api, id, key);
      const { agent_id, key_thumbprint } = asked;
      await terminal.requireConfirmation(`Let ${agent_id} have PATs, with the key whose thumbprint is ${key_thumbprint}?`, yes);
      const approved = readAnswer(agent, await callAgent(api, 'POST', agent_id, key_thumbprint, '/approve', {}));
      terminal.result(approved, `${agent_id} may have PATs from now on, with this key.`);
    });
  agents
    .command('clear-waiting')
    .description('Remove every request for approval; agents may ask again')
    .option('-y, --yes', 'without asking')
    .action(async ({ yes }, command) => {
      const { api, terminal } = openContext(command);
      await terminal.requireConfirmation('Remove every request for approval?', yes);
      await api.call('DELETE', '/api/agents', { query: { state: 'pending' }, isAdmin: true });
      terminal.result({ cleared: true }, 'No agent waits for approval any more.');
    });
  agents
    .command('revoke [agent_id]')
    .option(keyOption, keyHelp)
    .description('Refuse every PAT that the agent has got until now; it may ask for another: block it to keep it out')
    .action(async (id, { key }, command) => {
      const { api, terminal } = openContext(command);
      const revoked = readAnswer(agent, await callAgent(api, 'POST', id, key, '/revoke', {}));
      terminal.result(
        revoked,
        `The PATs of ${revoked.agent_id} are refused from now on. It may sign the policy again; "agents block" is what keeps it out.`,
      );
    });
  agents
    .command('unbind [agent_id]')
    .option(keyOption, keyHelp)
    .description('Free the agent_id for another key, and refuse every PAT that it has got; a block stays')
    .option('-y, --yes', 'without asking')
    .action(async (id, { yes, key }, command) => {
      const { api, terminal } = openContext(command);
      await terminal.requireConfirmation(`Free the agent_id of ${nameOf(id, key)} for whichever key comes next?`, yes);
      await callAgent(api, 'DELETE', id, key);
      terminal.result({ agent_id: id, key_thumbprint: key, unbound: true }, `The agent_id of ${nameOf(id, key)} is free for another key.`);
    });
}
