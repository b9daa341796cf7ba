import * as z from 'zod';
import { currency, language, locale, remember, route, text } from './route.ts';
import { describeTime } from './time.ts';

const letters = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ'];
const englishRegions = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' });

/**
 * Every country and territory. ICU has no list, but knows a name for each code. Omits codes that are aliases (SU for RU) and codes without
 * a time zone or language (EU, UN, ZZ).
 */
const countries: readonly string[] = letters
  .flatMap((first) => letters.map((second) => first + second))
  .filter((code) => {
    if (englishRegions.of(code) === undefined) return false;
    const place = new Intl.Locale(`und-${code}`);
    return place.region === code && (place.getTimeZones()?.length !== 0 || place.maximize().language !== 'en');
  });

const known = new Set(countries);

const country = z
  .string()
  .refine((code) => known.has(code), 'must be the ISO 3166 code of a country or territory in two capital letters, for example JP');

const namesOf = remember((type: Intl.DisplayNamesType, language: string) => new Intl.DisplayNames(language, { type }));
const nameOf = (type: Intl.DisplayNamesType, language: string, code: string): string => namesOf(type, language).of(code) ?? code;

const zonesOf = (code: string): string[] => new Intl.Locale(`und-${code}`).getTimeZones() ?? [];

const dayName = (day: number, language: string): string => weekdays(language).format(Date.UTC(2024, 0, day));

const weekdays = remember((language: string) => new Intl.DateTimeFormat(language, { weekday: 'long', timeZone: 'UTC' }));

/** Folds to base letters in lower case, so that "aland" finds "Åland". */
const fold = (text: string): string => text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();

function listCountries(language: string) {
  const names = namesOf('region', language);
  const { compare } = new Intl.Collator(language);
  return countries.map((code) => ({ code, name: names.of(code) ?? code })).sort((a, b) => compare(a.name, b.name));
}

export const worldRoutes = [
  route(
    'GET',
    '/countries',
    { named: text.default(''), in_language: language, limit: z.coerce.number().int().min(1).max(300).default(20) },
    ({ named, in_language, limit }) => {
      const found = listCountries(in_language).filter(({ name }) => fold(name).includes(fold(named)));
      return { total: found.length, countries: found.slice(0, limit) };
    },
  ),
  route('GET', '/countries/all', { in_language: language }, ({ in_language }) => listCountries(in_language)),
  route('GET', '/countries/{code}', { code: country, in_language: language }, ({ code, in_language }) => {
    const { language: spoken } = new Intl.Locale(`und-${code}`).maximize();
    const place = new Intl.Locale(`${spoken}-${code}`);
    const { firstDay, weekend } = place.getWeekInfo();
    return {
      code,
      name: nameOf('region', in_language, code),
      local_name: nameOf('region', spoken, code),
      likely_language: spoken,
      likely_language_name: nameOf('language', in_language, spoken),
      first_day_of_week: dayName(firstDay, in_language),
      weekend: weekend.map((day) => dayName(day, in_language)),
      clock: place.getHourCycles()[0]?.startsWith('h1') ? '12 hours' : '24 hours',
      calendars: place.getCalendars(),
      time_zones: zonesOf(code),
    };
  }),
  route('GET', '/currencies/{code}', { code: currency, in_language: language }, ({ code, in_language }) => {
    const format = (currencyDisplay: 'symbol' | 'narrowSymbol' | 'name') =>
      new Intl.NumberFormat(in_language, { style: 'currency', currency: code, currencyDisplay });
    const part = (display: 'symbol' | 'narrowSymbol' | 'name', amount: number) =>
      format(display)
        .formatToParts(amount)
        .find(({ type }) => type === 'currency')?.value ?? code;
    return {
      code,
      name: nameOf('currency', in_language, code),
      plural_name: part('name', 5),
      symbol: part('symbol', 1),
      short_symbol: part('narrowSymbol', 1),
      decimal_places: format('symbol').resolvedOptions().maximumFractionDigits,
    };
  }),
  route('GET', '/languages/{tag}', { tag: locale, in_language: language }, ({ tag, in_language }) => {
    const place = new Intl.Locale(tag);
    const likely = place.maximize();
    return {
      tag: place.toString(),
      name: nameOf('language', in_language, tag),
      own_name: nameOf('language', tag, tag),
      script: nameOf('script', in_language, likely.script ?? 'Zyyy'),
      direction: place.getTextInfo().direction === 'rtl' ? 'right to left' : 'left to right',
      likely_country: nameOf('region', in_language, likely.region ?? 'ZZ'),
      plural_categories: new Intl.PluralRules(tag).resolvedOptions().pluralCategories,
      numbering_system: place.getNumberingSystems()[0] ?? 'latn',
    };
  }),
  route('GET', '/time-zones', { country: country.optional(), in_language: language }, ({ country, in_language }) => {
    const zones = country === undefined ? Intl.supportedValuesOf('timeZone') : zonesOf(country);
    return { time_zones: zones.map((zone) => describeTime(zone, Date.now(), in_language)) };
  }),
];
