import { bundle } from '@scalar/json-magic/bundle';
import { CliFailure } from '../failure.ts';
import { decodeText, readDocument } from './document.ts';
import { locate, type Note, node, unreadMember } from './node.ts';

/** A document with the files that it refers to, as one. */
export interface Loaded {
  document: unknown;
  /** files that could not be read: references to them stay as they are */
  notes: Note[];
}

/** Where the files of one document are. */
export interface Library {
  /** path or address of the document */
  origin: string;
  /** the path or address that a reference means in a file of the library; undefined if it leads out of it */
  find(reference: string, from: string): string | undefined;
  read(path: string): Promise<Uint8Array> | Uint8Array;
  /** what people call a file: its path below the folder of the document */
  nameOf(path: string): string;
}

export const isDocumentName = (path: string): boolean => /\.(json|ya?ml)$/i.test(path);

/** The file that a reference means. */
export const withoutFragment = (reference: string): string => reference.split('#')[0] ?? '';

/** A document and the files of the library that it refers to, as one document. References that lead out of the library stay as they are. */
export async function joinFiles(text: string, library: Library): Promise<Loaded> {
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
