import { type CommandUnknownOpts, Option } from '@commander-js/extra-typings';
import { Refusal } from '../../../client/errors.ts';
import type { Exchange } from '../../../client/http.ts';
import { type Api, readAnswer } from '../../../registry/api.ts';
import { CliFailure, usageFailure } from '../../../registry/failure.ts';
import { readPages } from '../../../registry/read.ts';
import { operand } from '../../../registry/shell-words.ts';
import { agent, agentAddress, agentPage, agentState, agentWithUsage } from '../../../schemas/agents/agents.ts';
import { openContext } from '../context.ts';

type Id = string | undefined;

function callAgent(api: Api, method: string, id: Id, key: Id, operation = '', body?: object): Promise<Exchange> {
  if (id === undefined && key === undefined) throw usageFailure('Give an agent_id, --key with the thumbprint of its key, or both.');
  const { path, query } = agentAddress(id, key);
  return api.call(method, `${path}${operation}`, { query, isAdmin: true, ...(body && { body }) });
}

const findAgent = async (api: Api, id: Id, key: Id) => readAnswer(agentWithUsage, await callAgent(api, 'GET', id, key));

const nameOf = (id: Id, key: Id): string => id ?? `the agent with the key ${key}`;

/** Whether an agent with this id has used the gate. An id that was only blocked has no key. */
async function isKnownAgent(api: Api, id: Id, key: Id): Promise<boolean> {
  try {
    return (await findAgent(api, id, key)).key_thumbprint !== undefined;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    if (error.status === 404) return false;
    // several keys are pending under this id
    if (error.status === 409 && key === undefined) return true;
    throw error;
  }
}

