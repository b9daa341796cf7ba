import { readFileSync } from 'node:fs';
import { buffer } from 'node:stream/consumers';
import type * as z from 'zod';
import { parse } from '../functions/core/json/json.ts';
import { ApiError } from '../functions/core/runtime/api-error.ts';
import type { Issue } from '../schemas/errors.ts';
import { usageFailure } from './failure.ts';
import { decodeText, readDocument } from './import/document.ts';

/** The text of a file; - for stdin. */
export const readText = async (file: string): Promise<string> => decodeText(file === '-' ? await buffer(process.stdin) : readBytes(file));

export function readBytes(file: string): Uint8Array {
  try {
    return readFileSync(file);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const reason =
      { ENOENT: 'does not exist', EISDIR: 'is a folder', EACCES: 'is not readable (permission denied)' }[code ?? ''] ??
      `cannot be read (${code})`;
    throw usageFailure(`The file ${file} ${reason}.`);
  }
}

export const readInput = async (file: string): Promise<unknown> => readDocument(await readText(file));

/** @throws CliFailure `usage` with this message and all issues */
export function parseInput<T extends z.ZodType>(schema: T, given: unknown, message: string): z.output<T> {
  try {
    return parse(schema, given);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    throw usageFailure(message, error.details.issues as Issue[]);
  }
}
