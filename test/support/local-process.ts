import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join, resolve } from 'node:path';
import { close, listen } from '../../bin/local/http.ts';
import type { StackDescription } from '../../bin/local/stack-file.ts';

export interface LocalProcess {
  child: ChildProcess;
  description: StackDescription;
}

/** A port of this machine that nobody uses yet. */
export async function findFreePort(): Promise<number> {
  const server = createServer();
  const port = await listen(server);
  await close(server);
  return port;
}

/**
 * Starts `npm start` in a process of its own, and waits until it can be used.
 * @param folder - its working directory
 * @param loaded - a module that it loads first
 */
export async function startLocal(folder: string, args: string[], env: NodeJS.ProcessEnv, loaded?: string): Promise<LocalProcess> {
  const program = [...(loaded === undefined ? [] : ['--import', resolve(loaded)]), resolve('bin/run.js'), resolve('bin/local.ts')];
  const child = spawn(process.execPath, [...program, ...args], {
    cwd: folder,
    env: { ...process.env, NODE_OPTIONS: '', npm_lifecycle_event: '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  const { promise, resolve: isReady, reject } = Promise.withResolvers<void>();
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      output = (output + chunk).slice(-20_000);
      if (output.includes('Press Ctrl-C to stop.')) isReady();
    });
  }
  child.once('close', () => reject(new Error(`the stack does not start: ${output}`)));
  await promise;
  return { child, description: JSON.parse(readFileSync(join(folder, '.local', 'stack.json'), 'utf8')) };
}
