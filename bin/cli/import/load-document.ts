import { realpathSync } from 'node:fs';
import { dirname, relative, resolve, sep } from 'node:path';
import { bundle } from '@scalar/json-magic/bundle';
import type { EgressRules } from '../../../functions/core/relay/egress.ts';
import { CliFailure } from '../failure.ts';
import { readBytes, readText } from '../input.ts';
import { decodeText, readDocument } from './document.ts';
import { openFetcher } from './fetch-document.ts';
import { locate, type Note, node, unreadMember } from './node.ts';

/** A document with the files that it refers to, as one. */
export interface Loaded {
  document: unknown;
  /** files that could not be read: references to them stay as they are */
  notes: Note[];
}

/** Where the files of one document are. */
interface Library {
  /** path or address of the document */
  origin: string;
  /** the path or address that a reference means in a file of the library; undefined if it leads out of it */
  find(reference: string, from: string): string | undefined;
  read(path: string): Promise<Uint8Array> | Uint8Array;
  /** what people call a file: its path below the folder of the document */
  nameOf(path: string): string;
}

const isDocumentName = (path: string): boolean => /\.(json|ya?ml)$/i.test(path);
const withoutFragment = (reference: string): string => reference.split('#')[0] ?? '';

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
  return load(text, {
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
    return await load(decodeText(await fetcher.fetch(address)), {
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

async function load(text: string, library: Library): Promise<Loaded> {
  const { origin, find, nameOf } = library;
  const read = readDocument(text);
  const document = locate(read);
  const isLeft = (reference: string, from: string) => !reference.startsWith('#') && find(reference, from) === undefined;
  if (!hasReference(document, (reference) => !reference.startsWith('#') && !isLeft(reference, origin)))
    return { document: read, notes: [] };
  const notes: Note[] = [];
  const readPart = async (path: string) => {
    try {
      const raw = decodeText(await library.read(path));
      return { ok: true, data: locate(readDocument(raw), `${nameOf(path)}#`), raw } as const;
    } catch (error) {
      if (!(error instanceof CliFailure)) throw error;
      notes.push({ path: nameOf(path), note: `the file was not read: ${error.message}` });
      return { ok: true, data: { [unreadMember]: `leads to ${nameOf(path)}, which was not read` }, raw: '' } as const;
    }
  };
  const whole = await bundle(node(document), {
    origin,
    treeShake: false,
    traversal: 'document',
    preserveReference: (reference, { origin: from }) => isLeft(reference, from),
    // a file is checked again before it is read: a schema's $id can turn a reference into one to another file
    plugins: [
      { type: 'loader', validate: () => true, exec: async (path) => (find(path, origin) === undefined ? { ok: false } : readPart(path)) },
    ],
  });
  return { document: whole, notes };
}

function hasReference(value: unknown, suits: (reference: string) => boolean): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { $ref } = node(value);
  return (typeof $ref === 'string' && suits($ref)) || Object.values(value).some((member) => hasReference(member, suits));
}
