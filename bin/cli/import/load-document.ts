import { realpathSync } from 'node:fs';
import { dirname, relative, resolve, sep } from 'node:path';
import type { EgressRules } from '../../../functions/core/relay/egress.ts';
import { CliFailure } from '../failure.ts';
import { readBytes, readText } from '../input.ts';
import { decodeText } from './document.ts';
import { openFetcher } from './fetch-document.ts';
import { isDocumentName, joinFiles, type Loaded, withoutFragment } from './join-files.ts';

/** How many files are fetched at a time. */
const fetchesAtOnce = 8;

/** Most files that are fetched. */
const maxFetches = 5_000;

/**
 * Reads a document and the JSON and YAML files that it refers to, as one document. Only files in its folder and below it are read, and nothing is
 * fetched: other references stay as they are.
 * @throws DocumentError
 */
export async function loadFile(file: string): Promise<Loaded> {
  const text = await readText(file);
  const origin = resolve(file);
  const folder = realpathSync(dirname(origin));
  // links are resolved first, so that none leads out of the folder
  const isBelow = (path: string): boolean => {
    try {
      return isDocumentName(path) && realpathSync(path).startsWith(folder.replace(/[\\/]?$/, sep));
    } catch {
      return false;
    }
  };
  return joinFiles(text, {
    origin,
    find: (reference, from) => {
      const path = resolve(dirname(from), withoutFragment(reference));
      return isBelow(path) ? path : undefined;
    },
    read: readBytes,
    nameOf: (path) => relative(folder, realpathSync(path)),
  });
}

/**
 * As {@link loadFile} for a document in the network: the files below its address are fetched under the rules that calls of intents follow.
 * @throws DocumentError
 */
export async function loadAddress(address: string, rules: EgressRules): Promise<Loaded> {
  const fetcher = openFetcher(rules);
  const folder = new URL('.', address).href;
  const queues = Array.from({ length: fetchesAtOnce }, () => Promise.resolve());
  let count = 0;
  const read = async (path: string): Promise<Uint8Array> => {
    if (++count > maxFetches) throw new CliFailure('failure', `more than ${maxFetches} files are not fetched`);
    const fetched = (queues[count % fetchesAtOnce] ?? Promise.resolve()).then(() => fetcher.fetch(path));
    queues[count % fetchesAtOnce] = fetched.then(
      () => {},
      () => {},
    );
    return fetched;
  };
  try {
    return await joinFiles(decodeText(await fetcher.fetch(address)), {
      origin: address,
      find: (reference, from) => {
        const url = URL.parse(withoutFragment(reference), from);
        // an encoded slash may be read as one, and then lead out of the folder
        if (url === null || !url.href.startsWith(folder) || !isDocumentName(url.pathname) || /%2f|%5c/i.test(url.pathname))
          return undefined;
        return url.href;
      },
      read,
      nameOf: (path) => path.slice(folder.length),
    });
  } finally {
    fetcher.close();
  }
}
