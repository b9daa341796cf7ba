import type { TakeNote } from './node.ts';

const maxDescriptionLength = 4000;
const maxNameLength = 200;

const controlButLayout = /[^\P{Cc}\n\r\t]|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;
const controlOrLayout = /[\p{Cc}\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\s]+/gu;
const invisible = /\p{Default_Ignorable_Code_Point}/gu;

const tags =
  'a|abbr|article|aside|b|blockquote|br|center|cite|code|dd|del|details|div|dl|dt|em|figure|font|h[1-6]|hr|i|img|ins|kbd|li|mark|ol|p|pre|q|s|section|small|span|strike|strong|style|sub|summary|sup|table|tbody|td|tfoot|th|thead|tr|tt|u|ul';
const breakingTag = /<\/?(?:p|br|div|h[1-6]|ul|ol|table|tr|pre|blockquote|section|article|hr|dl|dt|dd)(?:\s[^<>]*)?\/?>/gi;
const listItem = /<li(?:\s[^<>]*)?>/gi;
const anyTag = new RegExp(`</?(?:${tags})(?:\\s[^<>]*)?/?>`, 'gi');
const comment = /<!--.*?-->/gs;
const entities: Record<string, string> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  hellip: '…',
  mdash: '—',
  ndash: '–',
};

function decodeEntity(whole: string, name: string): string {
  if (!name.startsWith('#')) return entities[name] ?? whole;
  const code = /^#x/i.test(name) ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1));
  return code > 31 && code <= 0x10ffff ? String.fromCodePoint(code) : ' ';
}

/** Prose without the marks of HTML and Markdown. Words in angle brackets that are no HTML stay. */
export function toPlainText(text: string): string {
  const plain = text
    .replace(/\r\n?/g, '\n')
    .replace(comment, '')
    .replace(listItem, '\n- ')
    .replace(breakingTag, '\n\n')
    .replace(anyTag, '')
    .replace(/&(#\d{1,7}|#x[0-9a-f]{1,6}|[a-z]{2,6});/gi, decodeEntity)
    // a link or picture is its words, whatever it leads to
    .replace(/!?\[([^[\]\n]*)\]\((?:[^()\n]|\([^()\n]*\))*\)/g, '$1')
    .replace(/^[ \t]*(?:#{1,6}[ \t]+|`{3,}.*$|>[ \t]?)/gm, '')
    .replace(/(\*{1,3}|(?<![\p{L}\p{N}])_{1,3})(?=\S)([^*_\n]*[^*_\s])\1(?![\p{L}\p{N}])/gu, '$2')
    .replace(/`+([^`\n]+)`+/g, '$1');
  return plain
    .replace(/[ \t]+$/gm, '')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
}

const isBlank = (text: string): boolean => text.replace(invisible, '').trim() === '';

/** Cuts a text to a number of characters (code points), and marks the cut with an ellipsis. */
function cut(text: string, maximum: number): string {
  const characters = [...text];
  if (characters.length <= maximum) return text;
  const kept = characters.slice(0, maximum - 1).join('');
  return `${kept.trimEnd()}…`;
}

/** A text as a description may be: without control characters, at most 4,000 characters. Undefined if nothing is left. */
export function fitDescription(text: string | undefined, path: string, take: TakeNote): string | undefined {
  const clean = toPlainText(text ?? '')
    .toWellFormed()
    .replace(controlButLayout, '')
    .trim();
  if (isBlank(clean)) return undefined;
  const fitted = cut(clean, maxDescriptionLength);
  if (fitted !== clean) take(path, `the description was cut to ${maxDescriptionLength} characters`);
  return fitted;
}

/** A text as a name may be: one line, at most 200 characters. Undefined if nothing is left. */
export function fitName(text: string | undefined, maximum = maxNameLength): string | undefined {
  const clean = text?.toWellFormed().normalize('NFC').replace(controlOrLayout, ' ').trim() ?? '';
  return isBlank(clean) ? undefined : cut(clean, maximum);
}
