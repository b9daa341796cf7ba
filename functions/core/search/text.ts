/** Scripts written without spaces between words. */
const unspaced = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]+/gu;
const wordLike = /[\p{L}\p{N}\p{M}]+/gu;
const camelBoundary = /(?<=\p{Ll})(?=\p{Lu})|(?<=[\p{Lu}\p{N}])(?=\p{Lu}\p{Ll})/u;
const accents = /[\u0300-\u036f]/g;
/** Letters that Unicode does not decompose. */
const ligatures: Record<string, string> = { ß: 'ss', æ: 'ae', œ: 'oe', ø: 'o', ł: 'l', đ: 'd', ð: 'd', þ: 'th', ħ: 'h', ı: 'i' };
const ligature = new RegExp(`[${Object.keys(ligatures).join('')}]`, 'g');

export interface Token {
  /** `getUser` as one word: `getuser` */
  whole: string;
  /** the words inside it: `get` and `user` */
  parts: string[];
}

const fold = (text: string): string =>
  text
    .normalize('NFKD')
    .replace(accents, '')
    .normalize('NFC')
    .toLowerCase()
    .replace(ligature, (letter) => ligatures[letter] ?? letter);

/** Overlapping pairs of characters, and the last character alone, so that every substring is matched by words or their prefixes. */
function splitUnspaced(text: string): string[] {
  const characters = [...text];
  return characters.map((character, index) => character + (characters[index + 1] ?? ''));
}

/** Splits a text at characters other than letters and digits, inside camelCase, and between characters of unspaced scripts. */
export function tokenize(text: string): Token[] {
  const spaced = text.normalize('NFKC').replace(unspaced, (run) => ` ${splitUnspaced(run).join(' ')} `);
  const tokens = (spaced.match(wordLike) ?? []).map((piece) => ({ whole: fold(piece), parts: piece.split(camelBoundary).map(fold) }));
  // a lone accent folds to nothing
  return tokens.filter(({ whole }) => whole !== '');
}

/** The words by which a text is found, in order; camelCase gives its parts, then the whole. */
export const wordsOf = (text: string): string[] =>
  tokenize(text).flatMap(({ whole, parts }) => (parts.length > 1 ? [...parts, whole] : parts));

/** A key that is equal for names that differ only in spelling: `Create an issue!`, `createAnIssue` and `create-an-issue`. */
export const nameKey = (name: string): string => fold(name.normalize('NFKC')).replace(/[^\p{L}\p{N}\p{M}]+/gu, '');

/** Removes HTML tags and Markdown; links keep their titles. */
export const plainText = (text: string): string =>
  text
    .replace(/<[^<>]*>/g, ' ')
    .replace(/!?\[([^[\]]*)\]\([^()]*\)/g, '$1')
    .replace(/[`*#>_~|]+/g, ' ')
    .replace(/\s+/g, ' ')
    .trim();

/** The first sentence, cut to 300 characters. */
export const firstSentence = (text: string): string => (text.split(/(?<=[.!?])\s/, 1)[0] ?? '').slice(0, 300);
