import { fileURLToPath } from 'node:url';
import { type CommandUnknownOpts, Option } from '@commander-js/extra-typings';
import { acceptForMcp, confirmOnTerminal, type McpOptions, mcpArguments, serveMcp } from '../../../client/mcp-program.ts';
import { chooseBaseUrl, openContext } from '../context.ts';
import { usageFailure } from '../failure.ts';
import { printJson } from '../terminal.ts';

/** How this program is started, by whatever Node: it finds one that is new enough by itself. */
const program = ['node', fileURLToPath(new URL('../../intent-gate.js', import.meta.url)), 'mcp'];

const agentId = () => new Option('--agent-id <id>', "the agent's name for itself; default: a name derived from its key");
const publicUrl = () =>
  new Option('--public-url <address>', "the gate's own address for itself, if it differs from the one at which it is reached");
const folder = () =>
  new Option('--folder <folder>', 'folder for the key, PATs and acceptance; default: INTENT_GATE_HOME, else ~/.intent-gate');

export function addMcp(parent: CommandUnknownOpts): void {
  const mcp = parent
    .command('mcp')
    .description('Connect hosts of the Model Context Protocol to a gate: on standard input and output, with a key and PATs of its own');
  mcp
    .command('serve [address]', { isDefault: true })
    .description('Serve a gate to the host that starts this')
    .addOption(agentId())
    .addOption(folder())
    .addOption(publicUrl())
    .option('--config', 'print the configuration with which a host starts this, in place of serving')
    .action(async (address, { config, ...options }, command) => {
      const given = readOptions(address, options, command);
      if (config) printConfiguration(given);
      else await serveMcp(given);
    });
  mcp
    .command('accept [address]')
    .description('Show the usage policy of a gate, and sign it if you accept it: for hosts that cannot ask you')
    .addOption(agentId())
    .addOption(folder())
    .addOption(publicUrl())
    .option('--yes', 'accept without asking')
    .action(async (address, { yes, ...options }, command) => {
      const { terminal } = openContext(command);
      const given = readOptions(address, options, command);
      const signer = await acceptForMcp(given, async () => yes ?? confirmOnTerminal('Accept it, for every use by this agent?'));
      terminal.json({ agent_id: signer.agentId });
    });
}

function readOptions(
  address: string | undefined,
  { publicUrl, ...options }: Pick<McpOptions, 'agentId' | 'folder' | 'publicUrl'>,
  command: Parameters<typeof openContext>[0],
): McpOptions {
  const { url } = openContext(command);
  if (address !== undefined && url !== undefined) throw usageFailure('Give one address: as a word, or with --url.');
  return {
    ...options,
    url: chooseBaseUrl(address ?? url),
    publicUrl: publicUrl === undefined ? undefined : chooseBaseUrl(publicUrl),
    program,
  };
}

/** Names this very Node: hosts that are started from a desktop often find none. */
const printConfiguration = (options: McpOptions): void => {
  const args = [...program.slice(1), ...mcpArguments(options)];
  printJson({ mcpServers: { 'intent-gate': { command: process.execPath, args } } });
};
