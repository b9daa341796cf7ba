import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { isRunning } from './files.ts';

/** A problem that the user can fix: shown as one sentence, without a stack trace. */
export class StartError extends Error {
  override readonly name = 'StartError';
}

/**
 * Creates a stack's folders: `kept` is `path`, which is locked, and `scratch` is deleted on release.
 * @throws StartError if another stack uses `path`, or if it is not writable
 */
export function openDataFolder(path?: string) {
  const kept = path === undefined ? undefined : resolve(path);
  const unlock = kept === undefined ? () => {} : lock(kept);
  sweep();
  const scratch = mkdtempSync(join(tmpdir(), `${scratchPrefix}${process.pid}-`));
  const release = () => {
    rmSync(scratch, { recursive: true, force: true });
    unlock();
  };
  return { kept, scratch, release };
}

function lock(folder: string): () => void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const unlock = tryLock(folder);
    if (unlock) return unlock;
  } catch (error) {
    throw new StartError(
      `The data folder ${folder} cannot be used (${(error as NodeJS.ErrnoException).code}). Choose a folder that you can write to.`,
    );
  }
  throw new StartError(`The data folder ${folder} is in use by another stack. Stop that stack, or choose another folder.`);
}

/**
 * Locks a folder with a SQLite transaction that stays open, so that the operating system releases the lock whenever the process ends.
 * @returns a function that releases the lock; undefined if another process holds it
 */
export function tryLock(folder: string): (() => void) | undefined {
  const database = new DatabaseSync(join(folder, 'lock'));
  try {
    database.exec('BEGIN EXCLUSIVE');
    return () => database.close();
  } catch (error) {
    database.close();
    if ((error as { errcode?: number }).errcode === sqliteBusy) return undefined;
    throw error;
  }
}

const sqliteBusy = 5;
const scratchPrefix = 'intent-gate-';

function sweep(): void {
  for (const name of readdirSync(tmpdir())) {
    const owner = new RegExp(`^${scratchPrefix}(\\d+)-`).exec(name)?.[1];
    if (owner !== undefined && !isRunning(Number(owner))) rmSync(join(tmpdir(), name), { recursive: true, force: true });
  }
}
