import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { StackDescription } from '../../../bin/local/stack-file.ts';

export interface Outcome {
  code: number | null;
  stdout: string;
  stderr: string;
}

const program = fileURLToPath(new URL('../../../bin/intent-gate.js', import.meta.url));
const server = fileURLToPath(new URL('serve-commands.ts', import.meta.url));

/** The command line, with tokens and keys in a separate folder. */
export async function openCommandLine(folder: string, environment: Record<string, string> = {}) {
  const home = await mkdtemp(join(folder, 'home-'));
  const env = { PATH: process.env.PATH, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE, INTENT_GATE_HOME: home, ...environment };
  let serving: ChildProcess | undefined;
  const serve = (): ChildProcess => {
    const child = fork(server, { cwd: folder, env, execArgv: [], stdio: 'ignore' });
    child.unref();
    child.channel?.unref();
    return child;
  };
  const runProcess = async (
    command: string,
    words: readonly string[],
    input: string,
    isUnread = false,
    onStarted: (child: ChildProcess) => Promise<void> = async () => {},
  ): Promise<Outcome> => {
    const child = spawn(command, words, {
      cwd: folder,
      env,
      stdio: 'pipe',
    });
    child.stdin.end(input);
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
    if (isUnread) child.stdout.destroy();
    const [stdout, stderr] = await Promise.all([isUnread ? '' : text(child.stdout), text(child.stderr), onStarted(child)]);
    return { code: await ended, stdout, stderr };
  };
  const ask = async (words: readonly string[], input: string): Promise<Outcome> => {
    serving = serving?.connected ? serving : serve();
    const over = new AbortController();
    serving.channel?.ref();
    try {
      serving.send({ words, input });
      const [outcome] = await Promise.race((['message', 'exit'] as const).map((event) => once(serving as ChildProcess, event, over)));
      if (typeof outcome !== 'object') throw new Error(`${words.join(' ')} ended the process that serves commands.`);
      return outcome;
    } finally {
      over.abort();
      serving.channel?.unref();
    }
  };
  let last: Promise<unknown> = Promise.resolve();
  /** In a process that runs commands one after another. */
  const run = (words: readonly string[], input = ''): Promise<Outcome> => {
    const outcome = last.then(() => ask(words, input));
    last = outcome.catch(() => {});
    return outcome;
  };
  /** In a separate process. @param isUnread - whether its stdout is closed without being read */
  const runAlone = (words: readonly string[], input = '', isUnread = false, onStarted?: (child: ChildProcess) => Promise<void>) =>
    runProcess(process.execPath, [program, ...words], input, isUnread, onStarted);
  /** A script for bash in which `npx intent-gate` runs this program. */
  const runScript = (script: string) =>
    runProcess('bash', ['-euo', 'pipefail', '-c', `npx() { shift; "${process.execPath}" "${program}" "$@"; }\n${script}`], '');
  /** The output of a command. @throws if its exit code is not 0 */
  const succeed = async (...words: string[]): Promise<string> => {
    const { code, stdout, stderr } = await run(words);
    if (code !== 0) throw new Error(`${words.join(' ')} ended with ${code}: ${stderr}${stdout}`);
    return stdout;
  };
  const succeedJson = async (...words: string[]) => JSON.parse(await succeed(...words, '--json'));
  return { run, runAlone, runScript, succeed, succeedJson, home };
}

export type CommandLine = Awaited<ReturnType<typeof openCommandLine>>;

/** The command line in a folder from which a local stack was started, signed in there. */
export async function openSignedIn(folder: string, stack: StackDescription, environment?: Record<string, string>): Promise<CommandLine> {
  await mkdir(join(folder, '.local'));
  await writeFile(join(folder, '.local', 'stack.json'), JSON.stringify(stack));
  const commandLine = await openCommandLine(folder, environment);
  await commandLine.succeed('login', '--local');
  return commandLine;
}