export function addAgents(program: CommandUnknownOpts): void {
  const agents = program.command('agents').description('Manage agents');
  const addAgentCommand = (verb: string, description: string) =>
    agents
      .command(`${verb} [agent_id]` as const)
      .description(description)
      .option('--key <thumbprint>', 'RFC 7638 thumbprint of its key, instead of or in addition to the agent_id');

  agents
    .command('list')
    .description('List the agents in one state, with their keys')
    .addOption(
      new Option('--state <state>', 'active, pending (waiting for approval) or blocked').choices(agentState.options).default('active'),
    )
    .action(async ({ state }, command) => {
      const { api, terminal } = openContext(command);
      const found = (await Array.fromAsync(readPages(api, '/api/agents', { state }, agentPage, true))).flatMap((page) => page.agents);
      terminal.list(
        ['Agent', 'Key', 'Domain', state === 'blocked' ? 'Reason' : state === 'active' ? 'Last PAT' : 'Since'],
        found.map(({ agent_id, key_thumbprint = '-', agent_domain = '', last_issue, first_seen, block }) => [
          agent_id,
          key_thumbprint,
          agent_domain,
          block?.reason ?? last_issue ?? first_seen ?? '',
        ]),
        found,
      );
      if (found.length === 0) terminal.remark(`No agent is ${state}.`);
    });
  addAgentCommand('show', "Show an agent's key, last PAT and block, and how much of its limits it has used").action(
    async (id, { key }, command) => {
      const { api, terminal } = openContext(command);
      terminal.record(await findAgent(api, id, key));
    },
  );
  addAgentCommand('block', 'Block an agent: no PAT is issued to, or accepted from, its id or key')
    .requiredOption('--reason <text>', 'shown to other admins, but not to the agent')
    .option('-y, --yes', 'block the id even if no agent uses it yet')
    .action(async (id, { reason, yes, key }, command) => {
      const { api, terminal } = openContext(command);
      const isKnown = await isKnownAgent(api, id, key);
      if (!isKnown && !yes) {
        const unknown = 'No agent with this id has a PAT yet.';
        if (!terminal.isInteractive) throw new CliFailure('failure', `${unknown} Nothing was changed. Check the id, or use --yes.`);
        await terminal.requireConfirmation(`${unknown} Block ${nameOf(id, key)} anyway?`, yes);
      }
      const blocked = readAnswer(agent, await callAgent(api, 'PUT', id, key, '/block', { reason }));
      terminal.result(
        blocked,
        isKnown
          ? `Blocked ${blocked.agent_id}, by id and key, until you unblock it with: intent-gate agents unblock ${operand(blocked.agent_id)}. No more of its calls will be sent.`
          : `Blocked ${blocked.agent_id} until you unblock it. No agent with this id has a PAT yet.`,
      );
    });
  addAgentCommand('unblock', 'Unblock an agent').action(async (id, { key }, command) => {
    const { api, terminal } = openContext(command);
    await callAgent(api, 'DELETE', id, key, '/block');
    terminal.result(
      { agent_id: id, key_thumbprint: key, unblocked: true },
      `Unblocked ${nameOf(id, key)}. Its unexpired PATs are accepted again.`,
    );
  });
  addAgentCommand('approve', 'Approve an agent with the key that waits for approval, or in advance with --key')
    .option('-y, --yes', 'do not ask for confirmation')
    .action(async (id, { yes, key }, command) => {
      const { api, terminal } = openContext(command);
      const asked = id !== undefined && key !== undefined ? { agent_id: id, key_thumbprint: key } : await findAgent(api, id, key);
      const { agent_id, key_thumbprint } = asked;
      await terminal.requireConfirmation(`Approve ${agent_id} with the key whose thumbprint is ${key_thumbprint}?`, yes);
      const approved = readAnswer(agent, await callAgent(api, 'POST', agent_id, key_thumbprint, '/approve', {}));
      terminal.result(approved, `Approved ${agent_id}. It can get PATs with this key.`);
    });
  agents
    .command('approve-domain <domain>')
    .description('Approve all agents that are verified for a domain; with --remove, withdraw the approval')
    .option('--remove', 'withdraw the approval; agents of the domain that have had no PAT need approval again')
    .option('-y, --yes', 'do not ask for confirmation')
    .action(async (domain, { remove, yes }, command) => {
      const { api, terminal } = openContext(command);
      const question = remove ? `Withdraw the approval of ${domain}?` : `Approve every agent that is, or will be, verified for ${domain}?`;
      await terminal.requireConfirmation(question, yes);
      await api.call(remove ? 'DELETE' : 'PUT', `/api/agent-domains/${encodeURIComponent(domain)}`, { isAdmin: true });
      terminal.result(
        { domain, approved: !remove },
        remove ? `${domain} is no longer approved.` : `Approved ${domain}. Its agents can get PATs.`,
      );
    });
  agents
    .command('clear-waiting')
    .description('Remove all pending requests for approval; agents can request it again')
    .option('-y, --yes', 'do not ask for confirmation')
    .action(async ({ yes }, command) => {
      const { api, terminal } = openContext(command);
      await terminal.requireConfirmation('Remove all pending requests for approval?', yes);
      await api.call('DELETE', '/api/agents', { query: { state: 'pending' }, isAdmin: true });
      terminal.result({ cleared: true }, 'Removed all pending requests for approval.');
    });
  addAgentCommand('revoke', 'Revoke all PATs of an agent; unless it is blocked, it can get new ones').action(
    async (id, { key }, command) => {
      const { api, terminal } = openContext(command);
      const revoked = readAnswer(agent, await callAgent(api, 'POST', id, key, '/revoke', {}));
      terminal.result(revoked, `Revoked all PATs of ${revoked.agent_id}. It can get new ones; to bar it, use "agents block".`);
    },
  );
  addAgentCommand('unbind', 'Release an agent_id for use with another key and revoke its PATs; a block remains')
    .option('-y, --yes', 'do not ask for confirmation')
    .action(async (id, { yes, key }, command) => {
      const { api, terminal } = openContext(command);
      await terminal.requireConfirmation(`Release the agent_id of ${nameOf(id, key)} for the next key that uses it?`, yes);
      await callAgent(api, 'DELETE', id, key);
      terminal.result({ agent_id: id, key_thumbprint: key, unbound: true }, `Released the agent_id of ${nameOf(id, key)}.`);
    });
}
