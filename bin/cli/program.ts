import { Command, CommanderError } from '@commander-js/extra-typings';
import { IntentGateError, RateLimited, Refusal, Unreachable } from '../../client/errors.ts';
import { toPrintableJson } from '../../client/printable.ts';
import { version } from '../../lib/version.ts';
import type { Issue } from '../../schemas/errors.ts';
import { addAgents } from './commands/agents.ts';
import { addConform } from './commands/conform.ts';
import { addDemo } from './commands/demo.ts';
import { addHistory } from './commands/history.ts';
import { addImport } from './commands/import.ts';
import { addIntents } from './commands/intents.ts';
import { addLogin } from './commands/login.ts';
import { addMcp } from './commands/mcp.ts';
import { addPolicy } from './commands/policy.ts';
import { addRegistry } from './commands/registry.ts';
import { addServices } from './commands/services.ts';
import { addTry } from './commands/try.ts';
import { addTypes } from './commands/types.ts';
import { CliFailure, type ExitReason, exitCodes } from './failure.ts';
import { printRemark } from './terminal.ts';

const help = `
Exit codes: 0 done, 1 refused or failed, 2 the registry or policy is not as the file says, 3 wrong usage or file,
4 not signed in or not an admin, 5 nothing answers.

Variables: INTENT_GATE_URL address of the gate, INTENT_GATE_TOKEN admin token in place of a login,
INTENT_GATE_HOME folder of tokens and keys, NO_COLOR no colour.`;

/** The commands, with their options and help. */
export function createProgram() {
  const program = new Command('intent-gate')
    .description('Works with an Intent Gate, as an admin or as an agent')
    .version(version, '--version', 'says which version this is')
    .option('--url <address>', 'address of the gate; default: INTENT_GATE_URL, else the one that "npm start" runs here')
    .option('--json', 'results as JSON')
    .showHelpAfterError('(--help shows what there is)')
    .addHelpText('after', help)
    .exitOverride();
  for (const add of [
    addLogin,
    addServices,
    addIntents,
    addImport,
    addRegistry,
    addTry,
    addTypes,
    addMcp,
    addAgents,
    addHistory,
    addPolicy,
    addConform,
    addDemo,
  ])
    add(program);
  return program;
}

/**
 * Runs one command.
 * @param words - the command line without the program
 * @returns the exit code
 */
export async function runCommand(words: readonly string[], program: Pick<Command, 'parseAsync'> = createProgram()): Promise<number> {
  try {
    await program.parseAsync(words, { from: 'user' });
    return exitCodes.ok;
  } catch (error) {
    // commander has said already what is wrong
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
    const complaint = toComplaint(error);
    if (complaint === undefined) throw error;
    if (words.includes('--json')) printRemark(toPrintableJson({ error: complaint.error }));
    else complain(complaint);
    return exitCodes[complaint.reason];
  }
}

/** What is wrong, if it is something that a command may end with; for programs in the gate's own form. */
function toComplaint(error: unknown) {
  const complain = (reason: ExitReason, code: string, details: Record<string, unknown> = {}) => ({
    reason,
    error: { code, message: (error as Error).message, details },
  });
  if (error instanceof CliFailure) return complain(error.reason, error.reason, { issues: error.issues });
  if (error instanceof Refusal) return complain([401, 403].includes(error.status) ? 'credentials' : 'failure', error.code, error.details);
  if (error instanceof RateLimited) return complain('failure', error.code);
  if (error instanceof Unreachable) return complain('unreachable', 'unreachable');
  return error instanceof IntentGateError ? complain('failure', 'failure') : undefined;
}

function complain({ reason, error: { code, message, details } }: NonNullable<ReturnType<typeof toComplaint>>): void {
  printRemark(code === reason ? message : `${code}: ${message}`);
  const { issues, changes, nearest, request_id } = details as Partial<Record<'changes' | 'nearest', string[]>> & {
    issues?: Issue[];
    request_id?: string;
  };
  for (const { path, problem } of issues ?? []) printRemark(`  ${path || '/'} ${problem}`);
  for (const change of changes ?? []) printRemark(`  ${change}`);
  if (nearest) printRemark(`  the nearest: ${nearest.join(', ')}`);
  if (request_id !== undefined) printRemark(`  request ${request_id}`);
}
