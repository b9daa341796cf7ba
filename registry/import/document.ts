import { isUtf8 } from 'node:buffer';
import { isScalar, Lexer, parseDocument, visit } from 'yaml';
import { describeJsonError } from '../../functions/core/json/json-error.ts';
import type { Issue } from '../../schemas/errors.ts';
import { parseExact } from '../../schemas/number.ts';
import { CliFailure } from '../failure.ts';
import { withExactNumbers } from '../yaml-numbers.ts';
import { describeOffset, findExtension, findRepeatedMember } from './json-text.ts';
import { parseInPieces } from './yaml-pieces.ts';
import { keepSpelling } from './yaml-spelling.ts';

export class DocumentError extends CliFailure {
  constructor(message: string, issues: readonly Issue[] = []) {
    super('usage', message, { issues });
  }
}

/** @throws DocumentError if the bytes are not UTF-8 */
export function decodeText(bytes: Uint8Array): string {
  if (isUtf8(bytes) && !bytes.includes(0)) return new TextDecoder().decode(bytes);
  throw new DocumentError(
    'The document is not in UTF-8. Convert it first, for example with "iconv -f ISO-8859-1 -t UTF-8" if it is in Latin-1, or -f UTF-16.',
  );
}

/** A document, or files of one, beyond the limits of {@link openReader}. */
export class TooLarge extends DocumentError {
  constructor() {
    super(
      'The document is too large: reading more than 20 MB of JSON or 5 MB of YAML, or an extreme number of values, can take gigabytes of memory. Import it with the command line and --large.',
    );
  }
}

/** Maximum size of all files together, in UTF-16 units, and number of their values and tokens: a token of YAML takes up to 400 bytes, one of brackets 600. */
const limits = { json: { size: 20_000_000, parts: 1_000_000 }, yaml: { size: 5_000_000, parts: 1_200_000 } };

/** Maximum size of a file that is read without `--large`, so that a larger one need not be opened. UTF-8 has up to three bytes for a UTF-16 unit. */
export const maxFileBytes = 3 * limits.json.size;

/**
 * A reader for the files of one document, which takes at most 500 MB of memory.
 * @param isLarge - without limits
 */
export function openReader(isLarge = false): (text: string) => unknown {
  const read = { json: { size: 0, parts: 0 }, yaml: { size: 0, parts: 0 } };
  const count = (kind: keyof typeof limits, text: string): void => {
    const [total, limit] = [read[kind], limits[kind]];
    total.size += text.length;
    if (total.size > limit.size) throw new TooLarge();
    const tokens = kind === 'json' ? text.matchAll(/[,[{]/g) : new Lexer().lex(text);
    for (const token of tokens) {
      total.parts += kind === 'yaml' && ',[]{}'.includes(String(token)) ? 2 : 1;
      if (total.parts > limit.parts) throw new TooLarge();
    }
  };
  return (text) => {
    if (!isLarge) count(isBraced(text) ? 'json' : 'yaml', text);
    return readDocument(text);
  };
}

/** Whether a text is probably JSON, perhaps after a comment. */
const isBraced = (text: string): boolean => /^\ufeff?\s*(?:[{[]|\/[/*])/.test(text);

/**
 * Parses JSON or YAML 1.2, keeping every digit. Text that begins with a brace or bracket is parsed as JSON first, which is much faster.
 * @throws DocumentError naming the line
 */
export function readDocument(text: string): unknown {
  const content = text.replace(/^\ufeff/, '');
  if (content.trim() === '') throw new DocumentError('The document is empty.');
  return isBraced(content) ? readJson(content) : readYaml(content);
}

/** Falls back to YAML, which allows braces and trailing commas, too. */
function readJson(text: string): unknown {
  const value = parseJson(text);
  if (value === undefined) return readYaml(text);
  const repeated = findRepeatedMember(text);
  if (repeated !== undefined) throw new DocumentError(`The document has the member ${repeated}. Remove or rename one of the two.`);
  return value;
}

/** @returns undefined if the text is not JSON, but may be YAML */
function parseJson(text: string): unknown {
  try {
    return parseExact(text);
  } catch (error) {
    // too deep for the exact parser; refused later
    if (error instanceof RangeError) return JSON.parse(text);
    const isLarge = text.length > 1_000_000;
    const extension = findExtension(text);
    if (extension !== undefined && (isLarge || extension.includes('comment')))
      throw new DocumentError(`The document is not JSON: it has ${extension}. Remove its comments and trailing commas.`);
    if (isLarge) throw new DocumentError(`The document is not JSON: ${describeJsonError(text)}.`);
    return undefined;
  }
}

const tooDeep = 'The YAML document is nested too deeply to be read.';

/** Size in UTF-16 units from which YAML is read in pieces. */
const divided = 256 * 1024;

function readYaml(text: string): unknown {
  // a registry file means what it says
  const isRegistry = /^registry *:/m.test(text);
  const read = (part: string) => readWhole(part, !isRegistry);
  if (text.length < divided) return read(text);
  try {
    return parseInPieces(text, read);
  } catch {
    // cannot be divided, or the message needs the line in the whole
    return read(text);
  }
}

function readWhole(text: string, keepsSpelling: boolean): unknown {
  const document = parseYaml(text, keepsSpelling);
  const [error] = document.errors;
  if (error && /call stack/.test(error.message)) throw new DocumentError(tooDeep);
  if (error) throw new DocumentError(`The document is neither JSON nor YAML: ${error.message.trim()}`);
  try {
    const value: unknown = document.toJS({ maxAliasCount: 1000 });
    // throws if an alias refers to its own ancestor
    if (text.includes('*')) JSON.stringify(value);
    return value;
  } catch (error) {
    throw new DocumentError(`The document's YAML aliases cannot be resolved: ${(error as Error).message.split('\n')[0]}`);
  }
}

function parseYaml(text: string, keepsSpelling: boolean) {
  try {
    // the parser's own uniqueness check is quadratic: a minute for 40,000 keys
    const options = { merge: true, prettyErrors: true, logLevel: 'error', uniqueKeys: false, customTags: withExactNumbers } as const;
    const document = parseDocument(text, options);
    visit(document, {
      Map: (_, map) => {
        requireUnique(map.items, text);
        if (keepsSpelling) keepSpelling(map);
      },
    });
    return document;
  } catch (error) {
    // the recursive parser ran out of stack
    if (error instanceof RangeError) throw new DocumentError(tooDeep);
    throw error;
  }
}

function requireUnique(items: readonly { key: unknown }[], text: string): void {
  const seen = new Set<unknown>();
  for (const { key } of items) {
    const name = isScalar(key) ? key.value : key;
    if (seen.has(name)) {
      const offset = isScalar(key) ? (key.range?.[0] ?? 0) : 0;
      throw new DocumentError(`The document is neither JSON nor YAML: Map keys must be unique ${describeOffset(text, offset)}`);
    }
    seen.add(name);
  }
}
