/**
 * Code points that nobody sees, that a terminal obeys, or that change how other text is shown: controls (but for line feed and tab), bidirectional
 * controls, line and paragraph separators, interlinear annotations, tag characters, and what Unicode calls default ignorable. Joiners between letters
 * and between the parts of one emoji are text, and so is the variation selector after an emoji.
 */
const hidden =
  /(?!(?<=[\p{L}\p{M}])[\u200c\u200d](?=[\p{L}\p{M}])|(?<=\p{Extended_Pictographic}[\ufe0f\p{Emoji_Modifier}]?)\u200d(?=\p{Extended_Pictographic})|(?<=[^\P{Emoji}#*0-9])\ufe0f|(?<=[#*0-9])\ufe0f(?=\u20e3))(?:[^\P{Cc}\n\t]|[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}\u2028\u2029\ufff9-\ufffb\u{e0000}-\u{e0fff}])/gu;

/** A text in which each code point that nobody sees is written in another way. */
export const replaceHidden = (text: string, write: (character: string) => string): string => text.replace(hidden, write);

/** A text as it may be written to a terminal: what nobody sees, or a terminal obeys, is shown as `\u{..}`. */
export const toPrintable = (text: string): string =>
  text.replace(hidden, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);

/** A value as JSON that may be written to a terminal; programs read the same value from it. */
export const toPrintableJson = (value: unknown, indent?: number): string =>
  (JSON.stringify(value, null, indent) ?? 'null').replace(hidden, (character) =>
    character.replace(/./gs, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  );
