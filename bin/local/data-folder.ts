import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/** Something that the person who started the stack can put right: shown as one sentence, without a stack trace. */
export class StartError extends Error {
  override readonly name = 'StartError';
}

/** Where a running stack keeps what it has. */
export interface DataFolder {
  /** stays when the stack ends; undefined where nothing is to be kept */
  kept: string | undefined;
  /** gone when the stack ends */
  scratch: string;
  release(): void;
}

/**
 * Makes the folders of one stack, and takes `path` for it alone.
 * @throws StartError where another stack has it, or it cannot be written to
 */
export function openDataFolder(path?: string): DataFolder {
  const kept = path === undefined ? undefined : resolve(path);
  const unlock = kept === undefined ? () => {} : lock(kept);
  const scratch = mkdtempSync(join(tmpdir(), 'intent-gate-'));
  const release = () => {
    rmSync(scratch, { recursive: true, force: true });
    unlock();
  };
  return { kept, scratch, release };
}

function lock(folder: string): () => void {
  const file = join(folder, 'in-use-by');
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const holder = Number(readIfThere(file));
    if (holder > 0 && isRunning(holder))
      throw new StartError(`The data folder ${folder} is in use by process ${holder}. Stop that one, or name another folder.`);
    writeFileSync(file, String(process.pid));
  } catch (error) {
    if (error instanceof StartError) throw error;
    throw new StartError(
      `The data folder ${folder} cannot be used (${(error as NodeJS.ErrnoException).code}). Name one that can be written to.`,
    );
  }
  return () => rmSync(file, { force: true });
}

function readIfThere(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
}

function isRunning(processId: number): boolean {
  try {
    return process.kill(processId, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
