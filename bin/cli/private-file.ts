import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { CliFailure } from './failure.ts';

/** The folder of tokens and keys: `INTENT_GATE_HOME`, else `intent-gate` in `XDG_CONFIG_HOME` or `~/.config`. */
export const privateFolder = (environment: NodeJS.ProcessEnv = process.env): string =>
  environment.INTENT_GATE_HOME || join(environment.XDG_CONFIG_HOME || join(homedir(), '.config'), 'intent-gate');

/** A JSON file that only its owner can read, in the private folder. */
export interface PrivateFile<T> {
  path: string;
  /** @throws CliFailure if others can read the file, or if it is damaged */
  read(): T | undefined;
  write(value: T): void;
  remove(): void;
}

export function openPrivateFile<T>(name: string, folder = privateFolder()): PrivateFile<T> {
  const path = join(folder, name);
  return {
    path,
    read() {
      const found = statSync(path, { throwIfNoEntry: false });
      if (found === undefined) return undefined;
      if (process.platform !== 'win32' && (found.mode & 0o077) !== 0) {
        throw new CliFailure('credentials', `Others can read ${path}, which contains secrets. Make it private: chmod 600 ${path}`);
      }
      try {
        return JSON.parse(readFileSync(path, 'utf8')) as T;
      } catch (cause) {
        throw new CliFailure('failure', `The file ${path} is damaged. Remove it and sign in again.`, { cause });
      }
    },
    /** Written beside and moved, so that a reader never sees half of it. */
    write(value) {
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
      const beside = `${path}.${process.pid}`;
      writeFileSync(beside, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 });
      renameSync(beside, path);
    },
    remove: () => rmSync(path, { force: true }),
  };
}
