import { isObject, pointer } from '../../../functions/core/json.ts';
import { isNumeric, isRawNumber, type Numeric, numberText, toDouble } from '../../../schemas/number.ts';
import { DocumentError } from './document.ts';

/** The place of an object in the documents as they were given: a JSON pointer (RFC 6901), preceded by the file if there are several. */
export const place = Symbol('place');

/** The file that an object is written in. */
const home = Symbol('home');

/** A file of a document, and those that it may refer to. */
export interface Home {
  /** the file as a whole, see {@link locate} */
  root: unknown;
  /** the file that a reference without its fragment leads to; undefined if that was not read */
  find(file: string): Home | undefined;
}

/** An object of a document. */
export interface Node {
  readonly [member: string | symbol]: unknown;
}

export const isNode = (value: unknown): value is Node => isObject(value);

/** The value as an object; an empty one if it is something else. */
export const node = (value: unknown): Node => (isNode(value) ? value : {});
export const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
export const texts = (value: unknown): string[] => list(value).filter((item) => typeof item === 'string');
export const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
export const numeric = (value: unknown): Numeric | undefined => (isNumeric(value) ? value : undefined);
/** A number that fits into a `number`, such as a length. */
export const number = (value: unknown): number | undefined => (isNumeric(value) ? toDouble(value) : undefined);
/** A text, or a number as it is written: unquoted, a version such as 1.10 is a number in YAML. */
export const written = (value: unknown): string | undefined => (isNumeric(value) ? numberText(value) : text(value));

/** The only member of what stands for a file that could not be read: it ends the sentence "the reference ...". */
export const unreadMember = 'x-unread';

const maxDepth = 500;

/**
 * A copy of a parsed file in which every object knows its place and its file.
 * @param name - what the places in it begin with
 * @param find - as {@link Home} has it; a document that is one file refers to no other
 * @throws DocumentError if it is nested too deeply to be read
 */
export function locate(value: unknown, name = '', find: Home['find'] = () => undefined): Home {
  const file: Home = { root: undefined, find };
  const copy = (value: unknown, path: string, depth: number): unknown => {
    if (typeof value !== 'object' || value === null || isRawNumber(value)) return value;
    if (depth > maxDepth) throw new DocumentError(`The document is nested more than ${maxDepth} deep.`);
    if (Array.isArray(value)) return value.map((item, index) => copy(item, `${path}/${index}`, depth + 1));
    const members = Object.entries(value).map(([name, member]) => [name, copy(member, path + pointer([name]), depth + 1)]);
    return { ...Object.fromEntries(members), [place]: path, [home]: file };
  };
  file.root = copy(value, name, 0);
  return file;
}

/** The root of a document, which may have been located with its files already. */
export const rootOf = (document: unknown): Node => node(isNode(document) && home in document ? document : locate(document).root);

export const pathOf = (value: unknown): string => text(node(value)[place]) ?? '';

/** Something that an import does differently from what the document says, and the place in the document. */
export interface Note {
  /** JSON pointer */
  path: string;
  /** what was done */
  note: string;
}

export type TakeNote = (path: string, note: string) => void;

/** Why an operation cannot become an intent. The operation is left out and reported. */
export class Unfit extends Error {
  override readonly name = 'Unfit';
  /** place of the obstacle */
  readonly path: string;

  /** @param reason - ends the sentence "the operation ..." */
  constructor(path: string, reason: string) {
    super(reason);
    this.path = path;
  }
}

/**
 * What an object refers to at the end of its chain of `$ref`s; without one the object itself. Where this is asked is where OpenAPI allows a reference.
 * @returns the reason if there is nothing: it ends the sentence "the reference ..."
 */
export function follow(value: unknown): Node | string {
  const seen = new Set<Node>();
  let here = node(value);
  for (let reference = text(here.$ref); reference !== undefined; reference = text(here.$ref)) {
    if (seen.has(here)) return circular;
    seen.add(here);
    const target = lookUp(here, reference);
    if (typeof target === 'string') return target;
    here = target;
  }
  return here;
}

/** The file that an object is written in; undefined for one that is made of others. */
export const homeOf = (value: Node): Home | undefined => value[home] as Home | undefined;

const circular = 'leads back to itself';

/** References in a pointer that lead to what the pointer goes on in: more of them are taken for a circle. */
const maxSteps = 20;

/** What a reference in an object leads to, or the reason if that is nothing. */
export function lookUp(from: Node, reference: string, steps = 0): Node | string {
  if (steps > maxSteps) return circular;
  const [file = '', ...rest] = reference.split('#');
  const fragment = rest.join('#');
  const here = homeOf(from);
  const there = file === '' ? here : here?.find(file);
  if (there === undefined) return unread;
  const problem = text(node(there.root)[unreadMember]);
  if (problem !== undefined) return problem;
  if (fragment !== '' && !fragment.startsWith('/')) return 'must be a JSON pointer, such as #/components/...';
  let target = there.root;
  for (const token of fragment.split('/').slice(1)) {
    const name = decode(token);
    if (isNode(target) && !Object.hasOwn(target, name) && typeof target.$ref === 'string') target = lookUp(target, target.$ref, steps + 1);
    target = typeof target === 'object' && target !== null && Object.hasOwn(target, name) ? Reflect.get(target, name) : undefined;
  }
  if (isNode(target)) return target;
  if (target === undefined) return `leads to nothing in ${file === '' ? 'this document' : 'that file'}`;
  return 'leads to a single value or a list; only objects can be referred to';
}

/** A token of a JSON pointer in the fragment of a URI (RFC 6901, section 6). */
function decode(token: string): string {
  const unescaped = token.replaceAll('~1', '/').replaceAll('~0', '~');
  try {
    return decodeURIComponent(unescaped);
  } catch {
    return unescaped;
  }
}

/** @throws Unfit if a reference leads to nothing */
export function resolve(value: unknown): Node {
  const target = follow(value);
  if (typeof target === 'string') throw new Unfit(pathOf(value), `cannot be read: the reference ${target}`);
  return target;
}

export const unread =
  'leads to another file, which was not read: only JSON and YAML files in the folder that is given with --with are, and none whose name begins with a dot';
