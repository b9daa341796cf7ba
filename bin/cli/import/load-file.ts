import { readFileSync, realpathSync } from 'node:fs';
import { dirname, relative, resolve, sep } from 'node:path';
import { bundle } from '@scalar/json-magic/bundle';
import { readText } from '../input.ts';
import { DocumentError, readDocument } from './document.ts';
import { locate, node } from './node.ts';

/**
 * Reads a document and the JSON and YAML files that it refers to, as one document. Only files in its folder and below it are read, and nothing is
 * fetched: other references stay as they are.
 * @throws DocumentError that names the file
 */
export async function loadFile(file: string): Promise<unknown> {
  const read = readDocument(await readText(file));
  const document = locate(read);
  const origin = resolve(file);
  const folder = realpathSync(dirname(origin));
  const isLeft = (reference: string, from: string) => !reference.startsWith('#') && !isFileBelow(folder, pathTo(reference, from));
  if (!hasReference(document, (reference) => !reference.startsWith('#') && !isLeft(reference, origin))) return read;
  return bundle(node(document), {
    origin,
    treeShake: false,
    traversal: 'document',
    preserveReference: (reference, { origin: from }) => isLeft(reference, from),
    // the file is checked again before it is read: a schema's $id can turn a reference into one to another file
    plugins: [
      { type: 'loader', validate: () => true, exec: async (path) => (isFileBelow(folder, path) ? readPart(path, folder) : { ok: false }) },
    ],
  });
}

const pathTo = (reference: string, from: string): string => resolve(dirname(from), reference.split('#')[0] ?? '');

/** Symbolic links are resolved first, so that none leads out of the folder. */
function isFileBelow(folder: string, path: string): boolean {
  try {
    return /\.(json|ya?ml)$/i.test(path) && realpathSync(path).startsWith(folder.replace(/[\\/]?$/, sep));
  } catch {
    return false;
  }
}

function hasReference(value: unknown, suits: (reference: string) => boolean): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { $ref } = node(value);
  return (typeof $ref === 'string' && suits($ref)) || Object.values(value).some((member) => hasReference(member, suits));
}

function readPart(path: string, folder: string): { ok: true; data: unknown; raw: string } {
  const name = relative(folder, realpathSync(path));
  const raw = readFileSync(path, 'utf8');
  try {
    return { ok: true, data: locate(readDocument(raw), `${name}#`), raw };
  } catch (error) {
    throw error instanceof DocumentError ? new DocumentError(`${name}: ${error.message}`, error.issues) : error;
  }
}
