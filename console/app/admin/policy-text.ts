import { pointer } from '../../../functions/core/json/json.ts';
import type { Issue } from '../../../schemas/errors.ts';

type Path = (string | number)[];

/** A token of a text that will be JSON. */
interface Token {
  lexeme: string;
  at: number;
  /** whether it is the name of a member */
  isName: boolean;
  /** of the value that it names, begins or is */
  path: Path;
}

/** A string ends with its line at the latest, because it may not be finished. */
const token = /"(?:[^"\\\n]|\\.)*"?|[{}[\],:]|[^\s"{}[\],:]+/g;

function readTokens(text: string): Token[] {
  const tokens: Token[] = [];
  const open: { isList: boolean; at: string | number }[] = [];
  let isNameNext = false;
  for (const { 0: lexeme, index } of text.matchAll(token)) {
    const inner = open.at(-1);
    if (lexeme === ',') {
      isNameNext = inner?.isList === false;
      if (typeof inner?.at === 'number') inner.at++;
    } else if (lexeme === '}' || lexeme === ']') {
      open.pop();
      isNameNext = false;
    } else if (lexeme !== ':') {
      const isName: boolean = isNameNext;
      if (isName && inner) inner.at = lexeme.replace(/^"|"$/g, '');
      isNameNext = lexeme === '{';
      tokens.push({ lexeme, at: index, isName, path: open.map(({ at }) => at) });
      if (lexeme === '{') open.push({ isList: false, at: '' });
      if (lexeme === '[') open.push({ isList: true, at: 0 });
    }
  }
  return tokens;
}

/** Finds the line of an issue, counted from 1. An issue with a missing member is in the line of what misses it. */
export function openLines(text: string): (issue: Issue) => number {
  const places = new Map<string, number>();
  for (const { path, at } of readTokens(text)) if (!places.has(pointer(path))) places.set(pointer(path), at);
  return ({ path, problem }) => {
    const [, line] = /^must be JSON: at line (\d+)/.exec(problem) ?? [];
    if (line !== undefined) return Number(line);
    let nearest = path;
    while (nearest !== '' && !places.has(nearest)) nearest = nearest.slice(0, nearest.lastIndexOf('/'));
    return text.slice(0, places.get(nearest) ?? 0).split('\n').length;
  };
}

/** The parts of a JSON schema from which an editor completes. */
export interface CompletionSchema {
  $ref?: string;
  anyOf?: CompletionSchema[];
  allOf?: CompletionSchema[];
  properties?: Record<string, CompletionSchema>;
  items?: CompletionSchema;
  const?: string;
  description?: string;
  definitions?: Record<string, CompletionSchema>;
}

/** What may stand at the cursor, in place of the text between two offsets. */
export interface Completion {
  from: number;
  to: number;
  options: { name: string; meaning: string; inserted: string }[];
}

/**
 * Suggests member names and terms.
 * @param isAsked - whether to suggest them outside of a string, too
 */
export function complete(schema: CompletionSchema, text: string, cursor: number, isAsked = false): Completion | undefined {
  const expand = (one: CompletionSchema): CompletionSchema[] => {
    const { $ref, anyOf = [], allOf = [] } = one;
    const referenced = schema.definitions?.[$ref?.replace('#/definitions/', '') ?? ''];
    return [one, ...[...(referenced ? [referenced] : []), ...anyOf, ...allOf].flatMap(expand)];
  };
  const step = (known: CompletionSchema[], segment: string | number) =>
    known.flatMap(({ items, properties }) => {
      const inside = typeof segment === 'number' ? items : properties?.[segment];
      return inside ? expand(inside) : [];
    });

  const before = text.slice(0, cursor);
  const isInString = /^"[^"]*$/.test(readTokens(before).at(-1)?.lexeme ?? '') && !/\s$/.test(before);
  if (!isInString && !isAsked) return undefined;
  const { at, isName, path } = readTokens(isInString ? before : `${before}"`).at(-1) as Token;
  const parents = (isName ? path.slice(0, -1) : path).reduce(step, expand(schema));
  const found = isName
    ? parents.flatMap(({ properties = {} }) =>
        Object.entries(properties).map(([name, member]) => [name, meaningOf(expand(member))] as const),
      )
    : parents.flatMap(({ const: term, description = '' }) => (term === undefined ? [] : [[term, description] as const]));
  const siblings = readTokens(text).filter(
    (one) => one.isName && one.at !== at && pointer(one.path.slice(0, -1)) === pointer(path.slice(0, -1)),
  );
  const others = isName ? siblings.map((one) => String(one.path.at(-1))) : [];
  const typed = isInString ? before.slice(at + 1) : '';
  const [rest = ''] = isInString ? (/^[\w@$./{}-]*"?/.exec(text.slice(cursor)) ?? []) : [];
  const to = cursor + rest.length;
  const end = isName && !/^\s*:/.test(text.slice(to)) ? '": ' : '"';
  const options = [...new Map(found)]
    .filter(([name]) => name.toLowerCase().startsWith(typed.toLowerCase()) && !others.includes(name))
    .map(([name, meaning]) => ({ name, meaning, inserted: `"${name}${end}` }));
  return options.length > 0 ? { from: isInString ? at : cursor, to, options } : undefined;
}

/** The description of a member, not of one of its terms. */
const meaningOf = (expanded: CompletionSchema[]): string =>
  expanded.find(({ const: term, description }) => term === undefined && description !== undefined)?.description ?? '';
