import { shortPointer } from '../../functions/core/json/json.ts';

// a string also ends with the text, so that one that is not closed is not tried from each of its quotation marks
const comment = /("[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?$))|\/\/[^\n\r]*|\/\*[^*]*(?:\*(?!\/)[^*]*)*(?:\*\/)?/g;
const trailingComma = /("[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?$))|,(?=\s*[}\]])/g;

export function describeOffset(text: string, offset: number): string {
  const before = text.slice(0, offset).split('\n');
  return `at line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`;
}

/**
 * Describes the first member that an object has a second time. `JSON.parse` keeps only the last one.
 * @param text - must be JSON
 */
export function findRepeatedMember(text: string): string | undefined {
  const open: { names?: Set<string>; at: string | number }[] = [];
  let start: number | undefined;
  let last = { quoted: '', start: 0 };
  // reads no string by one pattern, whose length is limited by the stack
  for (const { 0: lexeme, index } of text.matchAll(/\\.|["{}[\],:]/g)) {
    const inner = open.at(-1);
    if (lexeme === '"') {
      if (start !== undefined) last = { quoted: text.slice(start, index + 1), start };
      start = start === undefined ? index : undefined;
    } else if (start !== undefined) continue;
    else if (lexeme === '{' || lexeme === '[') open.push(lexeme === '{' ? { names: new Set(), at: '' } : { at: 0 });
    else if (lexeme === '}' || lexeme === ']') open.pop();
    else if (lexeme === ',' && typeof inner?.at === 'number') inner.at++;
    else if (lexeme === ':' && inner?.names) {
      inner.at = JSON.parse(last.quoted) as string;
      if (inner.names.has(inner.at)) return `${shortPointer(open.map(({ at }) => at))} a second time ${describeOffset(text, last.start)}`;
      inner.names.add(inner.at);
    }
  }
  return undefined;
}

/** Describes the first comment or trailing comma of a text that is JSON without them. */
export function findExtension(text: string): string | undefined {
  try {
    const withoutComments = text.replace(comment, '$1');
    JSON.parse(withoutComments.replace(trailingComma, '$1'));
    const [what, pattern] = withoutComments === text ? ['trailing comma', trailingComma] : ['comment', comment];
    const first = text.matchAll(pattern).find(([, quoted]) => quoted === undefined);
    return `a ${what} ${describeOffset(text, first?.index ?? 0)}`;
  } catch {
    return undefined;
  }
}
