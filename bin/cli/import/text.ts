import type { TakeNote } from './node.ts';
import { toPlainText } from './plain-text.ts';

const maxDescriptionLength = 4000;
const maxNameLength = 200;

const controlButLayout = /[^\P{Cc}\n\r\t]|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;
const controlOrLayout = /[\p{Cc}\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\s]+/gu;
const invisible = /\p{Default_Ignorable_Code_Point}/gu;

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
