import { randomUUID } from 'node:crypto';
import { mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { IntentGateError } from './errors.ts';

/**
 * @returns undefined if the file does not exist
 * @throws IntentGateError if other users can read the file or its folder
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
    throw new IntentGateError('DAMAGED_FILE', `The file ${path} is damaged. Remove it; a new one is created.`, { cause });
  }
}

async function requirePrivate(path: string, mode: string): Promise<void> {
  if (process.platform !== 'win32' && ((await stat(path)).mode & 0o077) !== 0)
    throw new IntentGateError('UNSAFE_FILE', `Others can read ${path}, which contains secrets. Make it private: chmod ${mode} ${path}`);
}

export async function makePrivateFolder(path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
}

/** Replaces the file atomically; only its owner can read it. */
export async function writePrivateJson(path: string, value: unknown): Promise<void> {
  await makePrivateFolder(path);
  const draft = join(dirname(path), `${randomUUID()}.draft`);
  await writeFile(draft, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600, flag: 'wx' });
  await rename(draft, path);
}
