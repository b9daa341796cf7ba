/**
 * Code points that are invisible, control a terminal, or change how other text is displayed: controls except line feed and tab, bidirectional controls, line
 * and paragraph separators, annotations, tags and default ignorables. Joiners in words and emoji sequences are allowed.
 */
const hidden =
  /(?!(?<=[\p{L}\p{M}])[\u200c\u200d](?=[\p{L}\p{M}])|(?<=\p{Extended_Pictographic}[\ufe0f\p{Emoji_Modifier}]?)\u200d(?=\p{Extended_Pictographic})|(?<=[^\P{Emoji}#*0-9])\ufe0f|(?<=[#*0-9])\ufe0f(?=\u20e3))(?:[^\P{Cc}\n\t]|[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}\u2028\u2029\ufff9-\ufffb\u{e0000}-\u{e0fff}])/gu;

export const replaceHidden = (text: string, write: (character: string) => string): string => text.replace(hidden, write);

/** Text for a terminal, with hidden characters escaped as `\u{..}`. */
export const toPrintable = (text: string): string =>
  text.replace(hidden, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);

/** JSON for a terminal, which parses to the same value. */
export const toPrintableJson = (value: unknown, indent?: number): string =>
  (JSON.stringify(value, null, indent) ?? 'null').replace(hidden, (character) =>
    character.replace(/./gs, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  );
