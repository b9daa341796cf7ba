import { createWriteStream, existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { foldName } from '../schemas/text.ts';
import { CliFailure, usageFailure } from './failure.ts';
import { type FileService, readRegistryFile } from './file.ts';
import { makeFileName } from './import/naming.ts';
import { readInput } from './input.ts';

/**
 * Writes a file atomically.
 * @throws CliFailure if it cannot be written
 */
export async function writeWhole(path: string, content: AsyncIterable<string> | Iterable<string>): Promise<void> {
  const beside = `${path}.new-${process.pid}`;
  try {
    // pipes and devices cannot be replaced by renaming
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

/** Names that Windows keeps for devices. */
const isReserved = (name: string): boolean => /^(con|prn|aux|nul|(com|lpt)\d)$/.test(name);

const registryFilesIn = (folder: string): string[] =>
  readdirSync(folder)
    .filter((name) => /\.(json|ya?ml)$/i.test(name))
    .sort();

/**
 * Writes one file per service, and leaves other files in the folder alone.
 * @param names - service names, by the name or id that the caller gave
 * @returns the registry files of the folder that it has not written
 */
export async function exportToFolder(
  folder: string,
  names: ReadonlyMap<string, string>,
  read: (asked: readonly string[]) => AsyncIterable<string>,
  ending: string,
): Promise<string[]> {
  try {
    mkdirSync(folder, { recursive: true });
  } catch (cause) {
    throw new CliFailure('usage', `Cannot write to the folder ${folder}.`, { cause });
  }
  const taken = new Set<string>();
  for (const [asked, name] of names) {
    const made = makeFileName(name) || 'service';
    const slug = isReserved(made) ? `${made}-service` : made;
    let file = slug;
    for (let number = 2; taken.has(file); number++) file = `${slug}-${number}`;
    taken.add(file);
    await writeWhole(join(folder, `${file}.${ending}`), read([asked]));
  }
  return registryFilesIn(folder).filter((name) => !name.endsWith(`.${ending}`) || !taken.has(name.slice(0, -ending.length - 1)));
}

/** The services in a registry file, or in all registry files of a folder. */
export async function readRegistry(path: string): Promise<FileService[]> {
  if (!existsSync(path) || !statSync(path).isDirectory()) return readRegistryFile(await readInput(path));
  const files = registryFilesIn(path);
  if (files.length === 0) throw usageFailure(`The folder ${path} has no JSON or YAML file.`);
  const services: FileService[] = [];
  const seen = new Map<string, string>();
  for (const file of files) {
    for (const service of readRegistryFile(await readInput(join(path, file)), file)) {
      const { service_name: name } = service.service;
      for (const { id, shown } of [
        { id: foldName(name), shown: `service ${name}` },
        ...service.intents.map(({ intent_uid: uid }) => ({ id: uid, shown: `intent ${uid}` })),
      ]) {
        const other = seen.get(id);
        if (other !== undefined) throw usageFailure(`The ${shown} is in ${other} and in ${file}. Remove it from one of them.`);
        seen.set(id, file);
      }
      services.push(service);
    }
  }
  return services;
}
