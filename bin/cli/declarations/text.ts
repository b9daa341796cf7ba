import { replaceHidden } from '../../../client/printable.ts';
import { firstSentence, plainText } from '../../../functions/core/search/text.ts';
import type { IntentInput } from '../../../schemas/intent.ts';

const toVisible = (text: string): string =>
  replaceHidden(text, () => '')
    .replace(/\s+/g, ' ')
    .trim();

/** What a description says first, on one line, without markup and characters that nobody sees. */
export const toLine = (text: string): string => toVisible(firstSentence(plainText(text)));

/** An intent on one line: its name, and what its description says first if that is more. */
export function describeIntent({ intent_name, description }: Pick<IntentInput, 'intent_name' | 'description'>): string {
  const [name, first] = [toVisible(intent_name), toLine(description)];
  return first === '' || first.replace(/[.!?]$/, '') === name.replace(/[.!?]$/, '') ? name : `${name}: ${first}`;
}
