/** Scripts that are written without spaces between words. */
const unspaced = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]+/gu;
const wordLike = /[\p{L}\p{N}\p{M}]+/gu;
const camelBoundary = /(?<=\p{Ll})(?=\p{Lu})|(?<=[\p{Lu}\p{N}])(?=\p{Lu}\p{Ll})/u;
const accents = /[\u0300-\u036f]/g;
/** Letters that carry a stroke or are two in one, which Unicode does not decompose. */
const ligatures: Record<string, string> = { ß: 'ss', æ: 'ae', œ: 'oe', ø: 'o', ł: 'l', đ: 'd', ð: 'd', þ: 'th', ħ: 'h', ı: 'i' };
const ligature = new RegExp(`[${Object.keys(ligatures).join('')}]`, 'g');

/** One piece of a text as it was written, and the words it is searched by. */
export interface Token {
  /** the piece as a whole: `getUser` is `getuser` */
  whole: string;
  /** the words inside it: `get` and `user`; the whole itself if there is nothing to split */
  parts: string[];
}

/** Folds what search does not tell apart: case, accents, and the compatibility forms of Unicode (NFKC). */
const fold = (text: string): string =>
  text
    .normalize('NFKD')
    .replace(accents, '')
    .normalize('NFC')
    .toLowerCase()
    .replace(ligature, (letter) => ligatures[letter] ?? letter);

/** Overlapping pairs of characters, and the last one alone, so that every part of the text is a word or begins one. */
function splitUnspaced(text: string): string[] {
  const characters = [...text];
  return characters.map((character, index) => character + (characters[index + 1] ?? ''));
}

/** Splits a text at everything that is no letter or digit, inside camelCase, and between characters of unspaced scripts. */
export function tokenize(text: string): Token[] {
  const spaced = text.normalize('NFKC').replace(unspaced, (run) => ` ${splitUnspaced(run).join(' ')} `);
  const tokens = (spaced.match(wordLike) ?? []).map((piece) => ({ whole: fold(piece), parts: piece.split(camelBoundary).map(fold) }));
  // an accent that stands alone folds to nothing
  return tokens.filter(({ whole }) => whole !== '');
}

/** The words that a text is found by, in their order: parts, and the whole after its parts. */
export const wordsOf = (text: string): string[] =>
  tokenize(text).flatMap(({ whole, parts }) => (parts.length > 1 ? [...parts, whole] : parts));

/** Names with the same key are equal: `Create an issue!`, `createAnIssue` and `create-an-issue`. It consists of the letters and digits, folded. */
export const nameKey = (name: string): string => fold(name.normalize('NFKC')).replace(/[^\p{L}\p{N}\p{M}]+/gu, '');

/** A text without HTML tags and the marks of markdown; of links, only what they are called. */
export const plainText = (text: string): string =>
  text
    .replace(/<[^<>]*>/g, ' ')
    .replace(/!?\[([^[\]]*)\]\([^()]*\)/g, '$1')
    .replace(/[`*#>_~|]+/g, ' ')
    .replace(/\s+/g, ' ')
    .trim();

/** The text up to the first mark that ends a sentence, of at most 300 characters. */
export const firstSentence = (text: string): string => (text.split(/(?<=[.!?])\s/, 1)[0] ?? '').slice(0, 300);
