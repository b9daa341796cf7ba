import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { usageFailure } from './failure.ts';
import { readDocument } from './import/document.ts';

/** The text of a file, or of stdin for `-`. */
export async function readText(file: string): Promise<string> {
  if (file === '-') return text(process.stdin);
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const reason =
      { ENOENT: 'does not exist', EISDIR: 'is a folder', EACCES: 'cannot be read by you' }[code ?? ''] ?? `cannot be read (${code})`;
    throw usageFailure(`The file ${file} ${reason}.`);
  }
}

/** Reads JSON or YAML from a file or stdin. */
export const readInput = async (file: string): Promise<unknown> => readDocument(await readText(file));
