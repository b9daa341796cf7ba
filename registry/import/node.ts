import { isObject, pointer } from '../../functions/core/json/json.ts';
import { isNumeric, isRawNumber, type Numeric, numberText, toDouble } from '../../schemas/number.ts';
import { memoizeFor } from '../memoize.ts';
import { DocumentError } from './document.ts';

/** Key of an object's JSON pointer (RFC 6901), prefixed with its file if there are several. */
export const source = Symbol('source');

const home = Symbol('home');

export interface Home {
  root: unknown;
  /** the file of a reference; undefined if it was not read */
  find(file: string): Home | undefined;
}

export interface Node {
  readonly [member: string | symbol]: unknown;
}

export const isNode = (value: unknown): value is Node => isObject(value);

export const node = (value: unknown): Node => (isNode(value) ? value : {});
export const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
export const texts = (value: unknown): string[] => list(value).filter((item) => typeof item === 'string');
export const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
export const numeric = (value: unknown): Numeric | undefined => (isNumeric(value) ? value : undefined);
export const number = (value: unknown): number | undefined => (isNumeric(value) ? toDouble(value) : undefined);
/** A string, or a number as written: an unquoted version such as 1.10 is a number in YAML. */
export const written = (value: unknown): string | undefined => (isNumeric(value) ? numberText(value) : text(value));

/** Member that marks a file that could not be read; its value completes the sentence "the reference ...". */
export const unreadMember = 'x-unread';

const maxDepth = 500;

const isInside = (value: unknown): value is object => typeof value === 'object' && value !== null && !isRawNumber(value);

/**
 * Gives every object of a parsed file its JSON pointer and file, in place, because a copy takes several times the memory. An object at several places,
 * such as a YAML alias, keeps the first.
 * @param name - prefix of the pointers
 * @throws DocumentError if it is nested too deeply
 */
export function locate(value: unknown, name = '', find: Home['find'] = () => undefined): Home {
  const file: Home = { root: value, find };
  const visit = (value: object, path: string, depth: number): void => {
    if (depth > maxDepth) throw new DocumentError(`The document is nested more than ${maxDepth} deep.`);
    if (Array.isArray(value)) {
      for (const [index, item] of value.entries()) if (isInside(item)) visit(item, `${path}/${index}`, depth + 1);
    } else if (!(home in value)) {
      Object.assign(value, { [source]: path, [home]: file });
      for (const [name, member] of Object.entries(value)) if (isInside(member)) visit(member, path + pointer([name]), depth + 1);
    }
  };
  if (isInside(value)) visit(value, name, 0);
  return file;
}

export const rootOf = (document: unknown): Node => node(isNode(document) && home in document ? document : locate(document).root);

export const pathOf = (value: unknown): string => text(node(value)[source]) ?? '';

/** A difference between the document and what is imported. */
export interface Note {
  path: string;
  note: string;
}

export type AddNote = (path: string, note: string) => void;

/** Why an operation cannot become an intent. */
export class Unfit extends Error {
  override readonly name = 'Unfit';
  readonly path: string;

  /** @param reason - completes the sentence "the operation ..." */
  constructor(path: string, reason: string) {
    super(reason);
    this.path = path;
  }
}

/** The target of a chain of references, or why there is none, completing the sentence "the reference ...". */
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

/**
 * The members of a map. Some documents keep one in a file of its own, though OpenAPI allows no reference there.
 * @param addNote - notes that the file cannot be read
 * @throws Unfit without `addNote`
 */
export function membersOf(value: unknown, addNote?: AddNote): Node {
  const { $ref: reference, ...own } = node(value);
  if (text(reference) === undefined) return node(value);
  const target = addNote ? follow(value) : resolve(value);
  if (typeof target !== 'string') return { ...target, ...own };
  addNote?.(pathOf(value), `the reference ${target}; what it describes was left out`);
  return own;
}

/** The file of an object; undefined for objects that the import created. */
export const homeOf = (value: Node): Home | undefined => value[home] as Home | undefined;

