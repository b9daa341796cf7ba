import type { BriefIntent, IntentDetails } from '../../../schemas/intent.ts';
import { firstSentence, plainText } from './text.ts';

/** An intent in a few words: enough to choose it, not to execute it. */
export const toBriefIntent = ({ intent_uid, intent_name, description, input_parameters }: IntentDetails): BriefIntent => ({
  intent_uid,
  intent_name,
  summary: firstSentence(plainText(description)),
  required: input_parameters.filter(({ required }) => required).map(({ name }) => name),
});
