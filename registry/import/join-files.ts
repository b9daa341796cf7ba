import { concurrently } from '../concurrently.ts';
import { CliFailure } from '../failure.ts';
import { DocumentError, decodeText, openReader, TooLarge } from './document.ts';
import { type Home, homeOf, isNode, locate, lookUp, type Node, type Note, node, pathOf, text, unreadMember } from './node.ts';

export interface Loaded {
  /** its objects resolve their own references to other files */
  document: unknown;
  /** files that could not be read */
  notes: Note[];
  /** all files that were read, the document first */
  files: string[];
  /** references that lead out of the library and were not followed */
  left: string[];
}

export interface Library {
  /** path or URL of the document */
  origin: string;
  /** resolves a reference without its fragment; undefined if it leads out of the library */
  find(reference: string, from: string): string | undefined;
  read(path: string): Promise<Uint8Array> | Uint8Array;
  /** path relative to the folder of the document */
  nameOf(path: string): string;
}

const readsAtOnce = 8;

/** Whether a file may be part of a document: JSON or YAML, neither hidden nor in a hidden folder. */
export const isPartName = (path: string): boolean => /\.(json|ya?ml)$/i.test(path) && !/(^|[\\/])\./.test(path);

/**
 * Reads a document and the files of the library that it refers to, wherever OpenAPI allows references.
 * @param isLarge - without limits; see {@link openReader}
 */
export async function joinFiles(text: string, library: Library, isLarge = false): Promise<Loaded> {
  const { origin, nameOf } = library;
  const readDocument = openReader(isLarge);
  const notes: Note[] = [];
  const left = new Set<string>();
  const files: string[] = [];
  const read = new Map<string, Home>();
  const origins = new Map<Home | undefined, string>();
  const findFrom = (from: string) => (file: string) => read.get(library.find(file, from) ?? '');
  const add = (address: string, file: Home) => {
    files.push(nameOf(address));
    read.set(address, file);
    origins.set(file, address);
  };

  async function readPart(path: string): Promise<Home> {
    try {
      return locate(readDocument(decodeText(await library.read(path))), `${nameOf(path)}#`, findFrom(path));
    } catch (error) {
      if (!(error instanceof CliFailure) || error instanceof TooLarge) throw error;
      notes.push({ path: nameOf(path), note: `the file was not read: ${error.message}` });
      return locate({ [unreadMember]: `points to ${nameOf(path)}, which was not read` });
    }
  }

  const main = locate(readDocument(text), '', findFrom(origin));
  add(origin, main);
  const seen = new Set<unknown>();
  for (let wave: [value: unknown, isMap: boolean][] = [[main.root, false]]; wave.length > 0; ) {
    const references = wave.flatMap(([value, isMap]) => [...referencesIn(value, seen, notes, isMap)]);
    const addresses = new Set<string>();
    for (const [reference] of references) {
      const file = fileOf(reference);
      const from = origins.get(homeOf(reference));
      if (file === '' || from === undefined) continue;
      const address = library.find(file, from);
      if (address !== undefined && !read.has(address)) addresses.add(address);
      if (address === undefined && !isNode(lookUp(reference, String(reference.$ref)))) left.add(file);
    }
    const parts = new Map<string, Home>();
    await concurrently(addresses, readsAtOnce, async (address) => void parts.set(address, await readPart(address)));
    for (const address of addresses) add(address, parts.get(address) ?? main);
    // next, search only the targets of references
    wave = references.map(([reference, isMap]) => [lookUp(reference, String(reference.$ref)), isMap]);
  }
  return { document: main.root, notes, files, left: [...left].sort() };
}

const fileOf = ({ $ref }: Node): string => (text($ref) ?? '').split('#')[0] ?? '';

/** Members that are maps with arbitrary keys. */
const maps = new Set(
  'paths properties patternProperties definitions $defs dependentSchemas schemas responses parameters requestBodies headers securitySchemes securityDefinitions pathItems content encoding'.split(
    ' ',
  ),
);

/** Members that hold values or prose, or that an import does not read. */
const opaque = new Set(
  'example examples default enum const value info tags externalDocs links callbacks webhooks security servers discriminator'.split(' '),
);

const prose = new Set(['description', 'title', 'summary']);

/** Objects with a reference, and whether they are maps, where one may be. Adds notes on references elsewhere. */
function* referencesIn(value: unknown, seen: Set<unknown>, notes: Note[], isMap = false): Generator<[reference: Node, isMap: boolean]> {
  if (typeof value !== 'object' || value === null || seen.has(value)) return;
  seen.add(value);
  if (Array.isArray(value)) {
    for (const item of value) yield* referencesIn(item, seen, notes);
    return;
  }
  if (typeof node(value).$ref === 'string') yield [node(value), isMap];
  for (const [name, member] of Object.entries(value)) {
    if (!isMap && (opaque.has(name) || name.startsWith('x-'))) continue;
    if (isMap || !prose.has(name)) yield* referencesIn(member, seen, notes, !isMap && maps.has(name) && isNode(member));
    else if (typeof node(member).$ref === 'string')
      notes.push({ path: pathOf(member), note: `the ${name} was left out: it must be a string, not a reference` });
  }
}

const rootMembers = ['openapi', 'swagger', 'service-info', 'service_info', 'service'];
const isUsual = (path: string): boolean => /(^|\/)(openapi|swagger)\.\w+$/i.test(path);
const depthOf = (path: string): number => path.split('/').length;

/**
 * The documents in the topmost folder that contains any, likeliest first.
 * @throws DocumentError if there are none
 */
export async function findDocuments(names: readonly string[], read: Library['read'], isLarge = false): Promise<string[]> {
  if (names.length === 1) return [...names];
  const ordered = [...names].sort((left, right) => Number(isUsual(right)) - Number(isUsual(left)) || (left < right ? -1 : 1));
  for (const [, level] of [...Map.groupBy(ordered, depthOf)].sort(([left], [right]) => left - right)) {
    const found = [];
    for (const name of level) if (await isDocument(name, read, isLarge)) found.push(name);
    if (found.length > 0) return found;
  }
  throw new DocumentError(
    `None of the ${names.length} JSON and YAML files is an OpenAPI or Swagger document or a service description. Give the folder that holds the document.`,
  );
}

const namedMember = new RegExp(`(?:^|[{,"'\\s])(?:${rootMembers.join('|')})["']?\\s*:`);

/** Whether a text may be a document: a quick look for the names of members, without reading it. */
export const mayBeDocument = (text: string): boolean => namedMember.test(text);

async function isDocument(name: string, read: Library['read'], isLarge: boolean): Promise<boolean> {
  try {
    const document = openReader(isLarge)(decodeText(await read(name)));
    return isNode(document) && rootMembers.some((member) => Object.hasOwn(document, member));
  } catch (error) {
    if (error instanceof DocumentError && !(error instanceof TooLarge)) return false;
    throw error;
  }
}
