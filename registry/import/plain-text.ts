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

/** Longer than any usable description with markup; some patterns below are slow on long input. */
const maxLength = 12_000;

/** Removes HTML and Markdown markup, but keeps words in angle brackets that are not HTML. */
export function toPlainText(text: string): string {
  const plain = text
    .slice(0, maxLength)
    .replace(/\r\n?/g, '\n')
    .replace(comment, '')
    .replace(listItem, '\n- ')
    .replace(breakingTag, '\n\n')
    .replace(anyTag, '')
    .replace(/&(#\d{1,7}|#x[0-9a-f]{1,6}|[a-z]{2,6});/gi, decodeEntity)
    .replace(/!?\[([^[\]\n]*)\]\((?:[^()\n]|\([^()\n]*\))*\)/g, '$1')
    .replace(/^[ \t]*(?:#{1,6}[ \t]+|`{3,}.*$|>[ \t]?)/gm, '')
    .replace(/(\*{1,3}|(?<![\p{L}\p{N}])_{1,3})(?=\S)([^*_\n]*[^*_\s])\1(?![\p{L}\p{N}])/gu, '$2')
    .replace(/`+([^`\n]+)`+/g, '$1');
  return plain
    .replace(/[ \t]+$/gm, '')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
}
