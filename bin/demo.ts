import { parseArgs } from 'node:util';
import { DemoFailure } from './demo/call.ts';
import { play } from './demo/play.ts';
import { showStep, showStepAsJson } from './demo/show.ts';
import { StartError } from './local/data-folder.ts';
import { startStack } from './local/stack.ts';
import { readDescription } from './local/stack-file.ts';

const usage = `npm run demo -- [--url ADDRESS] [--json]

Plays an agent against a service: the one at ADDRESS, else the one that "npm start" runs here, else one that it starts for itself.
  --url ADDRESS  base URL of a service that has the demo intents
  --json         one JSON object a step, on a line, in place of words`;

interface Options {
  url?: string;
  json?: boolean;
}

/** The base URL of the stack that "npm start" runs here, if one does; what a killed one left behind does not count. */
async function findRunningStack(): Promise<string | undefined> {
  const url = readDescription()?.base_url;
  const answered = url && (await fetch(`${url}/health`, { signal: AbortSignal.timeout(5_000) }).catch(() => undefined));
  return answered ? url : undefined;
}

function readOptions(): Options & { help?: boolean } {
  try {
    return parseArgs({ options: { url: { type: 'string' }, json: { type: 'boolean' }, help: { type: 'boolean' } } }).values;
  } catch {
    throw new DemoFailure(`The options are not understood.\n${usage}`);
  }
}

async function run({ url, json = false }: Options): Promise<void> {
  if (url !== undefined && !(/^https?:/.test(url) && URL.canParse(url))) {
    throw new DemoFailure('--url takes an address that begins with http:// or https://.');
  }
  const tell = (line: string) => json || console.log(line);
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupted.abort());
  const found = url ?? (await findRunningStack());
  if (found === undefined) tell('No service runs here, so one is started for the demo; this takes some seconds.\n');
  const own = found === undefined ? await startStack({ port: 0, quiet: true, signal: interrupted.signal }) : undefined;
  const baseUrl = (found ?? own?.base_url ?? '').replace(/\/+$/, '');
  try {
    tell(`An agent that has never heard of the service at ${baseUrl} goes to work.\n`);
    let number = 0;
    for await (const step of play(baseUrl)) {
      (json ? showStepAsJson : showStep)(step, ++number);
      interrupted.signal.throwIfAborted();
    }
    tell('That is all: found, understood, agreed, done, and held to the agreement.');
  } finally {
    await own?.stop();
  }
}

try {
  const { help, ...options } = readOptions();
  if (help) console.log(usage);
  else await run(options);
} catch (error) {
  const isInterrupted = (error as Error).name === 'AbortError';
  if (!isInterrupted && !(error instanceof DemoFailure) && !(error instanceof StartError)) throw error;
  if (!isInterrupted) console.error((error as Error).message);
  process.exitCode = isInterrupted ? 130 : 1;
}
