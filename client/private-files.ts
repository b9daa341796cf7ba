import { randomUUID } from 'node:crypto';
import { mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { IntentGateError } from './errors.ts';

/** @throws IntentGateError UNUSABLE_FILE naming the file, instead of an error of the file system */
const usingFile = <T>(path: string, done: 'read' | 'written', work: Promise<T>): Promise<T> =>
  work.catch((cause: NodeJS.ErrnoException) => {
    throw new IntentGateError('UNUSABLE_FILE', `The file ${path} cannot be ${done} (${cause.code}).`, { cause });
  });

/**
 * @returns undefined if the file does not exist
 * @throws IntentGateError if it cannot be read, or if other users can read the file or its folder
 */
export async function readPrivateJson(path: string): Promise<unknown> {
  const read = readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  const text = await usingFile(path, 'read', read);
  if (text === undefined) return undefined;
  await requirePrivate(path, '600');
  await requirePrivate(dirname(path), '700');
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw damagedFile(path, cause);
  }
}

export const damagedFile = (path: string, cause: unknown): IntentGateError =>
  new IntentGateError('DAMAGED_FILE', `The file ${path} is damaged. Remove it; a new one is created.`, { cause });

async function requirePrivate(path: string, mode: string): Promise<void> {
  if (process.platform !== 'win32' && ((await stat(path)).mode & 0o077) !== 0)
    throw new IntentGateError('UNSAFE_FILE', `Others can read ${path}, which contains secrets. Make it private: chmod ${mode} ${path}`);
}

/** Writes a file in its folder, which is created if necessary, with `place`, which gets the draft; only its owner can read it. @throws IntentGateError */
export const writePrivate = (path: string, text: string, place: (draft: string) => Promise<void>): Promise<void> =>
  usingFile(
    path,
    'written',
    (async () => {
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      const draft = join(dirname(path), `${randomUUID()}.draft`);
      try {
        await writeFile(draft, text, { mode: 0o600, flag: 'wx' });
        await place(draft);
      } finally {
        await rm(draft, { force: true });
      }
    })(),
  );

/** Replaces the file atomically. @throws IntentGateError */
export const writePrivateJson = (path: string, value: unknown): Promise<void> =>
  writePrivate(path, `${JSON.stringify(value, null, 2)}\n`, (draft) => rename(draft, path));
