import type { IntentInput } from '../../schemas/intent.ts';
import type { ServiceInput } from '../../schemas/service.ts';

export const serviceNamed = (service_name: string): ServiceInput => ({
  service_name,
  service_url: 'https://world.example',
  description: 'Facts about the world',
});

export const intentOf = (intent_uid: string, more: Partial<IntentInput> = {}): IntentInput => ({
  intent_uid,
  intent_name: 'Get country',
  description: 'Tells a country from its code',
  input_parameters: [{ name: 'code', type: 'string', required: true }],
  output_parameters: [{ name: 'name', type: 'string', required: true }],
  endpoint: { url: 'https://api.world.example/countries', method: 'POST', content_type: 'application/json' },
  ...more,
});
