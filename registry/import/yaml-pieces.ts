/** Size of the pieces, in UTF-16 units. The parser takes up to a kilobyte for each value until its document is complete. */
const usualSize = 64 * 1024;

const indentOf = (line: string): number => line.search(/[^ ]/);
const isItem = (line: string): boolean => /^ *-(\s|$)/.test(line);
/** A key and its value on separate lines (section 8.2.2). */
const isExplicit = (line: string): boolean => /^ *[?:](\s|$)/.test(line);
/** A type that says how the values beside it are spelt. */
const isStringType = (line: string): boolean => /^ *type *: *(["']?string|\[.*string)/.test(line);
/** Blank lines and comments, or lines of a block scalar that look like them; none of them begins an entry. */
const isVoid = (line: string): boolean => /^\s*(#|$)/.test(line);

/**
 * Parses a YAML 1.2 document whose root is a block list or map piece by piece, which takes a fraction of the memory. A line begins an entry of a block
 * collection only if it has the indentation of the collection (section 8.2): everything else in an entry is indented further, except the items of a
 * list in a map.
 * @param parse - parses a piece; throws if it is incomplete, or refers to another piece
 * @throws Error if the document cannot be split, or is not valid
 */
export function parseInPieces(text: string, parse: (piece: string) => unknown, size = usualSize): unknown {
  const lines = text.split('\n');
  const first = lines.findIndex((line) => !isVoid(line));
  const body = /^---\s*$/.test(lines[first] ?? '') ? lines.slice(first + 1) : lines;
  if (body.some((line) => /^(---|\.\.\.|%)/.test(line))) throw new Error('has markers of documents');
  return readBlock(body, parse, size);
}

function readBlock(lines: readonly string[], parse: (piece: string) => unknown, size: number): unknown {
  const first = lines.find((line) => !isVoid(line));
  if (first === undefined) throw new Error('is empty');
  const indent = indentOf(first);
  const isList = isItem(first);
  const starts: number[] = [];
  for (const [at, line] of lines.entries()) {
    if (isVoid(line) || indentOf(line) > indent) continue;
    if (indentOf(line) < indent || isExplicit(line) || isStringType(line) || (isList && !isItem(line)))
      throw new Error('cannot be divided');
    if (isItem(line) === isList) starts.push(at);
  }
  const items: unknown[] = [];
  const members = new Map<string, unknown>();
  const add = (value: unknown): void => {
    if (isList && Array.isArray(value)) for (const item of value) items.push(item);
    else if (!isList && Object.prototype.toString.call(value) === '[object Object]') {
      for (const [name, member] of Object.entries(value as object)) {
        if (members.has(name)) throw new Error('has a member twice');
        members.set(name, member);
      }
    } else throw new Error('is neither a list nor a map');
  };
  let piece: string[] = [];
  let length = 0;
  const flush = () => {
    if (piece.some((line) => !isVoid(line))) add(parse(`${piece.join('\n')}\n`));
    piece = [];
    length = 0;
  };
  for (const [at, start] of starts.entries()) {
    const entry = lines.slice(start, starts[at + 1]);
    const entryLength = entry.reduce((sum, line) => sum + line.length + 1, 0);
    if (length + entryLength > size) flush();
    const value = entryLength > size ? readEntry(entry, isList, parse, size) : undefined;
    if (value !== undefined) add(value);
    else {
      for (const line of entry) piece.push(line);
      length += entryLength;
    }
  }
  flush();
  return isList ? items : Object.fromEntries(members);
}

/** An entry that is itself a block collection, read in pieces; undefined if it is not. */
function readEntry([head = '', ...rest]: string[], isList: boolean, parse: (piece: string) => unknown, size: number): unknown {
  try {
    if (isList) return [readBlock([head.replace('-', ' '), ...rest], parse, size)];
    const [[name, value] = [], ...others] = Object.entries(parse(head) as object);
    return name !== undefined && value === null && others.length === 0 ? { [name]: readBlock(rest, parse, size) } : undefined;
  } catch {
    return undefined;
  }
}
