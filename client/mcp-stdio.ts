#!/usr/bin/env node
import { parseArgs } from 'node:util';
import { readAddress } from './address.ts';
import { acceptForMcp, confirmOnTerminal, type McpOptions, say, serveMcp } from './mcp-program.ts';

const usage = `intent-gate-mcp accept URL    shows the usage policy, and signs it if you accept it
intent-gate-mcp URL           serves the gate's MCP endpoint on standard input and output, with its own key and PATs

  --agent-id ID         id of the agent; default: derived from its key
  --folder DIR          folder for the key, PATs and acceptance; default: INTENT_GATE_HOME, else ~/.intent-gate
  --public-url URL      public address of the gate, if it differs from the one used to reach it
  --agent-directory URL https origin whose Web Bot Auth directory lists the agent's key
  --yes                 accept without asking`;

/**
 * @returns undefined for help
 * @throws TypeError if the arguments are invalid
 */
function readCommandLine() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      'agent-id': { type: 'string' },
      folder: { type: 'string' },
      'public-url': { type: 'string' },
      'agent-directory': { type: 'string' },
      yes: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help) return undefined;
  const isAccepting = positionals[0] === 'accept';
  const [given, ...more] = isAccepting ? positionals.slice(1) : positionals;
  if (given === undefined) throw new TypeError('Give the address of the gate.');
  if (more.length > 0) throw new TypeError('Give only one address.');
  const options: McpOptions = {
    url: readAddress(given).replace(/\/mcp(\/sign-in)?$/, ''),
    agentId: values['agent-id'],
    folder: values.folder,
    agentDirectory: values['agent-directory'],
    publicUrl: values['public-url'] === undefined ? undefined : readAddress(values['public-url']),
    program: ['node', process.argv[1] ?? ''],
  };
  return { isAccepting, isSure: values.yes, options };
}

async function run(): Promise<number> {
  let command: ReturnType<typeof readCommandLine>;
  try {
    command = readCommandLine();
  } catch (error) {
    say(`${(error as TypeError).message}\n\n${usage}`);
    return 2;
  }
  if (command === undefined) {
    say(usage);
    return 0;
  }
  const { isAccepting, isSure, options } = command;
  try {
    if (isAccepting) await acceptForMcp(options, async () => isSure || confirmOnTerminal('Accept it for this agent?'));
    else await serveMcp(options);
    return 0;
  } catch (error) {
    say((error as Error).message);
    return 1;
  }
}

process.exitCode = await run();
