import { replaceHidden } from '../../../client/printable.ts';
import { firstSentence, plainText } from '../../../functions/core/search/text.ts';
import type { IntentInput } from '../../../schemas/intent.ts';

const toVisible = (text: string): string =>
  replaceHidden(text, () => '')
    .replace(/\s+/g, ' ')
    .trim();

/** The first sentence, on one line, without markup and hidden characters. */
export const toLine = (text: string): string => toVisible(firstSentence(plainText(text)));

/** The name, followed by the first sentence of the description unless they are the same. */
export function describeIntent({ intent_name, description }: Pick<IntentInput, 'intent_name' | 'description'>): string {
  const [name, first] = [toVisible(intent_name), toLine(description)];
  return first === '' || first.replace(/[.!?]$/, '') === name.replace(/[.!?]$/, '') ? name : `${name}: ${first}`;
}
