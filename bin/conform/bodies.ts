import { randomBytes } from 'node:crypto';
import type { Parameter } from '../../schemas/parameter.ts';

export interface ServiceBody extends Record<string, unknown> {
  service_name: string;
  service_url: string;
  description: string;
}

export interface IntentBody extends Record<string, unknown> {
  intent_uid: string;
  intent_name: string;
  input_parameters: Parameter[];
  output_parameters: Parameter[];
}

/** An id that no record has, in letters that fit a slug. */
export const freshId = (): string => `conformance-${randomBytes(6).toString('hex')}`;

/** The body of a service that does not exist yet. */
export const makeServiceBody = (): ServiceBody => ({
  service_name: `Conformance check ${freshId()}`,
  service_url: 'https://service.example',
  description: 'Made by a conformance check, which removes it again.',
});

/** The body of an intent that does not exist yet: one that the demo upstream serves. */
export const makeIntentBody = (upstreamUrl = 'https://service.example'): IntentBody => ({
  intent_uid: `conformance.example:${freshId()}:v1`,
  intent_name: 'Count the words of a text',
  description: 'Made by a conformance check, which removes it again.',
  input_parameters: [{ name: 'text', type: 'string', required: true, description: 'The text' }],
  output_parameters: [{ name: 'words', type: 'integer', required: true, description: 'How many words it has' }],
  endpoint: `${upstreamUrl}/texts/count`,
  tags: ['conformance'],
});
