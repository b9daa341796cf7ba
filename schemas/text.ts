import * as z from 'zod';

/**
 * Code points that are invisible or change how other text is displayed: controls (except line feed and tab), bidirectional controls, line and
 * paragraph separators, interlinear annotations, tag characters, and Unicode's default ignorable code points. Joiners between letters and between
 * the parts of one emoji are allowed, and so is the variation selector after an emoji.
 */
const hidden =
  /(?!(?<=[\p{L}\p{M}])[\u200c\u200d](?=[\p{L}\p{M}])|(?<=\p{Extended_Pictographic}[\ufe0f\p{Emoji_Modifier}]?)\u200d(?=\p{Extended_Pictographic})|(?<=[^\P{Emoji}#*0-9])\ufe0f|(?<=[#*0-9])\ufe0f(?=\u20e3))(?:[^\P{Cc}\n\t]|[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}\u2028\u2029\ufff9-\ufffb\u{e0000}-\u{e0fff}])/gu;

const firstHidden = new RegExp(hidden, 'u');

/** Unicode code points, not UTF-16 units. */
export const characters = (text: string): number => [...text].length;

/** Removes invisible code points, except line feeds and tabs. */
export const withoutHidden = (text: string): string => text.replace(hidden, '');

/** Escapes invisible code points in JSON text, whose value stays the same. */
export const escapeHiddenInJson = (json: string): string =>
  json.replace(hidden, (character) => character.replace(/./gs, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`));

/**
 * Describes the first invisible code point of a text, without echoing it.
 * @param isMultiline - whether line feeds and tabs are allowed
 * @returns undefined if it contains none
 */
export function describeHidden(text: string, isMultiline: boolean): string | undefined {
  const places = [text.search(firstHidden), isMultiline ? -1 : text.search(/[\n\t]/)].filter((place) => place >= 0);
  if (places.length === 0) return undefined;
  const place = Math.min(...places);
  const codePoint = (text.codePointAt(place) ?? 0).toString(16).toUpperCase().padStart(4, '0');
  return `must not contain the invisible or control character U+${codePoint} (character ${characters(text.slice(0, place)) + 1})`;
}

/** Applies to every text that people or models read. */
const visible = (isMultiline: boolean) => (text: string, context: z.RefinementCtx) => {
  if (withoutHidden(text).trim() === '') return context.addIssue({ code: 'custom', message: 'must not be empty' });
  const message = describeHidden(text, isMultiline);
  if (message !== undefined) context.addIssue({ code: 'custom', message });
};

/**
 * A one-line name: NFC-normalised, free of invisible and control characters.
 * @param maximum - maximum length in characters
 */
export const name = (maximum: number) =>
  z
    .string()
    .transform((text) => text.normalize('NFC'))
    .pipe(
      z
        .string()
        .superRefine(visible(false))
        .refine((text) => characters(text) <= maximum, `must have at most ${maximum} characters`),
    )
    .meta({ minLength: 1, maxLength: maximum });

/** Prose of at most 4,000 characters. Line breaks and tabs are allowed, other control and invisible characters are not. */
export const description = z
  .string()
  .transform((text) => text.replaceAll('\r\n', '\n'))
  .pipe(
    z
      .string()
      .superRefine(visible(true))
      .refine((text) => characters(text) <= 4000, 'must have at most 4000 characters'),
  )
  .meta({ minLength: 1, maxLength: 4000 });

/** An absolute http or https address without user information, at most 2,048 characters. It is shown, never called. */
export const webAddress = z
  .string()
  .trim()
  .max(2048)
  .refine((text) => {
    if (describeHidden(text, false) !== undefined || !URL.canParse(text)) return false;
    const { protocol, username, password } = new URL(text);
    return /^https?:$/.test(protocol) && username === '' && password === '';
  }, 'must be an absolute http or https URL without user information')
  .meta({ format: 'uri' });

/**
 * Normalises names of services and agent ids for comparison: ignores case, surrounding and repeated white space, and invisible characters. Letters
 * such as the capital sharp s need several case conversions, and the result of some is not in NFC.
 */
export const foldName = (name: string): string =>
  name
    .normalize('NFC')
    .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
    .trim()
    .replace(/\s+/g, ' ')
    .toLowerCase()
    .toUpperCase()
    .toLowerCase()
    .normalize('NFC');

/** Normalises tags and namespaces for comparison. */
export const foldTag = (tag: string): string => tag.normalize('NFC').trim().toLowerCase();
