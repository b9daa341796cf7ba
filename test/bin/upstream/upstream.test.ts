import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { readDemo } from '../../../bin/local/upstream/register.ts';
import { routes, startUpstream, type Upstream } from '../../../bin/local/upstream/server.ts';
import { checkOutput, compileParameters } from '../../../functions/core/parameters/compile.ts';
import { buildRequest } from '../../../functions/core/relay/build-request.ts';
import { checkIntent } from '../../../functions/core/relay/check-intent.ts';
import { intentInput } from '../../../schemas/intent.ts';
import { serviceInput } from '../../../schemas/service.ts';

let upstream: Upstream;
beforeAll(async () => {
  upstream = await startUpstream();
});
afterAll(() => upstream.stop());

type Parameters = Record<string, unknown>;

async function send(method: string, path: string, body?: string, contentType = 'application/json') {
  const init = body === undefined ? { method } : { method, headers: { 'Content-Type': contentType }, body };
  const response = await fetch(`${upstream.url}${path}`, init);
  return { status: response.status, body: await response.json() };
}

const post = (path: string, parameters: Parameters) => send('POST', path, JSON.stringify(parameters));

/** Parameters for each demo intent, and part of what the answer must contain. */
const samples: Record<string, [Parameters, object]> = {
  'find-countries:v1': [{ named: 'aland', limit: 1 }, { countries: [{ code: 'AX', name: 'Åland Islands' }] }],
  'get-country:v1': [
    { code: 'IR', in_language: 'de' },
    { name: 'Iran', likely_language: 'fa', weekend: ['Freitag'] },
  ],
  'export-countries:v1': [{}, { countries: expect.arrayContaining([{ code: 'JP', name: 'Japan' }]) }],
  'get-currency:v1': [{ code: 'JPY' }, { name: 'Japanese Yen', symbol: '¥', decimal_places: 0 }],
  'get-language:v1': [{ tag: 'ar' }, { own_name: 'العربية', direction: 'right to left' }],
  'list-time-zones:v1': [{ country: 'JP' }, { time_zones: [{ time_zone: 'Asia/Tokyo', utc_offset: '+09:00' }] }],
  'get-current-time:v1': [{ time_zone: 'Asia/Kathmandu' }, { utc_offset: '+05:45', zone_name: 'Nepal Time' }],
  'convert-time:v1': [
    { time: '2027-03-28T09:30:00+02:00', to_time_zone: 'America/New_York' },
    { time: '2027-03-28T03:30:00-04:00', weekday: 'Sunday', zone_name: 'Eastern Daylight Time' },
  ],
  'convert-time:v2': [
    { local_time: '2027-01-31T20:30', from_time_zone: 'Europe/Berlin', to_time_zones: ['Asia/Tokyo'] },
    { is_ambiguous: false, conversions: [{ local_time: '2027-02-01T04:30:00', utc_offset: '+09:00', day_difference: 1 }] },
  ],
  'format-number:v1': [{ number: 1234567.5, locale: 'en-IN' }, { text: '12,34,567.5' }],
  'format-number:v2': [{ number: 1234567.5, locale: 'en', notation: 'compact', fraction_digits: 1 }, { text: '1.2M' }],
  'count-text:v1': [{ text: '👩‍👩‍👧 Hello, world. Bye!' }, { characters: 20, words: 3, sentences: 2, code_points: 24, bytes: 37 }],
};

const origin = 'http://127.0.0.1:1';
const [{ service, intents } = { service: {}, intents: [] }] = readDemo(origin);

describe('the demo intents', () => {
  test('the demo intents can be registered', () => {
    expect(() => serviceInput.parse(service)).not.toThrow();
    for (const intent of intents) {
      expect(intentInput.parse(intent)).toEqual(intent);
      checkIntent(intent, { ports: [443], allowLoopback: true, ownHosts: [] }, 'http://127.0.0.1:2');
    }
  });

  test('the demo intents have a sample each', () => {
    expect(Object.keys(samples)).toEqual(intents.map(({ intent_uid }) => intent_uid.replace('world.example:', '')));
  });

  test('the demo intents reach every route', () => {
    const reached = intents.map(({ endpoint }) => `${endpoint.method} ${endpoint.url.replace(origin, '')}`);
    expect(new Set(reached)).toEqual(new Set(routes.map(({ method, path }) => `${method} ${path}`)));
  });

  test.each(intents.map((intent) => [intent.intent_uid, intent] as const))(
    'the answer of %s matches its description',
    async (uid, intent) => {
      const [given, expected] = samples[uid.replace('world.example:', '')] ?? [{}, {}];
      const { values = {}, issues } = compileParameters(intent.input_parameters)(given);
      expect(issues).toBeUndefined();
      const request = buildRequest(intent, values);
      const { status, body } = await send(request.method, request.url.replace(origin, ''), request.body?.toString(), request.contentType);
      expect(status).toBe(200);
      const answer = Array.isArray(body) ? { [intent.output_parameters[0]?.name ?? '']: body } : body;
      expect(answer).toMatchObject(expected);
      expect(checkOutput(intent.output_parameters, answer as object)).toEqual([]);
    },
  );
});

describe('the demo upstream', () => {
  test('the demo upstream takes daylight saving time into account', async () => {
    const twice = { local_time: '2027-10-31T02:30', from_time_zone: 'Europe/Berlin', to_time_zones: ['UTC'] };
    expect(await post('/time/convert-local', twice)).toMatchObject({
      status: 200,
      body: { is_ambiguous: true, instant: '2027-10-31T00:30:00.000Z' },
    });
    expect(await post('/time/convert-local', { ...twice, local_time: '2027-03-28T02:30' })).toEqual({
      status: 422,
      body: { message: 'local_time does not exist in from_time_zone: the clocks are put forward over it. Choose a time an hour later.' },
    });
  });

  test('the demo upstream lists each country once, and nothing but countries', async () => {
    const { body } = await send('GET', '/countries/all');
    const codes = (body as { code: string }[]).map(({ code }) => code);
    expect(new Set(codes).size).toBe(codes.length);
    expect(codes).toEqual(expect.arrayContaining(['CH', 'GB', 'US', 'XK', 'ZA']));
    for (const code of ['EU', 'SU', 'UK', 'UN', 'ZZ']) expect(codes).not.toContain(code);
  });

  const noZone = 'must be an IANA time zone, for example Asia/Tokyo or America/New_York';
  test.each([
    ['country', '/countries/ZZ', 'code must be the ISO 3166 code of a country or territory in two capital letters, for example JP'],
    ['currency', '/currencies/AAA', 'code must be an ISO 4217 currency code in three capital letters, for example CHF'],
    ['language', '/languages/xx', 'tag must be a language tag that this service has data for, for example en, de-CH or ar-EG'],
    ['time zone', '/time?time_zone=Mars/Olympus', `time_zone ${noZone}`],
    ['missing time zone', '/time', 'time_zone is required'],
  ])('the demo upstream explains what is wrong with a %s', async (_, path, message) => {
    expect(await send('GET', path)).toMatchObject({ status: 400, body: { message } });
  });
});
