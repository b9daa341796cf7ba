import { accessSync, constants, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { Command, InvalidArgumentError } from '@commander-js/extra-typings';
import { StartError } from './local/data-folder.ts';
import { readHost } from './local/guard.ts';
import { showAnswered, showLog, showStart, showWarnings } from './local/show.ts';
import { startStack } from './local/stack.ts';
import { findOther, keepDescribed, stackFile } from './local/stack-file.ts';
import { settingOption } from './options.ts';

function readPort(text: string): number {
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535) throw new StartError('The port must be a number from 0 to 65535.');
  return Number(text);
}

function addHost(text: string, others: string[] = []): string[] {
  if (!readHost(text)) throw new InvalidArgumentError('It must be a host name with an optional port, for example host.docker.internal.');
  return [...others, text];
}

const program = new Command('npm start --')
  .description('Start the whole gate on this machine. With the variable DYNAMODB_ENDPOINT, it uses that DynamoDB instead of its own')
  .option('--port <number>', 'port to listen on; default: the variable PORT, else 8080; 0 picks a free port', readPort)
  .option('--host <address>', 'address to listen on; default: the variable HOST, else 127.0.0.1')
  .option('--allow-host <name>', 'another host name to accept, for example host.docker.internal; repeatable', addHost)
  .option('--data <folder>', 'folder that keeps data, keys and users; default: nothing is kept')
  .option('--policy <file>', 'usage policy; default: bin/local/policy.json, the shipped policy with one more prohibition')
  .addOption(settingOption)
  .showHelpAfterError();

/** @throws StartError for unknown settings, which the app would ignore */
async function requireSettings(names: readonly string[]): Promise<void> {
  if (names.length === 0) return;
  const { describeUnknown } = await import('../lib/settings.ts');
  const mistake = describeUnknown(names);
  if (mistake !== undefined) throw new StartError(mistake);
}

/** Waits for Ctrl-C, another signal, or the exit of npm, whose signals do not get past the shell in between. */
function waitForEnd(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => resolve());
    const parent = process.ppid;
    if (process.env.npm_lifecycle_event) setInterval(() => process.ppid === parent || resolve(), 250).unref();
  });
}

/** @throws StartError if the stack file cannot be written */
function requireWritable(): void {
  const folder = dirname(stackFile());
  try {
    mkdirSync(folder, { recursive: true });
    accessSync(folder, constants.W_OK);
  } catch (error) {
    throw new StartError(
      `The folder ${folder} is not writable (${(error as NodeJS.ErrnoException).code}). Start from a copy of the project that you can write to.`,
    );
  }
}

async function run(): Promise<void> {
  const { PORT, HOST } = process.env;
  const { port = readPort(PORT || '8080'), host = HOST, allowHost: allowHosts = [], ...given } = program.parse().opts();
  const { data, policy, context } = given;
  await requireSettings(Object.keys(context));
  requireWritable();
  const giveUp = new AbortController();
  const ended = waitForEnd();
  void ended.then(() => giveUp.abort());
  let isReady = false;
  const { definitionOf, kmsOperations, signIn, stop, ...description } = await startStack({
    port,
    signal: giveUp.signal,
    onAnswered: (answered) => isReady && showAnswered(answered),
    onLog: showLog,
    allowHosts,
    context,
    environment: { LOG_MESSAGES: 'true' },
    ...(host && { host }),
    ...(data !== undefined && { dataFolder: data }),
    ...(policy !== undefined && { policyFile: policy }),
  });
  const forget = keepDescribed(description, signIn);
  showStart(description, context.signIn !== 'false');
  showWarnings(description);
  const other = findOther(description);
  if (other) {
    console.log(
      `Commands use the stack that already runs at ${other.base_url}. For this one, set INTENT_GATE_URL=${description.base_url}\n`,
    );
  }
  isReady = true;
  await ended;
  forget();
  await stop();
}

try {
  await run();
} catch (error) {
  if ((error as Error).name === 'AbortError') process.exitCode = 130;
  else if (!(error instanceof StartError)) throw error;
  else {
    console.error(error.message);
    process.exitCode = 1;
  }
}
