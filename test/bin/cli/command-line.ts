import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

export interface Outcome {
  code: number | null;
  stdout: string;
  stderr: string;
}

const program = fileURLToPath(new URL('../../../bin/intent-gate.js', import.meta.url));

/** The command line as a process of its own, with tokens and keys in a folder of its own. */
export async function openCommandLine(folder: string, environment: Record<string, string> = {}) {
  const home = await mkdtemp(join(folder, 'home-'));
  const runProcess = async (
    command: string,
    words: readonly string[],
    input: string,
    isUnread = false,
    onStarted: (child: ChildProcess) => Promise<void> = async () => {},
  ): Promise<Outcome> => {
    const child = spawn(command, words, {
      cwd: folder,
      env: { PATH: process.env.PATH, INTENT_GATE_HOME: home, ...environment },
      stdio: 'pipe',
    });
    child.stdin.end(input);
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
    if (isUnread) child.stdout.destroy();
    const [stdout, stderr] = await Promise.all([isUnread ? '' : text(child.stdout), text(child.stderr), onStarted(child)]);
    return { code: await ended, stdout, stderr };
  };
  /** @param isUnread - whether nobody reads what it writes to stdout */
  const run = (words: readonly string[], input = '', isUnread = false, onStarted?: (child: ChildProcess) => Promise<void>) =>
    runProcess(process.execPath, [program, ...words], input, isUnread, onStarted);
  /** A script for bash in which `npx intent-gate` runs this program. */
  const runScript = (script: string) =>
    runProcess('bash', ['-euo', 'pipefail', '-c', `npx() { shift; "${process.execPath}" "${program}" "$@"; }\n${script}`], '');
  return { run, runScript, home };
}

export type CommandLine = Awaited<ReturnType<typeof openCommandLine>>;
