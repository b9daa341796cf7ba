import { characters, withoutHidden } from '../../schemas/text.ts';
import type { AddNote } from './node.ts';
import { toPlainText } from './plain-text.ts';

const maxDescriptionLength = 4000;
const maxNameLength = 200;

/** Truncates to a number of code points, with an ellipsis. */
function cut(text: string, maximum: number): string {
  if (characters(text) <= maximum) return text;
  const kept = [...text].slice(0, maximum - 1).join('');
  return `${kept.trimEnd()}…`;
}

function clean(text: string, what: string, path: string, addNote: AddNote): string {
  const cleaned = withoutHidden(text);
  const count = characters(text) - characters(cleaned);
  if (count > 0) addNote(path, `removed ${count} invisible or control ${count === 1 ? 'character' : 'characters'} from ${what}`);
  return cleaned;
}

/** A description without hidden characters, at most 4,000 characters; undefined if nothing is left. */
export function fitDescription(text: string | undefined, path: string, addNote: AddNote): string | undefined {
  const given = toPlainText((text ?? '').replace(/[\u0085\u2028\u2029]/g, '\n')).toWellFormed();
  const cleaned = clean(given, 'the description', path, addNote).trim();
  if (cleaned === '') return undefined;
  const fitted = cut(cleaned, maxDescriptionLength);
  if (fitted !== cleaned) addNote(path, `the description was cut to ${maxDescriptionLength} characters`);
  return fitted;
}

/** A description that ends with a default, at most 4,000 characters by default. */
export function withDefault(description: string | undefined, value: unknown, maximum = maxDescriptionLength): string {
  const toLine = (text: string) => fitName(text, '', () => {}, Math.min(200, maximum / 2 - 9));
  const plain = typeof value === 'string' && toLine(value) === value ? value : JSON.stringify(value);
  const ending = `Default: ${toLine(plain)}`;
  if (description === undefined) return ending;
  const beginning = cut(description, maximum - characters(ending) - 2);
  return `${beginning}${/[.:;!?…]$/.test(beginning) ? '' : '.'} ${ending}`;
}

/** A name on one line, at most 200 characters by default; undefined if nothing is left. */
/** Percent-encodes characters that are not allowed in a path. Lone surrogates, which have no encoding, stay, and are refused later. */
export const encodeLiteral = (text: string): string =>
  text.replace(/%(?![0-9a-fA-F]{2})|[^\w\-.~:/?#[\]@!$&'()*+,;=%]/gu, (character) =>
    character.isWellFormed() ? encodeURIComponent(character) : character,
  );

export function fitName(text: string | undefined, path: string, addNote: AddNote, maximum = maxNameLength): string | undefined {
  const given = text?.toWellFormed().normalize('NFC').replace(/\s+/g, ' ') ?? '';
  const cleaned = clean(given, 'the name', path, addNote).replace(/\s+/g, ' ').trim();
  return cleaned === '' ? undefined : cut(cleaned, maximum);
}
