import { globSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import type { EgressRules } from '../../functions/core/relay/egress.ts';
import { CliFailure, usageFailure } from '../failure.ts';
import { readBytes, readText } from '../input.ts';
import { decodeText } from './document.ts';
import { openFetcher } from './fetch-document.ts';
import { findDocuments, isPartName, joinFiles, type Library, type Loaded } from './join-files.ts';
import { percentDecoded } from './node.ts';

const maxFetches = 5_000;

const maxFiles = 10_000;

/**
 * Reads the document in a file or folder, with the JSON and YAML files in that folder or in `parts` that it refers to. Reads and fetches nothing else.
 * @throws CliFailure
 */
export async function loadFile(source: string, parts?: string, isLarge = false): Promise<Loaded> {
  const isWhole = isFolder(source);
  if (parts !== undefined && !isFolder(parts)) throw usageFailure(`The folder ${parts} does not exist.`);
  const folder = parts ?? (isWhole ? source : undefined);
  const origin = realpathSync.native(isWhole ? await chooseDocument(source, isLarge) : existing(source));
  const root = folder === undefined ? undefined : realpathSync.native(folder);
  const library: Library = {
    origin,
    find: (reference, from) => {
      if (root === undefined || /^[a-z][a-z0-9+.-]+:/i.test(reference)) return undefined;
      const names = [reference, percentDecoded(reference)];
      return names.map((name) => findPart(root, resolve(dirname(from), name))).find((path) => path !== undefined);
    },
    read: readBytes,
    nameOf: (path) => (root !== undefined && path.startsWith(root) ? relative(root, path) : basename(path)),
  };
  return joinFiles(await readText(origin), library, isLarge);
}

/** Resolves symbolic links first, so that none leads out of the folder or to a hidden file. */
function findPart(root: string, file: string): string | undefined {
  try {
    const path = realpathSync.native(file);
    return path.startsWith(root.replace(/[\\/]?$/, sep)) && isPartName(relative(root, path)) && statSync(path).isFile() ? path : undefined;
  } catch {
    return undefined;
  }
}

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

function existing(file: string): string {
  readBytes(file);
  return file;
}

async function chooseDocument(folder: string, isLarge: boolean): Promise<string> {
  const names = globSync('**/*.{json,yaml,yml}', { cwd: folder, exclude: (path) => /(^|[\\/])(\.|node_modules$)/.test(path) })
    .filter(isPartName)
    .map((name) => name.replaceAll(sep, '/'));
  if (names.length === 0) throw usageFailure(`The folder ${folder} has no JSON or YAML file.`);
  if (names.length > maxFiles)
    throw usageFailure(`The folder ${folder} has more than ${maxFiles} files. Give the folder of the document alone.`);
  const found = await findDocuments(names, (name) => readBytes(join(folder, name)), isLarge);
  const [first = '', ...others] = found;
  if (others.length > 0 && !/^(openapi|swagger)\.\w+$/i.test(basename(first)))
    throw usageFailure(
      `The folder ${folder} holds several documents (${found.slice(0, 5).join(', ')}). Give one of them, and the folder with --with ${folder}.`,
    );
  return join(folder, first);
}

/**
 * Fetches a document under the rules for calls, with the files below the URL `parts` that it refers to.
 * @throws CliFailure
 */
export async function loadAddress(address: string, rules: EgressRules, parts?: string, isLarge = false): Promise<Loaded> {
  const fetcher = openFetcher(rules);
  const folder = parts === undefined ? undefined : new URL('.', parts).href;
  let count = 0;
  const read = async (path: string): Promise<Uint8Array> => {
    if (++count > maxFetches) throw new CliFailure('failure', `more than ${maxFetches} files are not fetched`);
    return fetcher.fetch(path);
  };
  try {
    const library: Library = {
      origin: address,
      find: (reference, from) => {
        const url = URL.parse(reference, from);
        if (folder === undefined || url === null || !url.href.startsWith(folder)) return undefined;
        // an encoded slash or dot could lead out of the folder
        if (!isPartName(url.pathname.slice(new URL(folder).pathname.length)) || /%2f|%5c|%2e/i.test(url.pathname)) return undefined;
        return url.href;
      },
      read,
      nameOf: (path) => (folder !== undefined && path.startsWith(folder) ? path.slice(folder.length) : path),
    };
    return await joinFiles(decodeText(await fetcher.fetch(address)), library, isLarge);
  } finally {
    fetcher.close();
  }
}
