import { accessSync, constants, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { StartError } from './local/data-folder.ts';
import { readHost } from './local/guard.ts';
import { showAnswered, showLog, showStart, showWarnings } from './local/show.ts';
import { startStack } from './local/stack.ts';
import { findOther, keepDescribed, stackFile } from './local/stack-file.ts';
import { readOptions } from './options.ts';

const usage = `npm start -- [--port NUMBER] [--host ADDRESS] [--allow-host NAME ...] [--data DIR] [--policy FILE] [-c NAME=VALUE ...]

Starts the whole gate on this machine.
  --port NUMBER  port to listen on; default: the variable PORT, else 8080; 0 picks a free port
  --host ADDRESS address to listen on; default: the variable HOST, else 127.0.0.1
  --allow-host NAME
                 another host name to accept, for example host.docker.internal; repeatable
  --data DIR     folder that keeps data, keys and users; default: nothing is kept
  --policy FILE  usage policy; default: bin/local/policy.json, the shipped policy with one more prohibition
  -c, --context NAME=VALUE
                 a setting, as for "cdk deploy": -c protocol=uim; repeatable. Settings in cdk.json apply here too
Set DYNAMODB_ENDPOINT to use another DynamoDB instead of the local one.`;

const options = {
  port: { type: 'string' },
  host: { type: 'string' },
  data: { type: 'string' },
  policy: { type: 'string' },
  'allow-host': { type: 'string', multiple: true },
  context: { type: 'string', short: 'c', multiple: true },
} as const;

function requireHost(text: string): void {
  if (readHost(text)) return;
  throw new StartError(`--allow-host must be a host name with an optional port, for example --allow-host host.docker.internal.\n${usage}`);
}

function readSetting(text: string): [name: string, value: string] {
  const [, name, value] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
  if (name === undefined || value === undefined) throw new StartError(`-c must be NAME=VALUE, for example -c protocol=uim.\n${usage}`);
  return [name, value];
}

/** @throws StartError for unknown settings, which the app would ignore */
async function requireSettings(names: readonly string[]): Promise<void> {
  if (names.length === 0) return;
  const { describeUnknown } = await import('../lib/settings.ts');
  const mistake = describeUnknown(names);
  if (mistake !== undefined) throw new StartError(mistake);
}

function readPort(text: string): number {
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535) throw new StartError('The port must be a number from 0 to 65535.');
  return Number(text);
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
  const given = readOptions(options, usage);
  const { port = PORT || '8080', host = HOST, 'allow-host': allowHosts = [], data, policy, context: settings = [] } = given;
  const context = Object.fromEntries(settings.map(readSetting));
  for (const name of allowHosts) requireHost(name);
  await requireSettings(Object.keys(context));
  requireWritable();
  const giveUp = new AbortController();
  const ended = waitForEnd();
  void ended.then(() => giveUp.abort());
  let isReady = false;
  const { definitionOf, kmsOperations, signIn, stop, ...description } = await startStack({
    port: readPort(port),
    signal: giveUp.signal,
    onAnswered: (answered) => isReady && showAnswered(answered),
    onLog: showLog,
    allowHosts,
    context,
    ...(host && { host }),
    ...(data !== undefined && { dataFolder: data }),
    ...(policy !== undefined && { policyFile: policy }),
  });
  const forget = keepDescribed(description, signIn);
  showStart(description);
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
