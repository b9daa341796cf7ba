import { randomUUID } from 'node:crypto';
import { mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { IntentGateError } from './errors.ts';

/**
 * Reads a JSON file that contains secrets.
 * @returns undefined if there is none
 * @throws IntentGateError if others can read it, or look into its folder
 */
export async function readPrivateJson(path: string): Promise<unknown> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (text === undefined) return undefined;
  await requirePrivate(path, '600');
  await requirePrivate(dirname(path), '700');
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new IntentGateError('DAMAGED_FILE', `The file ${path} is damaged. Remove it, and it is made anew.`, { cause });
  }
}

/** @throws IntentGateError */
async function requirePrivate(path: string, mode: string): Promise<void> {
  if (process.platform !== 'win32' && ((await stat(path)).mode & 0o077) !== 0)
    throw new IntentGateError('UNSAFE_FILE', `Others can read ${path}, which contains secrets. Make it private: chmod ${mode} ${path}`);
}

/** Makes the folder of a file that contains secrets. */
export async function makePrivateFolder(path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
}

/** Writes a JSON file that only its owner may read. It is written beside and moved, so that a reader never sees half of it. */
export async function writePrivateJson(path: string, value: unknown): Promise<void> {
  await makePrivateFolder(path);
  const draft = join(dirname(path), `${randomUUID()}.draft`);
  await writeFile(draft, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600, flag: 'wx' });
  await rename(draft, path);
}
