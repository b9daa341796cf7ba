import { pointer } from '../../../functions/core/json.ts';
import { DocumentError } from './document.ts';

/** The place of an object in the documents as they were given: a JSON pointer (RFC 6901), preceded by the file if there are several. */
export const place = Symbol('place');

/** An object of a document. The target of its `$ref` is its `$ref-value`. */
export interface Node {
  readonly [member: string | symbol]: unknown;
}

export const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null && !Array.isArray(value);

/** The value as an object; an empty one if it is something else. */
export const node = (value: unknown): Node => (isNode(value) ? value : {});
export const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
export const texts = (value: unknown): string[] => list(value).filter((item) => typeof item === 'string');
export const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
/** A text, or the one that a reference leads to: some documents keep their prose in files of its own. */
export const prose = (value: unknown): string | undefined => text(value) ?? text(node(value)['$ref-value']);
export const number = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined);

/** The only member of what stands for a file that could not be read: it ends the sentence "the reference ...". */
export const unreadMember = 'x-unread';

const maxDepth = 500;

/**
 * A copy of a parsed document in which every object knows its place, unless it does already.
 * @param path - the place of the document itself
 * @throws DocumentError if it is nested too deeply to be read
 */
export function locate(value: unknown, path = '', depth = 0): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (depth > maxDepth) throw new DocumentError(`The document is nested more than ${maxDepth} deep.`);
  if (Array.isArray(value)) return value.map((item, index) => locate(item, `${path}/${index}`, depth + 1));
  const members = Object.entries(value).map(([name, member]) => [name, locate(member, path + pointer([name]), depth + 1)]);
  return { ...Object.fromEntries(members), [place]: pathOf(value) || path };
}

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
 * What an object refers to at the end of its chain of `$ref`s; without one the object itself.
 * @returns the reason if there is nothing: it ends the sentence "the reference ..."
 */
export function follow(value: unknown): Node | string {
  const seen = new Set<Node>();
  let here = node(value);
  for (let reference = text(here.$ref); reference !== undefined; reference = text(here.$ref)) {
    if (seen.has(here)) return 'leads back to itself';
    seen.add(here);
    const target = here['$ref-value'];
    if (!isNode(target)) return describeBroken(reference);
    here = target;
  }
  return text(here[unreadMember]) ?? here;
}

/** @throws Unfit if a reference leads to nothing */
export function resolve(value: unknown): Node {
  const target = follow(value);
  if (typeof target === 'string') throw new Unfit(pathOf(value), `cannot be read: the reference ${target}`);
  return target;
}

export const unread =
  'leads to something in another document that was not read: only JSON and YAML files below the folder of the document are. Bundle the documents into one first, for example with "npx @redocly/cli bundle"';

function describeBroken(reference: string): string {
  if (!reference.startsWith('#')) return unread;
  if (reference !== '#' && !reference.startsWith('#/')) return 'must be a JSON pointer, such as #/components/...';
  return 'leads to nothing in this document';
}
