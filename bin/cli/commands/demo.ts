import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { parseExact } from '../../../schemas/number.ts';
import { readDescription } from '../../local/stack-file.ts';
import { type CliContext, chooseBaseUrl, openContext } from '../context.ts';
import { CliFailure, usageFailure } from '../failure.ts';
import { printLine } from '../terminal.ts';

export function addDemo(program: CommandUnknownOpts): void {
  program
    .command('demo')
    .description('Play an agent, step by step, against a gate that has the demo intents; one is started if none runs here')
    .action((_, command) => runDemo(openContext(command)));
  program
    .command('smoke <address>')
    .description(
      'Check a deployment from outside: it is up, its policy can be signed, a PAT is issued, verifies and works. Registers nothing',
    )
    .option('--intent <uid>', 'also run this intent')
    .option('--parameters <json>', 'its parameters', '{}')
    .option('--protocol <name>', 'what replaces "proto" in the names of members; default: what the gate uses')
    .action(async (address, { intent: intentUid, parameters, protocol }) => {
      const baseUrl = chooseBaseUrl(address);
      const { shakeHands } = await import('../../demo/handshake.ts');
      const startedMs = performance.now();
      const options = { protocol, intentUid, parameters: readParameters(parameters) };
      for await (const [name, { status, durationMs }, seen] of shakeHands(baseUrl, options))
        printLine(`${String(status).padStart(3)} ${`${Math.round(durationMs)} ms`.padStart(8)}  ${name.padEnd(28)} ${seen}`);
      printLine(`\nAll of it held. ${Math.round(performance.now() - startedMs)} ms together.`);
    });
}

/** The gate to play against: the one that is named, else the one that `npm start` runs here, unless that was killed and only its file is left. */
async function findGate(url: string | undefined): Promise<string | undefined> {
  if (url ?? process.env.INTENT_GATE_URL) return chooseBaseUrl(url);
  const running = readDescription()?.base_url;
  const answered = running && (await fetch(`${running}/health`, { signal: AbortSignal.timeout(5_000) }).catch(() => undefined));
  return answered ? running : undefined;
}

async function runDemo({ url, terminal: { isJson, say } }: CliContext): Promise<void> {
  const [{ play }, { showStep, showStepAsJson }] = await Promise.all([import('../../demo/play.ts'), import('../../demo/show.ts')]);
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupted.abort());
  const found = await findGate(url);
  if (found === undefined) say('No gate runs here, so one is started for the demo; this takes some seconds.\n');
  const own = found === undefined ? await startOwn(interrupted.signal) : undefined;
  const baseUrl = found ?? own?.base_url ?? '';
  try {
    say(`An agent that has never heard of the gate at ${baseUrl} goes to work.\n`);
    let number = 0;
    for await (const step of play(baseUrl)) {
      (isJson ? showStepAsJson : showStep)(step, ++number);
      if (interrupted.signal.aborted) throw new CliFailure('interrupted', 'Stopped.');
    }
    say('That is all: found, understood, agreed, done, and held to the agreement.');
  } finally {
    await own?.stop();
  }
}

async function startOwn(signal: AbortSignal) {
  const [{ startStack }, { StartError }] = await Promise.all([import('../../local/stack.ts'), import('../../local/data-folder.ts')]);
  return startStack({ port: 0, quiet: true, signal }).catch((cause) => {
    if (signal.aborted) throw new CliFailure('interrupted', 'Stopped.', { cause });
    throw cause instanceof StartError ? new CliFailure('failure', cause.message, { cause }) : cause;
  });
}

function readParameters(text: string): object {
  try {
    return parseExact(text) as object;
  } catch {
    throw usageFailure('--parameters takes the parameters of the intent as JSON.');
  }
}
