import * as z from 'zod';
import { count, country, currency, instant, locale, text, texts, timeZone } from './inputs.ts';
import { choosePlural, countText, formatMoney, formatNumber, joinTexts, sortTexts } from './language.ts';
import { convertInstant, convertLocalTime, currentTime, formatDate } from './time.ts';
import { describeCountry, describeCurrency, describeLanguage, findCountries, listCountries, listTimeZones } from './world.ts';

/** One operation of the demo upstream. Its input is the places of the path, and the query of a GET or the body of a POST. */
export interface Route {
  method: 'GET' | 'POST';
  /** segments, of which `{name}` is a place */
  path: string;
  /** @throws z.ZodError for input that is wrong in itself, Refusal for what cannot be answered */
  answer(input: unknown): unknown;
}

const route = <T extends z.ZodType>(method: Route['method'], path: string, input: T, answer: (input: z.output<T>) => unknown): Route => ({
  method,
  path,
  answer: (given) => answer(input.parse(given, { reportInput: true })),
});

const language = locale.default('en');
const fromQuery = z.coerce.number({ error: 'must be a number' });

export const routes: readonly Route[] = [
  route('GET', '/countries', z.object({ named: text.default(''), in_language: language, limit: count(1, 300).default(20) }), (input) =>
    findCountries(input.named, input.in_language, input.limit),
  ),
  route('GET', '/countries/all', z.object({ in_language: language }), (input) => listCountries(input.in_language)),
  route('GET', '/countries/{code}', z.object({ code: country, in_language: language }), (input) =>
    describeCountry(input.code, input.in_language),
  ),
  route('GET', '/currencies/{code}', z.object({ code: currency, in_language: language }), (input) =>
    describeCurrency(input.code, input.in_language),
  ),
  route('GET', '/languages/{tag}', z.object({ tag: locale, in_language: language }), (input) =>
    describeLanguage(input.tag, input.in_language),
  ),
  route('GET', '/time-zones', z.object({ country: country.optional(), in_language: language }), (input) =>
    listTimeZones(input.country, input.in_language),
  ),
  route('GET', '/time', z.object({ time_zone: timeZone, in_language: language }), (input) =>
    currentTime(input.time_zone, input.in_language),
  ),
  route('POST', '/time/convert', z.object({ time: instant, to_time_zone: timeZone }), (input) =>
    convertInstant(input.time, input.to_time_zone),
  ),
  route(
    'POST',
    '/time/convert-local',
    z.object({
      local_time: z.iso.datetime({ local: true, precision: -1, error: 'must be what the clock shows, for example 2027-03-28T09:30' }),
      from_time_zone: timeZone,
      to_time_zones: z.array(timeZone).min(1, 'must name at least one time zone').max(50, 'must name at most 50 time zones'),
      in_language: language,
    }),
    (input) => convertLocalTime(input.local_time, input.from_time_zone, input.to_time_zones, input.in_language),
  ),
  route(
    'POST',
    '/time/format',
    z.object({
      time: instant,
      locale,
      time_zone: timeZone.default('UTC'),
      style: z.enum(['full', 'long', 'medium', 'short']).default('long'),
      calendar: z.enum(Intl.supportedValuesOf('calendar')).default('gregory'),
    }),
    (input) => formatDate(input.time, input.locale, input.time_zone, input.style, input.calendar),
  ),
  route(
    'POST',
    '/numbers/format',
    z.object({
      number: z.number(),
      locale,
      notation: z.enum(['standard', 'compact', 'scientific', 'engineering']).default('standard'),
      fraction_digits: z.int().min(0).max(20).optional(),
    }),
    (input) => formatNumber(input.number, input.locale, input.notation, input.fraction_digits),
  ),
  route(
    'POST',
    '/money/format',
    z.object({
      amount: z.number(),
      currency,
      locale,
      display: z.enum(['symbol', 'narrowSymbol', 'code', 'name']).default('symbol'),
      accounting: z.boolean().default(false),
    }),
    (input) => formatMoney(input.amount, input.currency, input.locale, input.display, input.accounting),
  ),
  route(
    'GET',
    '/plural',
    z.object({ number: fromQuery, language: locale, kind: z.enum(['cardinal', 'ordinal']).default('cardinal') }),
    (input) => choosePlural(input.number, input.language, input.kind),
  ),
  route(
    'POST',
    '/texts/sort',
    z.object({
      texts,
      language: locale,
      numeric: z.boolean().default(true),
      sensitivity: z.enum(['base', 'accent', 'case', 'variant']).default('variant'),
    }),
    (input) => sortTexts(input.texts, input.language, input.numeric, input.sensitivity),
  ),
  route(
    'POST',
    '/texts/join',
    z.object({ texts, language: locale, kind: z.enum(['conjunction', 'disjunction', 'unit']).default('conjunction') }),
    (input) => joinTexts(input.texts, input.language, input.kind),
  ),
  route('POST', '/texts/count', z.object({ text, language: language }), (input) => countText(input.text, input.language)),
];
