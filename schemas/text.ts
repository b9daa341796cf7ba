import * as z from 'zod';

const controlOrBidi = /[\p{Cc}\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/u;
const invisible = /\p{Default_Ignorable_Code_Point}/gu;
const controlButLayout = /[^\P{Cc}\n\r\t]|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;

/** Whether a text holds a character that nobody sees. */
export const hasInvisible = (text: string): boolean => text.search(invisible) !== -1;

/** Number of characters (Unicode code points, not UTF-16 units). */
export const characters = (text: string): number => [...text].length;

/**
 * A one-line text that people and machines identify things by: NFC-normalised, free of control characters and
 * bidirectional overrides.
 * @param maximum - maximum length in characters
 */
export const name = (maximum: number) =>
  z
    .string()
    .transform((text) => text.normalize('NFC'))
    .pipe(
      z
        .string()
        .refine((text) => text.replace(invisible, '').trim() !== '', 'must not be empty')
        .refine((text) => !controlOrBidi.test(text), 'must not hold control characters or bidirectional overrides')
        .refine((text) => characters(text) <= maximum, `must have at most ${maximum} characters`),
    )
    .meta({ maxLength: maximum });

/** Prose of at most 4,000 characters; line breaks and tabs are welcome, other control characters are not. */
export const description = z
  .string()
  .refine((text) => text.trim() !== '', 'must not be empty')
  .refine((text) => !controlButLayout.test(text), 'must not hold control characters or bidirectional overrides')
  .refine((text) => characters(text) <= 4000, 'must have at most 4000 characters')
  .meta({ maxLength: 4000 });

/** An absolute http or https address without user information, at most 2,048 characters. It is shown, never called. */
export const webAddress = z
  .string()
  .max(2048, 'must have at most 2048 characters')
  .refine((text) => {
    if (controlOrBidi.test(text) || !URL.canParse(text)) return false;
    const { protocol, username, password } = new URL(text);
    return /^https?:$/.test(protocol) && username === '' && password === '';
  }, 'must be an absolute http or https URL without user information')
  .meta({ format: 'uri' });
