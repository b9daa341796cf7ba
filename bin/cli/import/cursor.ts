import { pointer } from '../../../functions/core/json.ts';

/** A reference that leads nowhere in the document. */
export class BrokenReference extends Error {
  override readonly name = 'BrokenReference';
  /** JSON pointer to the reference */
  readonly path: string;

  /** @param problem - ends the sentence "the reference ..." */
  constructor(path: string, problem: string) {
    super(`the reference ${problem}`);
    this.path = path;
  }
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);

/** A value in a document, and where it stands there. Nothing is copied, so that a document may be large and refer to itself. */
export class Cursor {
  readonly value: unknown;
  readonly #root: unknown;
  readonly #parent: Cursor | undefined;
  readonly #name: string;

  private constructor(value: unknown, root: unknown, parent: Cursor | undefined, name: string) {
    this.value = value;
    this.#root = root;
    this.#parent = parent;
    this.#name = name;
  }

  static of(document: unknown): Cursor {
    return new Cursor(document, document, undefined, '');
  }

  /** JSON pointer (RFC 6901). */
  get path(): string {
    return this.#parent === undefined ? '' : this.#parent.path + pointer([this.#name]);
  }

  get isObject(): boolean {
    return isObject(this.value);
  }

  get isArray(): boolean {
    return Array.isArray(this.value);
  }

  /** An own member of an object or an element of an array. */
  child(name: string): Cursor | undefined {
    const { value } = this;
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
    return new Cursor(Reflect.get(value, name), this.#root, this, name);
  }

  /** The members of an object or the elements of an array; of anything else none. */
  children(): [name: string, child: Cursor][] {
    const { value } = this;
    if (typeof value !== 'object' || value === null) return [];
    return Object.entries(value).map(([name, member]) => [name, new Cursor(member, this.#root, this, name)]);
  }

  /** The elements of a member that is a list. */
  list(name: string): Cursor[] {
    const list = this.child(name);
    return list?.isArray ? list.children().map(([, element]) => element) : [];
  }

  text(name: string): string | undefined {
    const value = this.child(name)?.value;
    return typeof value === 'string' ? value : undefined;
  }

  number(name: string): number | undefined {
    const value = this.child(name)?.value;
    return typeof value === 'number' ? value : undefined;
  }

  flag(name: string): boolean | undefined {
    const value = this.child(name)?.value;
    return typeof value === 'boolean' ? value : undefined;
  }

  /**
   * What this leads to: itself, or the end of its chain of `$ref`s.
   * @throws BrokenReference where that is outside of the document, missing or a circle
   */
  resolve(): Cursor {
    const seen = new Set<unknown>();
    let here: Cursor = this;
    for (let reference = here.text('$ref'); reference !== undefined; reference = here.text('$ref')) {
      if (seen.has(here.value)) throw new BrokenReference(this.path, 'leads back to itself');
      seen.add(here.value);
      here = here.#follow(reference);
    }
    return here;
  }

  #follow(reference: string): Cursor {
    if (!reference.startsWith('#')) {
      throw new BrokenReference(this.path, 'leads to another document, which is not fetched; bundle the documents into one first');
    }
    if (reference !== '#' && !reference.startsWith('#/'))
      throw new BrokenReference(this.path, 'must be a JSON pointer, such as #/components/...');
    let target: Cursor | undefined = Cursor.of(this.#root);
    for (const segment of decodeFragment(reference).split('/').slice(1)) {
      target = target?.child(segment.replaceAll('~1', '/').replaceAll('~0', '~'));
    }
    if (target === undefined) throw new BrokenReference(this.path, 'leads to nothing in this document');
    return target;
  }
}

function decodeFragment(reference: string): string {
  try {
    return decodeURIComponent(reference);
  } catch {
    return reference;
  }
}
