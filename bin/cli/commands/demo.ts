import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { CliFailure, usageFailure } from '../../../registry/failure.ts';
import { parseExact } from '../../../schemas/number.ts';
import { readDescription } from '../../local/stack-file.ts';
import { type CliContext, chooseBaseUrl, openContext } from '../context.ts';
import { printLine } from '../terminal.ts';

export function addDemo(program: CommandUnknownOpts): void {
  program
    .command('demo')
    .description('Play an agent step by step against a gate with the demo intents; starts a local gate if none is running')
    .action((_, command) => runDemo(openContext(command)));
  program
    .command('smoke <address>')
    .description('Smoke-test a deployment: check that it is up, and that a PAT can be issued, verified and used. Registers nothing')
    .option('--intent <uid>', 'also execute this intent')
    .option('--parameters <json>', 'its parameters', '{}')
    .action(async (address, { intent: intentUid, parameters }) => {
      const baseUrl = chooseBaseUrl(address);
      const { shakeHands } = await import('../../demo/handshake.ts');
      const startedMs = performance.now();
      const options = { intentUid, parameters: readParameters(parameters) };
      for await (const [name, { status, durationMs }, seen] of shakeHands(baseUrl, options))
        printLine(`${String(status).padStart(3)} ${`${Math.round(durationMs)} ms`.padStart(8)}  ${name.padEnd(28)} ${seen}`);
      printLine(`\nAll checks passed in ${Math.round(performance.now() - startedMs)} ms.`);
    });
}

/** The gate given by the user, else the local one if it is running. */
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
  if (found === undefined) say('No gate is running, so the demo starts one; this takes a few seconds.\n');
  const own = found === undefined ? await startOwn(interrupted.signal) : undefined;
  const baseUrl = found ?? own?.base_url ?? '';
  try {
    say(`An agent meets the gate at ${baseUrl} for the first time.\n`);
    let number = 0;
    for await (const step of play(baseUrl)) {
      (isJson ? showStepAsJson : showStep)(step, ++number);
      if (interrupted.signal.aborted) throw new CliFailure('interrupted', 'Stopped.');
    }
    say('Done: the agent found an intent, accepted the policy and executed the intent, and the gate enforced the policy.');
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
    throw usageFailure('--parameters must be JSON.');
  }
}
