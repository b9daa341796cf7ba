import { fileURLToPath } from 'node:url';
import type { Command, CommandUnknownOpts } from '@commander-js/extra-typings';
import { acceptForMcp, confirmOnTerminal, type McpOptions, mcpArguments, serveMcp } from '../../../client/mcp-program.ts';
import { usageFailure } from '../../../registry/failure.ts';
import { chooseBaseUrl, openContext } from '../context.ts';
import { printJson } from '../terminal.ts';

/** The command that starts this program. Any Node will do, because the program finds a suitable one itself. */
const program = ['node', fileURLToPath(new URL('../../intent-gate.js', import.meta.url)), 'mcp'];

const addOptions = (command: Command<[string | undefined]>) =>
  command
    .option('--agent-id <id>', 'id of the agent; default: derived from its key')
    .option('--folder <folder>', 'folder for the key, PATs and acceptance; default: INTENT_GATE_HOME, else ~/.intent-gate')
    .option('--public-url <address>', 'public address of the gate, if it differs from the one used to reach it')
    .option('--agent-directory <origin>', "https origin whose Web Bot Auth directory lists the agent's key");

export function addMcp(parent: CommandUnknownOpts): void {
  const mcp = parent
    .command('mcp')
    .description('Connect Model Context Protocol hosts to a gate over standard input and output, with a separate key and PATs');
  addOptions(mcp.command('serve [address]', { isDefault: true }))
    .description('Serve a gate to the host that starts this command')
    .option('--config', 'print the configuration for a host instead of serving')
    .action(async (address, { config, ...options }, command) => {
      const given = readOptions(address, options, command);
      if (config) printConfiguration(given);
      else await serveMcp(given);
    });
  addOptions(mcp.command('accept [address]'))
    .description('Show the usage policy of a gate and, if you accept it, sign it; for hosts that cannot prompt you')
    .option('--yes', 'accept without asking')
    .action(async (address, { yes, ...options }, command) => {
      const { terminal } = openContext(command);
      const given = readOptions(address, options, command);
      const signer = await acceptForMcp(given, async () => yes ?? confirmOnTerminal('Accept it for this agent?'));
      terminal.json({ agent_id: signer.agentId });
    });
}

function readOptions(
  address: string | undefined,
  { publicUrl, ...options }: Pick<McpOptions, 'agentId' | 'agentDirectory' | 'folder' | 'publicUrl'>,
  command: Parameters<typeof openContext>[0],
): McpOptions {
  const { url } = openContext(command);
  if (address !== undefined && url !== undefined) throw usageFailure('Give the address either as an argument or with --url, not both.');
  return {
    ...options,
    url: chooseBaseUrl(address ?? url),
    publicUrl: publicUrl === undefined ? undefined : chooseBaseUrl(publicUrl),
    program,
  };
}

/** Includes the path of this Node, because hosts started from a desktop often cannot find one. */
const printConfiguration = (options: McpOptions): void => {
  const args = [...program.slice(1), ...mcpArguments(options)];
  printJson({ mcpServers: { 'intent-gate': { command: process.execPath, args } } });
};