const circular = 'points back to itself';

/** Maximum number of references resolved within one pointer; beyond that it counts as circular. */
const maxSteps = 20;

export function lookUp(from: Node, reference: string, steps = 0): Node | string {
  if (steps > maxSteps) return circular;
  const [file = '', ...rest] = reference.split('#');
  const fragment = rest.join('#');
  const [path, anchor] = fragment.startsWith('/') ? [fragment, ''] : ['', fragment];
  const here = homeOf(from);
  const there = file === '' ? here : here?.find(file);
  const problem = there === undefined ? unread : text(node(there.root)[unreadMember]);
  const direct = problem === undefined && anchor === '' ? descend(there?.root, path, steps) : undefined;
  const target = direct ?? descend(findPart(from, file, anchor, problem === undefined ? there : here), path, steps);
  if (isNode(target)) return target;
  if (problem !== undefined) return problem;
  if (target !== undefined) return 'points to a single value or a list, but only objects can be referred to';
  return `${anchor === '' ? 'does' : 'names an $anchor that does'} not exist in ${file === '' ? 'this document' : 'that file'}`;
}

/** @param path - JSON pointer */
function descend(start: unknown, path: string, steps: number): unknown {
  let target = start;
  for (const token of path.split('/').slice(1)) {
    const name = decode(token);
    if (isNode(target) && !Object.hasOwn(target, name) && typeof target.$ref === 'string') target = lookUp(target, target.$ref, steps + 1);
    target = typeof target === 'object' && target !== null && Object.hasOwn(target, name) ? Reflect.get(target, name) : undefined;
  }
  return target;
}

const documentUri = 'https://document.invalid/';

const partsOf = memoizeFor((file: Home) => {
  /** schemas by the URI that `$id` and `$anchor` give them (JSON Schema 2020-12, section 8.2) */
  const byUri = new Map<string, Node>();
  /** base URIs of the objects inside a schema with an `$id` */
  const bases = new Map<Node, string>();
  const visit = (value: unknown, base: string): void => {
    if (Array.isArray(value)) for (const item of value) visit(item, base);
    if (!isNode(value) || bases.has(value)) return;
    const [id = '', oldAnchor] = text(value.$id)?.split('#') ?? [];
    const own = URL.parse(id, base)?.href ?? base;
    bases.set(value, own);
    const anchors = [value.$anchor, value.$dynamicAnchor, oldAnchor].flatMap((name) => text(name) || []);
    for (const uri of [...(id === '' ? [] : [own]), ...anchors.map((name) => `${own}#${name}`)]) if (!byUri.has(uri)) byUri.set(uri, value);
    for (const member of Object.values(value)) visit(member, own);
  };
  visit(file.root, documentUri);
  return { byUri, bases };
});

/** A schema named by `$id` or `$anchor`, if the document has it. */
function findPart(from: Node, file: string, anchor: string, home: Home | undefined): Node | undefined {
  if (home === undefined) return undefined;
  const { byUri, bases } = partsOf(home);
  const isHere = homeOf(from) === home;
  const uri = isHere ? URL.parse(file, bases.get(from) ?? documentUri)?.href : documentUri;
  const suffix = anchor === '' ? '' : `#${anchor}`;
  return byUri.get(uri + suffix) ?? (file === '' ? byUri.get(documentUri + suffix) : undefined);
}

/** RFC 6901, section 6. */
const decode = (token: string): string => percentDecoded(token.replaceAll('~1', '/').replaceAll('~0', '~'));

/** Percent-decodes a part of a reference, unless its percent signs encode nothing. */
export function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function resolve(value: unknown): Node {
  const target = follow(value);
  if (typeof target === 'string') throw new Unfit(pathOf(value), `cannot be read: the reference ${target}`);
  return target;
}

export const unread =
  'points to another file, which was not read: only JSON and YAML files in the folder that --with names are read, except those whose name begins with a dot';
