/** The values of a table's items, as the document client gives and takes them. */
export type Attributes = Record<string, unknown>;

interface Names {
  ExpressionAttributeNames?: Record<string, string> | undefined;
  ExpressionAttributeValues?: Record<string, unknown> | undefined;
}

type Path = (string | number)[];
type Read = (item: Attributes) => unknown;
type Holds = (item: Attributes) => boolean;

const tokenPattern = /\s*(?:([#:]?\w+)|(<>|<=|>=|[<>=(),.[\]+-]))/gy;

const tokens = new Map<string, readonly string[]>();

function tokensOf(text: string): readonly string[] {
  const known = tokens.get(text);
  if (known) return known;
  const found: string[] = [];
  const pattern = new RegExp(tokenPattern);
  while (pattern.lastIndex < text.trimEnd().length) {
    const [, word, sign] = pattern.exec(text) ?? [];
    const token = word ?? sign;
    if (token === undefined) throw new SyntaxError(`not an expression: ${text}`);
    found.push(token);
  }
  tokens.set(text, found);
  return found;
}

/** Reads DynamoDB's expressions: as much of their grammar as the stores use, and an error for anything else. */
class Reader {
  readonly #tokens: readonly string[];
  #at = 0;
  readonly #names: Record<string, string>;
  readonly #values: Record<string, unknown>;

  constructor(text: string, { ExpressionAttributeNames = {}, ExpressionAttributeValues = {} }: Names) {
    this.#names = ExpressionAttributeNames;
    this.#values = ExpressionAttributeValues;
    this.#tokens = tokensOf(text);
  }

  get isAtEnd(): boolean {
    return this.#at === this.#tokens.length;
  }

  peek(): string {
    return this.#tokens[this.#at] ?? '';
  }

  next(): string {
    const token = this.peek();
    this.#at++;
    return token;
  }

  /** Takes the token if it is this one, whatever the case of its letters. */
  take(token: string): boolean {
    if (this.peek().toUpperCase() !== token.toUpperCase()) return false;
    this.#at++;
    return true;
  }

  expect(token: string): void {
    if (!this.take(token)) throw new SyntaxError(`${token} expected, not ${this.peek()}`);
  }

  list<T>(read: () => T): T[] {
    const found = [read()];
    while (this.take(',')) found.push(read());
    return found;
  }

  path(): Path {
    const path: Path = [this.name()];
    for (;;) {
      if (this.take('.')) path.push(this.name());
      else if (this.take('[')) {
        path.push(Number(this.next()));
        this.expect(']');
      } else return path;
    }
  }

  name(): string {
    const token = this.next();
    if (!/^#?\w+$/.test(token)) throw new SyntaxError(`a name expected, not ${token}`);
    if (!token.startsWith('#')) return token;
    const name = this.#names[token];
    if (name === undefined) throw new SyntaxError(`${token} is not defined`);
    return name;
  }

  value(): unknown {
    const token = this.next();
    if (!(token in this.#values)) throw new SyntaxError(`${token} is not defined`);
    return this.#values[token];
  }
}

export const valueAt = (item: unknown, path: Path): unknown =>
  path.reduce<unknown>((value, step) => (typeof value === 'object' && value !== null ? (value as Attributes)[step] : undefined), item);

function parentOf(item: Attributes, path: Path): Attributes {
  const parent = path.length === 1 ? item : valueAt(item, path.slice(0, -1));
  if (typeof parent !== 'object' || parent === null) throw new Error(`The document path ${path.join('.')} is not valid for update`);
  return parent as Attributes;
}

const isSame = (left: unknown, right: unknown): boolean => JSON.stringify(left) === JSON.stringify(right);

/** Values of different types have no order. Texts are compared by UTF-16 here, by UTF-8 in the table: the same for the ASCII of our keys. */
const ordered =
  (holds: (order: number) => boolean) =>
  (left: unknown, right: unknown): boolean => {
    if (typeof left === 'number' && typeof right === 'number') return holds(left - right);
    if (typeof left === 'string' && typeof right === 'string') return holds(left < right ? -1 : left > right ? 1 : 0);
    return false;
  };

const comparisons: Record<string, (left: unknown, right: unknown) => boolean> = {
  '=': isSame,
  '<>': (left, right) => !isSame(left, right),
  '<': ordered((order) => order < 0),
  '<=': ordered((order) => order <= 0),
  '>': ordered((order) => order > 0),
  '>=': ordered((order) => order >= 0),
};

function readOperand(reader: Reader): Read {
  if (reader.peek().startsWith(':')) {
    const value = reader.value();
    return () => value;
  }
  if (reader.take('if_not_exists')) {
    reader.expect('(');
    const path = reader.path();
    reader.expect(',');
    const otherwise = readOperand(reader);
    reader.expect(')');
    return (item) => valueAt(item, path) ?? otherwise(item);
  }
  const path = reader.path();
  return (item) => valueAt(item, path);
}

function readPrimary(reader: Reader): Holds {
  if (reader.take('NOT')) {
    const holds = readPrimary(reader);
    return (item) => !holds(item);
  }
  if (reader.take('contains')) {
    reader.expect('(');
    const path = reader.path();
    reader.expect(',');
    const member = readOperand(reader);
    reader.expect(')');
    return (item) => {
      const held = valueAt(item, path);
      const members = typeof held === 'object' && held !== null && Symbol.iterator in held ? [...(held as Iterable<unknown>)] : [];
      return members.some((one) => isSame(one, member(item)));
    };
  }
  if (reader.take('(')) {
    const inner = readOr(reader);
    reader.expect(')');
    return inner;
  }
  for (const [name, isWanted] of [
    ['attribute_exists', true],
    ['attribute_not_exists', false],
  ] as const) {
    if (!reader.take(name)) continue;
    reader.expect('(');
    const path = reader.path();
    reader.expect(')');
    return (item) => (valueAt(item, path) !== undefined) === isWanted;
  }
  const left = readOperand(reader);
  const sign = reader.next();
  const compare = comparisons[sign];
  if (compare === undefined) throw new SyntaxError(`a comparison expected, not ${sign}`);
  const right = readOperand(reader);
  return (item) => compare(left(item), right(item));
}

function readAnd(reader: Reader): Holds {
  const parts = [readPrimary(reader)];
  while (reader.take('AND')) parts.push(readPrimary(reader));
  return (item) => parts.every((holds) => holds(item));
}

function readOr(reader: Reader): Holds {
  const parts = [readAnd(reader)];
  while (reader.take('OR')) parts.push(readAnd(reader));
  return (item) => parts.some((holds) => holds(item));
}

/** Whether a condition holds for an item; an item that is not there has no attributes. */
export function parseCondition(text: string | undefined, names: Names): Holds {
  if (text === undefined) return () => true;
  const reader = new Reader(text, names);
  const holds = readOr(reader);
  if (!reader.isAtEnd) throw new SyntaxError(`unexpected ${reader.peek()}`);
  return holds;
}

type Change = (item: Attributes, before: Attributes) => void;

function readAssignment(reader: Reader): Change {
  const path = reader.path();
  reader.expect('=');
  let value = readOperand(reader);
  for (const [sign, factor] of [
    ['+', 1],
    ['-', -1],
  ] as const) {
    if (!reader.take(sign)) continue;
    const [left, right] = [value, readOperand(reader)];
    value = (item) => addNumbers(left(item), right(item), factor);
    break;
  }
  return (item, before) => {
    const next = value(before);
    if (next === undefined) throw new Error('An operand of an update is not there');
    parentOf(item, path)[path.at(-1) ?? ''] = structuredClone(next);
  };
}

function addNumbers(left: unknown, right: unknown, factor: number): number {
  if (typeof left !== 'number' || typeof right !== 'number') throw new Error('An operand of an update is no number');
  return left + factor * right;
}

function readRemoval(reader: Reader): Change {
  const path = reader.path();
  return (item) => {
    delete parentOf(item, path)[path.at(-1) ?? ''];
  };
}

/** `ADD` and `DELETE` on a set of texts, and `ADD` on a number. */
function readMembership(reader: Reader, verb: 'ADD' | 'DELETE'): Change {
  const path = reader.path();
  const given = reader.value();
  return (item) => {
    const [parent, name] = [parentOf(item, path), path.at(-1) ?? ''];
    const held = parent[name];
    if (verb === 'ADD' && typeof given === 'number') {
      parent[name] = Number(held ?? 0) + given;
      return;
    }
    const [members, named] = [(held as Set<string> | undefined) ?? new Set<string>(), given as Set<string>];
    const left = new Set(verb === 'ADD' ? [...members, ...named] : [...members].filter((member) => !named.has(member)));
    if (left.size > 0) parent[name] = left;
    else delete parent[name];
  };
}

/** What an update makes of an item. Every operand is read before anything is changed. */
export function parseUpdate(text: string, names: Names): (before: Attributes) => Attributes {
  const reader = new Reader(text, names);
  const changes: Change[] = [];
  while (!reader.isAtEnd) {
    if (reader.take('SET')) changes.push(...reader.list(() => readAssignment(reader)));
    else if (reader.take('REMOVE')) changes.push(...reader.list(() => readRemoval(reader)));
    else if (reader.take('ADD')) changes.push(...reader.list(() => readMembership(reader, 'ADD')));
    else if (reader.take('DELETE')) changes.push(...reader.list(() => readMembership(reader, 'DELETE')));
    else throw new SyntaxError(`unexpected ${reader.peek()}`);
  }
  return (before) => {
    const item = structuredClone(before);
    for (const change of changes) change(item, before);
    return item;
  };
}

/** The members that a projection asks for. */
export function parseProjection(text: string | undefined, names: Names): (item: Attributes) => Attributes {
  if (text === undefined) return (item) => item;
  const reader = new Reader(text, names);
  const wanted = reader.list(() => reader.name());
  return (item) => Object.fromEntries(wanted.filter((name) => name in item).map((name) => [name, item[name]]));
}
