import { Command, CommanderError } from 'commander';
import { version } from '../../lib/version.ts';
import { ApiFailure } from './api.ts';
import { addAgents } from './commands/agents.ts';
import { addConform } from './commands/conform.ts';
import { addImport } from './commands/import.ts';
import { addIntents } from './commands/intents.ts';
import { addLogin } from './commands/login.ts';
import { addPolicy } from './commands/policy.ts';
import { addRegistry } from './commands/registry.ts';
import { addServices } from './commands/services.ts';
import { addTry } from './commands/try.ts';
import { CliFailure, exitCodes } from './failure.ts';

const help = `
Exit codes: 0 done, 1 refused or failed, 2 the registry or policy is not as the file says, 3 wrong usage or file,
4 not signed in or not an admin, 5 nothing answers.

Variables: INTENT_GATE_URL address of the service, INTENT_GATE_TOKEN admin token in place of a login,
INTENT_GATE_HOME folder of tokens and keys, NO_COLOR no colour.`;

function createProgram(): Command {
  const program = new Command('intent-gate')
    .description('Works with an Intent Gate, as an admin or as an agent')
    .version(version, '--version', 'says which version this is')
    .option('--url <address>', 'address of the service; default: INTENT_GATE_URL, else the one that "npm start" runs here')
    .option('--json', 'results as JSON')
    .showHelpAfterError('(--help shows what there is)')
    .addHelpText('after', help)
    .exitOverride();
  for (const add of [addLogin, addServices, addIntents, addImport, addRegistry, addTry, addAgents, addPolicy, addConform]) add(program);
  return program;
}

/**
 * Runs one command.
 * @param words - the command line without the program
 * @returns the exit code
 */
export async function runCommand(words: readonly string[]): Promise<number> {
  try {
    await createProgram().parseAsync(words, { from: 'user' });
    return exitCodes.ok;
  } catch (error) {
    // commander has said already what is wrong
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
    if (!(error instanceof CliFailure)) throw error;
    (words.includes('--json') ? complainAsJson : complain)(error);
    return exitCodes[error.reason];
  }
}

function complain(failure: CliFailure): void {
  const { code, details }: { code?: string; details: Record<string, unknown> } = failure instanceof ApiFailure ? failure : { details: {} };
  console.error(code === undefined ? failure.message : `${code}: ${failure.message}`);
  for (const { path, problem } of failure.issues) console.error(`  ${path || '/'} ${problem}`);
  for (const change of Array.isArray(details.changes) ? details.changes : []) console.error(`  ${change}`);
  if (typeof details.request_id === 'string') console.error(`  request ${details.request_id}`);
}

/** For programs: one object on stderr, in the service's own form where the service has spoken. */
function complainAsJson(failure: CliFailure): void {
  const { code, details } = failure instanceof ApiFailure ? failure : { code: failure.reason, details: { issues: failure.issues } };
  console.error(JSON.stringify({ error: { code, message: failure.message, details } }));
}
