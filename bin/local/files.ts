import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';

/** The content of a JSON file; undefined if there is no such file. */
export const readJson = (path: string): unknown => (existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : undefined);

/** Writes a JSON file that only its owner may read: as a whole or not at all. */
export function writeJson(path: string, value: unknown): void {
  writeFileSync(`${path}.new`, JSON.stringify(value, null, 2), { mode: 0o600, flush: true });
  renameSync(`${path}.new`, path);
}

/** Whether a process of this machine runs. */
export function isRunning(processId: number): boolean {
  try {
    return process.kill(processId, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
