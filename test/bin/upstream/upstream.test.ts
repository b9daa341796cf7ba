import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { describeDemoIntents, describeDemoService } from '../../../bin/local/upstream/intents.ts';
import { routes } from '../../../bin/local/upstream/routes.ts';
import { startUpstream, type Upstream } from '../../../bin/local/upstream/server.ts';
import { intentInput } from '../../../schemas/intent.ts';
import { serviceInput } from '../../../schemas/service.ts';

let upstream: Upstream;
beforeAll(async () => {
  upstream = await startUpstream();
});
afterAll(() => upstream.stop());

type Parameters = Record<string, unknown>;

/** Calls the upstream as an intent's endpoint says: places first, then query or body. */
async function call(method: string, path: string, parameters: Parameters) {
  const rest = { ...parameters };
  const filled = path.replace(/\{(\w+)\}/g, (_, name) => {
    delete rest[name];
    return encodeURIComponent(String(parameters[name]));
  });
  const isGet = method === 'GET';
  const query = isGet ? `?${new URLSearchParams(rest as Record<string, string>)}` : '';
  const response = await fetch(`${upstream.url}${filled}${query}`, {
    method,
    ...(!isGet && { headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(rest) }),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

/** Parameters for each demo intent and some of what the answer must hold. */
const samples: Record<string, [Parameters, unknown]> = {
  'find-countries:v1': [{ named: 'aland', limit: 1 }, { countries: [{ code: 'AX', name: 'Åland Islands' }] }],
  'get-country:v1': [
    { code: 'IR', in_language: 'de' },
    {
      name: 'Iran',
      local_name: 'ایران',
      likely_language: 'fa',
      first_day_of_week: 'Samstag',
      weekend: ['Freitag'],
      time_zones: ['Asia/Tehran'],
    },
  ],
  'export-countries:v1': [{}, expect.arrayContaining([{ code: 'JP', name: 'Japan' }])],
  'get-currency:v1': [
    { code: 'JPY' },
    { code: 'JPY', name: 'Japanese Yen', plural_name: 'Japanese yen', symbol: '¥', short_symbol: '¥', decimal_places: 0 },
  ],
  'get-language:v1': [
    { tag: 'ar' },
    { own_name: 'العربية', direction: 'right to left', plural_categories: ['zero', 'one', 'two', 'few', 'many', 'other'] },
  ],
  'list-time-zones:v1': [{ country: 'JP' }, { time_zones: [{ time_zone: 'Asia/Tokyo', utc_offset: '+09:00' }] }],
  'get-current-time:v1': [{ time_zone: 'Asia/Kathmandu' }, { utc_offset: '+05:45', zone_name: 'Nepal Time' }],
  'convert-time:v1': [
    { time: '2027-03-28T09:30:00+02:00', to_time_zone: 'America/New_York' },
    { time: '2027-03-28T03:30:00-04:00', weekday: 'Sunday', zone_name: 'Eastern Daylight Time' },
  ],
  'convert-time:v2': [
    { local_time: '2027-01-31T20:30', from_time_zone: 'Europe/Berlin', to_time_zones: ['Asia/Tokyo'] },
    {
      instant: '2027-01-31T19:30:00.000Z',
      is_ambiguous: false,
      conversions: [
        {
          time_zone: 'Asia/Tokyo',
          local_time: '2027-02-01T04:30:00',
          utc_offset: '+09:00',
          weekday: 'Monday',
          zone_name: 'Japan Standard Time',
          day_difference: 1,
        },
      ],
    },
  ],
  'format-date:v1': [
    { time: '2027-03-28T09:30:00Z', locale: 'en-GB', style: 'medium', calendar: 'gregory' },
    { text: '28 Mar 2027, 09:30:00', calendar: 'gregory' },
  ],
  'format-number:v1': [{ number: 1234567.5, locale: 'en-IN' }, { text: '12,34,567.5' }],
  'format-number:v2': [
    { number: 1234567.5, locale: 'en', notation: 'compact', fraction_digits: 1 },
    { text: '1.2M', numbering_system: 'latn' },
  ],
  'format-money:v1': [
    { amount: -5, currency: 'USD', locale: 'en-US', accounting: true },
    { text: '($5.00)', decimal_places: 2 },
  ],
  'choose-plural:v1': [
    { number: 22, language: 'en', kind: 'ordinal' },
    { category: 'two', categories: ['one', 'two', 'few', 'other'] },
  ],
  'sort-texts:v1': [
    { texts: ['öl', 'zebra', 'apa10', 'apa2'], language: 'sv' },
    { sorted: ['apa2', 'apa10', 'zebra', 'öl'], language: 'sv' },
  ],
  'join-texts:v1': [{ texts: ['Rot', 'Grün', 'Blau'], language: 'de', kind: 'disjunction' }, { text: 'Rot, Grün oder Blau' }],
  'count-text:v1': [{ text: '👩‍👩‍👧 Hello, world. Bye!' }, { characters: 20, words: 3, sentences: 2, code_points: 24, bytes: 37 }],
};

const intents = describeDemoIntents('http://upstream.example');

const isOfType: Record<string, (value: unknown) => boolean> = {
  string: (value) => typeof value === 'string',
  boolean: (value) => typeof value === 'boolean',
  integer: (value) => Number.isSafeInteger(value),
  array: Array.isArray,
};

describe('the demo intents', () => {
  test('can be registered', () => {
    expect(() => serviceInput.parse(describeDemoService('http://upstream.example'))).not.toThrow();
    for (const intent of intents) expect(intentInput.parse(intent)).toEqual(intent);
  });

  test('have a sample each', () => {
    expect(Object.keys(samples)).toEqual(intents.map(({ intent_uid }) => intent_uid.replace('world.example:', '')));
  });

  test('reach every route', () => {
    const reached = intents.map(({ endpoint }) => `${endpoint.method} ${endpoint.url.replace('http://upstream.example', '')}`);
    expect(new Set(reached)).toEqual(new Set(routes.map(({ method, path }) => `${method} ${path}`)));
  });

  test.each(intents.map((intent) => [intent.intent_uid, intent] as const))('%s is answered as it says', async (uid, intent) => {
    const [given, expected] = samples[uid.replace('world.example:', '')] ?? [{}, {}];
    const defaults = intent.input_parameters
      .filter((parameter) => 'default' in parameter)
      .map((parameter) => [parameter.name, parameter.default]);
    const { status, body } = await call(intent.endpoint.method, intent.endpoint.url.replace('http://upstream.example', ''), {
      ...Object.fromEntries(defaults),
      ...given,
    });
    expect(status).toBe(200);
    if (Array.isArray(expected) || Array.isArray(body)) {
      expect(intent.output_parameters).toHaveLength(1);
      expect(body).toEqual(expected);
      return;
    }
    expect(body).toMatchObject(expected as object);
    for (const { name, type } of intent.output_parameters) expect([name, isOfType[type]?.(body[name])]).toEqual([name, true]);
  });
});

describe('the demo upstream', () => {
  test('knows summer time', async () => {
    const twice = { local_time: '2027-10-31T02:30', from_time_zone: 'Europe/Berlin', to_time_zones: ['UTC'] };
    expect(await call('POST', '/time/convert-local', twice)).toMatchObject({
      status: 200,
      body: { is_ambiguous: true, instant: '2027-10-31T00:30:00.000Z' },
    });
    expect(await call('POST', '/time/convert-local', { ...twice, local_time: '2027-03-28T02:30' })).toEqual({
      status: 422,
      body: { message: 'local_time does not exist in from_time_zone: the clocks are put forward over it. Take a time an hour later.' },
    });
  });

  test('lists each country once, and no country that is none', async () => {
    const { body } = await call('GET', '/countries/all', {});
    const codes = (body as unknown as { code: string }[]).map(({ code }) => code);
    expect(new Set(codes).size).toBe(codes.length);
    expect(codes).toEqual(expect.arrayContaining(['CH', 'GB', 'US', 'XK', 'ZA']));
    for (const code of ['EU', 'SU', 'UK', 'UN', 'ZZ']) expect(codes).not.toContain(code);
  });

  test.each<[string, string, string, Parameters, number, string]>([
    ['an unknown path', 'GET', '/nowhere', {}, 404, 'There is nothing at this path.'],
    ['another method', 'GET', '/texts/count', {}, 405, 'This path takes POST only.'],
    ['a missing member', 'POST', '/texts/count', {}, 400, 'text is required'],
    [
      'an unknown country',
      'GET',
      '/countries/{code}',
      { code: 'ZZ' },
      400,
      'code must be the ISO 3166 code of a country or territory in two capital letters, for example JP',
    ],
    [
      'an unknown currency',
      'GET',
      '/currencies/{code}',
      { code: 'AAA' },
      400,
      'code must be an ISO 4217 currency code in three capital letters, for example CHF',
    ],
    [
      'an unknown language',
      'GET',
      '/languages/{tag}',
      { tag: 'xx' },
      400,
      'tag must be a language tag that this service has data for, for example en, de-CH or ar-EG',
    ],
    [
      'an unknown time zone',
      'GET',
      '/time',
      { time_zone: 'Mars/Olympus' },
      400,
      'time_zone must be an IANA time zone, for example Asia/Tokyo or America/New_York',
    ],
    ['text for a number', 'GET', '/plural', { number: 'many', language: 'en' }, 400, 'number must be a number'],
    [
      'several mistakes',
      'POST',
      '/time/convert',
      { time: '2027-02-30T00:00:00Z', to_time_zone: '' },
      400,
      'time must be a date and time with an offset, for example 2027-03-28T09:30:00+01:00; to_time_zone must be an IANA time zone, for example Asia/Tokyo or America/New_York',
    ],
  ])('refuses %s', async (_, method, path, parameters, status, message) => {
    expect(await call(method, path, parameters)).toMatchObject({ status, body: { message } });
  });

  test.each([
    ['a body that is no JSON', { 'Content-Type': 'application/json' }, '{', 400, 'The body must be a JSON object.'],
    ['an array', { 'Content-Type': 'application/json' }, '[]', 400, 'The body must be a JSON object.'],
    ['another media type', { 'Content-Type': 'text/plain' }, '{}', 415, 'Send JSON as application/json.'],
    ['a large body', { 'Content-Type': 'application/json' }, ' '.repeat(4_000_000), 413, 'The body must have at most 262144 bytes.'],
  ])('refuses %s', async (_, headers, body, status, message) => {
    const response = await fetch(`${upstream.url}/texts/count`, { method: 'POST', headers, body });
    expect([response.status, await response.json()]).toEqual([status, { message }]);
  });

  test('refuses a path that is not percent-encoded UTF-8', async () => {
    const response = await fetch(`${upstream.url}/countries/%FF`);
    expect([response.status, await response.json()]).toEqual([400, { message: 'The path must be percent-encoded UTF-8.' }]);
  });
});
