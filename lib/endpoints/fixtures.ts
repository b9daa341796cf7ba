import { digestIntent } from '../../schemas/intent-digest.ts';

export const exampleBaseUrl = 'https://intent-gate.example';

export const serviceId = '01KD3C0YV2Q6H8S5J4M7N9P1RT';
export const intentUid = 'tides.example:next-high-tide:v1';
export const agentId = 'travel-planner-7';
export const executionId = '01JWQ3K8Z5N7T9V2X4Y6B8D0FG';

export const service = {
  service_name: 'Harbour tides',
  service_url: 'https://tides.example',
  description: 'High and low water of harbours',
  service_terms_of_service_url: 'https://tides.example/terms',
};
export const renamed = { ...service, description: 'High and low water of harbours, two years ahead' };
export const saved = ({ service_name, service_url, description }: typeof service) => ({
  service_id: serviceId,
  service_name,
  service_url,
  description,
});

export const intent = {
  intent_uid: intentUid,
  intent_name: 'Next high tide',
  description: 'Tells when the next high tide of a harbour is, and how high',
  input_parameters: [
    { name: 'harbour', type: 'string', required: true, description: 'Name of the harbour', maxLength: 100 },
    { name: 'unit', type: 'string', description: 'Unit of the height', enum: ['m', 'ft'], default: 'm' },
  ],
  output_parameters: [
    { name: 'time', type: 'string', required: true, format: 'date-time' },
    { name: 'height', type: 'number', required: true },
  ],
  endpoint: { url: 'https://tides.example/harbours/{harbour}/next{?unit}', method: 'GET' },
  tags: ['tides', 'harbours'],
};
export const revised = { ...intent, tags: ['tides', 'harbours', 'sea'] };

const currencyIntent = {
  intent_uid: 'world.example:get-currency:v1',
  service_name: 'World facts',
  intent_name: 'Describe a currency',
  description: 'Tells the name, plural, symbols and number of decimal places of a currency, such as ¥ and none for the Japanese yen.',
  input_parameters: [
    {
      name: 'code',
      type: 'string',
      required: true,
      description: 'ISO 4217 code of the currency in three capital letters, for example CHF',
    },
    {
      name: 'in_language',
      type: 'string',
      required: false,
      description: 'Language of the answer, as a language tag such as en, de-CH or ja',
    },
  ],
  output_parameters: [
    { name: 'code', type: 'string', required: true, description: 'ISO 4217 code' },
    { name: 'name', type: 'string', required: true, description: 'Name of the currency' },
    { name: 'plural_name', type: 'string', required: true, description: 'What several units are called' },
    { name: 'symbol', type: 'string', required: true, description: 'Symbol that no other currency shares in that language' },
    { name: 'short_symbol', type: 'string', required: true, description: 'Shortest symbol' },
    { name: 'decimal_places', type: 'integer', required: true, description: 'Digits after the decimal point' },
  ],
  endpoint: 'https://world.example/currencies/%7Bcode%7D',
  tags: ['currency', 'money', 'symbols'],
};
export const currency = { ...currencyIntent, digest: digestIntent(currencyIntent) };

const publicKeyPem = [
  '-----BEGIN PUBLIC KEY-----',
  'MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEaxfR8uEsQkf4vOblY6RA8ncDfYEt',
  '6zOg9KE5RdiYwpZP40Li/hp/m47n60p8D54WK84zV2sxXs7LtkBoN79R9Q==',
  '-----END PUBLIC KEY-----',
  '',
].join('\n');

export const published = (protocol: string) => ({
  [`${protocol}-public-key`]: publicKeyPem,
  [`${protocol}-policy-file`]: `${exampleBaseUrl}/api/policy`,
  [`${protocol}-api-discovery`]: `${exampleBaseUrl}/api/intents/search`,
  [`${protocol}-api-execute`]: `${exampleBaseUrl}/api/intents/execute`,
});
