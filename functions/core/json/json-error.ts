const whiteSpace = /[ \t\n\r]*/y;
const scalar =
  /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|"[ !#-[\]-\uffff]*(?:\\(?:["\\/bfnrt]|u[\da-fA-F]{4})[ !#-[\]-\uffff]*)*"/y;

const expected = {
  value: 'a value',
  valueOrEnd: 'a value or ]',
  name: 'a member name in double quotes',
  nameOrEnd: 'a member name in double quotes or }',
  colon: 'a colon',
  commaOrEnd: 'a comma or the end of the array or object',
  end: 'the end of the text',
} as const;

type Expected = keyof typeof expected;

/**
 * Describes where a text stops being JSON (RFC 8259), and what is expected there. The parser's own message echoes parts of the text and
 * often lacks the position.
 * @param text - one that `JSON.parse` rejects
 * @returns the end of the sentence "is not JSON: ..."
 */
export function describeJsonError(text: string): string {
  if (text.startsWith('\ufeff')) return 'it begins with a byte order mark';
  const { at, next } = findError(text);
  const before = text.slice(0, at).split(/\r\n|\n|\r/);
  const line = before.length;
  const column = (before.at(-1) ?? '').length + 1;
  return `at line ${line}, column ${column}, ${at < text.length ? '' : 'the text ends; '}expected ${expected[next]}`;
}

function findError(text: string): { at: number; next: Expected } {
  const open: ('[' | '{')[] = [];
  let next: Expected = 'value';
  let at = 0;
  const match = (pattern: RegExp): number => {
    pattern.lastIndex = at;
    return pattern.exec(text)?.[0].length ?? 0;
  };
  for (;;) {
    at += match(whiteSpace);
    const character = text[at] ?? '';
    const inner = open.at(-1);
    const isClosing = (inner === '[' && character === ']') || (inner === '{' && character === '}');
    const isName: boolean = next.startsWith('name');
    const isValue: boolean = next.startsWith('value');
    if (isClosing && next.endsWith('OrEnd')) {
      open.pop();
      at++;
      next = open.length > 0 ? 'commaOrEnd' : 'end';
    } else if (next === 'colon' && character === ':') {
      at++;
      next = 'value';
    } else if (next === 'commaOrEnd' && character === ',') {
      at++;
      next = inner === '{' ? 'name' : 'value';
    } else if (isValue && (character === '[' || character === '{')) {
      open.push(character);
      at++;
      next = character === '[' ? 'valueOrEnd' : 'nameOrEnd';
    } else if (isValue || (isName && character === '"')) {
      const length = match(scalar);
      if (length === 0) return { at, next };
      at += length;
      next = isName ? 'colon' : open.length > 0 ? 'commaOrEnd' : 'end';
    } else return { at, next };
  }
}
