import { createWriteStream, existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { CliFailure, usageFailure } from '../failure.ts';
import { makeFileName } from '../import/naming.ts';
import { readInput } from '../input.ts';
import { type FileService, readRegistryFile } from './file.ts';

/**
 * Writes a file as a whole or not at all: what was there before stays until everything is written.
 * @throws CliFailure if it cannot be written
 */
export async function writeWhole(path: string, content: AsyncIterable<string>): Promise<void> {
  const beside = `${path}.new-${process.pid}`;
  try {
    // to a pipe or device nothing can be renamed
    if (existsSync(path) && !statSync(path).isFile()) return await pipeline(content, createWriteStream(path));
    await pipeline(content, createWriteStream(beside, { flush: true }));
    renameSync(beside, path);
  } catch (cause) {
    rmSync(beside, { force: true });
    if (isFileError(cause)) throw new CliFailure('usage', `The file ${path} cannot be written (${cause.code}).`, { cause });
    throw cause;
  }
}

const isFileError = (error: unknown): error is NodeJS.ErrnoException =>
  error instanceof Error && 'syscall' in error && 'path' in error && 'code' in error;

/**
 * Writes a file for each service. Files of other services that are there stay.
 * @param names - of the services, by what each was asked for by
 * @param read - the registry file of some services
 */
export async function exportToFolder(
  folder: string,
  names: ReadonlyMap<string, string>,
  read: (asked: readonly string[]) => AsyncIterable<string>,
  ending: string,
): Promise<void> {
  try {
    mkdirSync(folder, { recursive: true });
  } catch (cause) {
    throw new CliFailure('usage', `The folder ${folder} cannot be written to.`, { cause });
  }
  const taken = new Set<string>();
  for (const [asked, name] of names) {
    const slug = makeFileName(name) || 'service';
    let file = slug;
    for (let number = 2; taken.has(file); number++) file = `${slug}-${number}`;
    taken.add(file);
    await writeWhole(join(folder, `${file}.${ending}`), read([asked]));
  }
}

/**
 * The services of a registry file, or of all registry files in a folder.
 * @throws CliFailure
 */
export async function readRegistry(path: string): Promise<FileService[]> {
  if (!existsSync(path) || !statSync(path).isDirectory()) return readRegistryFile(await readInput(path));
  const files = readdirSync(path)
    .filter((name) => /\.(json|ya?ml)$/i.test(name))
    .sort();
  if (files.length === 0) throw usageFailure(`The folder ${path} has no JSON or YAML file.`);
  const services: FileService[] = [];
  const seen = new Map<string, string>();
  for (const file of files) {
    for (const service of readRegistryFile(await readInput(join(path, file)), file)) {
      for (const { intent_uid } of service.intents) {
        const other = seen.get(intent_uid);
        if (other !== undefined) throw usageFailure(`The intent ${intent_uid} is in ${other} and in ${file}. Remove it from one of them.`);
        seen.set(intent_uid, file);
      }
      services.push(service);
    }
  }
  return services;
}
