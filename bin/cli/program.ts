import { Command, CommanderError } from '@commander-js/extra-typings';
import { IntentGateError, RateLimited, Refusal, Unreachable } from '../../client/errors.ts';
import { toPrintableJson } from '../../client/printable.ts';
import { version } from '../../lib/version.ts';
import { CliFailure, type ExitReason, exitCodes } from '../../registry/failure.ts';
import type { Issue } from '../../schemas/errors.ts';
import { addCompletion } from './commands/completion.ts';
import { addHistory } from './commands/history.ts';
import { addImport } from './commands/import.ts';
import { addIntents } from './commands/intents.ts';
import { addLogin } from './commands/login.ts';
import { addPat } from './commands/pat.ts';
import { addPolicy } from './commands/policy.ts';
import { addRegistry } from './commands/registry.ts';
import { addServices } from './commands/services.ts';
import { addSmoke } from './commands/smoke.ts';
import { addTry } from './commands/try.ts';
import { addTypes } from './commands/types.ts';
import { features } from './features.ts';
import { printRemark } from './terminal.ts';

const help = `
Exit codes: 0 success, 1 refused or failed, 2 the registry or policy differs from the file, 3 usage error or invalid file,
4 not signed in or not an admin, 5 the gate is unreachable, 130 interrupted.

Environment variables: INTENT_GATE_URL address of the gate, INTENT_GATE_TOKEN admin token used instead of a login,
INTENT_GATE_HOME folder for tokens and keys, HTTPS_PROXY, HTTP_PROXY and NO_PROXY the proxy, NO_COLOR disables colour.`;

/** @param isJson - whether errors of the words themselves are not printed, because the caller prints them as JSON */
export function createProgram(isJson = false) {
  const program = new Command('intent-gate')
    .configureOutput(isJson ? { writeErr: () => {} } : {})
    .description('Manage and use an Intent Gate, as an admin or as an agent')
    .version(version, '--version', 'print the version')
    .option(
      '--url <address>',
      'address of the gate; default: INTENT_GATE_URL, else the local stack started by "npm start", else the only gate you are signed in to',
    )
    .option('--json', 'print results as JSON')
    .option('--csv', 'print lists as CSV')
    .showHelpAfterError('(run with --help for usage)')
    .addHelpText('after', help)
    .exitOverride();
  for (const add of [
    addLogin,
    addServices,
    addIntents,
    addImport,
    addRegistry,
    addTry,
    addPat,
    addTypes,
    addHistory,
    addPolicy,
    ...features,
    addSmoke,
    addCompletion,
  ])
    add(program);
  for (const group of program.commands.flatMap((command) => [command, ...command.commands])) {
    const names = group.commands.map((command) => command.name());
    if (names.length > 0) group.description(`${group.description()}: ${names.join(', ')}`);
  }
  return program;
}

/**
 * @param words - the arguments of the command line
 * @returns the exit code
 */
export async function runCommand(
  words: readonly string[],
  program: Pick<Command, 'parseAsync'> = createProgram(words.includes('--json')),
): Promise<number> {
  try {
    await program.parseAsync(words, { from: 'user' });
    return exitCodes.ok;
  } catch (error) {
    // unless JSON is asked for, commander has printed the message
    if (error instanceof CommanderError && (error.exitCode === 0 || !words.includes('--json')))
      return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
    const complaint = toComplaint(error);
    if (complaint === undefined) throw error;
    if (words.includes('--json')) printRemark(toPrintableJson({ error: complaint.error }));
    else complain(complaint);
    return exitCodes[complaint.reason];
  }
}

/** Whether signing in, or as another admin, would help. Not for a 403 with which the policy refuses an agent's call. */
const isOfAdmin = ({ status, details: { reason } }: Refusal): boolean =>
  status === 401 || (status === 403 && (reason === 'not_admin' || reason === 'namespace'));

/** The key under which a call can be repeated whose outcome is unknown. */
function keyOf(error: unknown) {
  const isKnown = error instanceof Refusal && !error.mayBeDone && (error.status < 500 || error.code === 'INTENT_EXECUTION_FAILED');
  return error instanceof IntentGateError && error.idempotencyKey !== undefined && !isKnown
    ? { idempotency_key: error.idempotencyKey }
    : {};
}

/** The error in the gate's error format; undefined for bugs. */
function toComplaint(error: unknown) {
  const complain = (reason: ExitReason, code: string, details: Record<string, unknown> = {}) => ({
    reason,
    error: { code, message: (error as Error).message, details: { ...details, ...keyOf(error) } },
  });
  if (error instanceof CommanderError) {
    const message = error.code === 'commander.help' ? 'Name a command; --help lists them.' : error.message.replace(/^error: /, '');
    return { reason: 'usage' as const, error: { code: 'usage', message, details: {} } };
  }
  if (error instanceof CliFailure) return complain(error.reason, error.reason, { issues: error.issues });
  if (error instanceof Refusal) return complain(isOfAdmin(error) ? 'credentials' : 'failure', error.code, error.details);
  if (error instanceof RateLimited) return complain('failure', error.code);
  if (error instanceof Unreachable) return complain('unreachable', 'unreachable');
  return error instanceof IntentGateError ? complain('failure', 'failure') : undefined;
}

function complain({ reason, error: { code, message, details } }: NonNullable<ReturnType<typeof toComplaint>>): void {
  printRemark(code === reason ? message : `${code}: ${message}`);
  const { issues, changes, request_id, idempotency_key } = details as Partial<Record<string, string>> & {
    issues?: Issue[];
    changes?: string[];
  };
  for (const { path, problem } of issues ?? []) printRemark(`  ${path || '/'} ${problem}`);
  for (const change of changes ?? []) printRemark(`  ${change}`);
  if (request_id !== undefined) printRemark(`  request ${request_id}`);
  if (idempotency_key !== undefined) printRemark(`  to repeat the call, add --idempotency-key ${idempotency_key}`);
}
