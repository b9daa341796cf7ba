import type { IntentInput, methods } from '../../../schemas/intent.ts';
import type { Parameter } from '../../../schemas/parameter.ts';
import type { ServiceInput } from '../../../schemas/service.ts';

export const namespace = 'world.example';

/** The body that registers the demo upstream at `upstreamUrl` as a service. */
export const demoServiceInput = (upstreamUrl: string): ServiceInput => ({
  service_name: 'World facts',
  service_url: upstreamUrl,
  description:
    'Countries, currencies, languages and time zones, and the way people write numbers, money, dates and lists. Every answer is computed from the Unicode locale data that Node carries.',
});

type Rest = Omit<Parameter, 'name' | 'type' | 'description'>;
const input =
  (type: Parameter['type']) =>
  (name: string, description: string, rest: Rest = {}): Parameter => ({ name, type, description, ...rest });
const [string, number, integer, boolean, array] = [input('string'), input('number'), input('integer'), input('boolean'), input('array')];

const required = { required: true };

/** An output that every answer contains. */
const output = (type: Parameter['type'], name: string, description: string): Parameter => ({ name, type, required: true, description });

const languageTag = '^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$';
const answerLanguage = string('in_language', 'Language of the answer, as a language tag such as en, de-CH or ja', {
  pattern: languageTag,
  default: 'en',
});
const locale = (name: string, description: string) => string(name, description, { ...required, pattern: languageTag, maxLength: 35 });
const zone = (name: string, description: string) => string(name, `${description}, as an IANA name such as Asia/Tokyo`, { ...required });
const instant = string('time', 'The moment, with its offset from UTC, for example 2027-03-28T09:30:00+01:00', {
  ...required,
  format: 'date-time',
});

const clockOutputs = [
  output('string', 'time_zone', 'The time zone'),
  output('string', 'local_time', 'What a clock shows there'),
  output('string', 'utc_offset', 'How far the clock is ahead of UTC'),
  output('string', 'weekday', 'Day of the week there'),
  output('string', 'zone_name', 'What the time is called there, for example Japan Standard Time'),
];

interface DemoIntent extends Omit<IntentInput, 'intent_uid' | 'endpoint'> {
  /** the uid without its namespace */
  id: string;
  method: (typeof methods)[number];
  path: string;
}

const intents: readonly DemoIntent[] = [
  {
    id: 'find-countries:v1',
    intent_name: 'Find countries by name',
    description: 'Finds countries and territories whose name contains a text, in any language. Accents and capitals do not matter.',
    method: 'GET',
    path: '/countries',
    input_parameters: [
      string('named', 'Part of the name; without it all countries match', { maxLength: 100 }),
      answerLanguage,
      integer('limit', 'How many countries to return at most', { minimum: 1, maximum: 300, default: 20 }),
    ],
    output_parameters: [
      output('integer', 'total', 'How many countries match'),
      output('array', 'countries', 'Code and name of each, in alphabetical order of the language'),
    ],
    tags: ['countries', 'geography', 'search'],
    category: 'geography',
  },
  {
    id: 'get-country:v1',
    intent_name: 'Describe a country',
    description:
      'Tells what a country is called, which language is most likely spoken there, on which day its week begins, when its weekend is, and which clock, calendars and time zones it uses.',
    method: 'GET',
    path: '/countries/{code}',
    input_parameters: [
      string('code', 'ISO 3166 code of the country in two capital letters, for example JP', { ...required, pattern: '^[A-Z]{2}$' }),
      answerLanguage,
    ],
    output_parameters: [
      output('string', 'code', 'ISO 3166 code'),
      output('string', 'name', 'Name of the country'),
      output('string', 'local_name', 'Name of the country in its own most likely language'),
      output('string', 'likely_language', 'Language tag'),
      output('string', 'likely_language_name', 'Name of that language'),
      output('string', 'first_day_of_week', 'Day on which the week begins'),
      output('array', 'weekend', 'Days of the weekend'),
      output('string', 'clock', '12 hours or 24 hours'),
      output('array', 'calendars', 'Calendars in use, the commonest first'),
      output('array', 'time_zones', 'IANA time zones'),
    ],
    tags: ['countries', 'geography', 'weekend', 'calendar'],
    category: 'geography',
  },
  {
    id: 'export-countries:v1',
    intent_name: 'Export all countries',
    description: 'Returns the code and name of every country and territory in one answer, for copying the whole list.',
    method: 'GET',
    path: '/countries/all',
    input_parameters: [answerLanguage],
    output_parameters: [output('array', 'countries', 'Code and name of each')],
    tags: ['countries', 'geography', 'bulk'],
    category: 'geography',
  },
  {
    id: 'get-currency:v1',
    intent_name: 'Describe a currency',
    description: 'Tells the name, plural, symbols and number of decimal places of a currency, such as ¥ and none for the Japanese yen.',
    method: 'GET',
    path: '/currencies/{code}',
    input_parameters: [
      string('code', 'ISO 4217 code of the currency in three capital letters, for example CHF', { ...required, pattern: '^[A-Z]{3}$' }),
      answerLanguage,
    ],
    output_parameters: [
      output('string', 'code', 'ISO 4217 code'),
      output('string', 'name', 'Name of the currency'),
      output('string', 'plural_name', 'What several units are called'),
      output('string', 'symbol', 'Symbol that no other currency shares in that language'),
      output('string', 'short_symbol', 'Shortest symbol'),
      output('integer', 'decimal_places', 'Digits after the decimal point'),
    ],
    tags: ['currency', 'money', 'symbols'],
    category: 'money',
  },
  {
    id: 'get-language:v1',
    intent_name: 'Describe a language',
    description:
      'Tells what a language is called by others and by its own speakers, its script and writing direction, where it is mostly spoken, and which plural forms it distinguishes.',
    method: 'GET',
    path: '/languages/{tag}',
    input_parameters: [locale('tag', 'Language tag, for example ar or pt-BR'), answerLanguage],
    output_parameters: [
      output('string', 'tag', 'Language tag'),
      output('string', 'name', 'Name of the language'),
      output('string', 'own_name', 'Name of the language in itself'),
      output('string', 'script', 'Name of the script'),
      output('string', 'direction', 'left to right or right to left'),
      output('string', 'likely_country', 'Country where it is most likely spoken'),
      output('array', 'plural_categories', 'Plural forms that it distinguishes'),
      output('string', 'numbering_system', 'Digits that it is written with'),
    ],
    tags: ['languages', 'writing', 'script'],
    category: 'language',
  },
  {
    id: 'list-time-zones:v1',
    intent_name: 'List time zones',
    description: 'Lists the time zones of a country, or of the world, with the time that clocks show there now.',
    method: 'GET',
    path: '/time-zones',
    input_parameters: [
      string('country', 'ISO 3166 code of a country in two capital letters; without it all time zones are listed', {
        pattern: '^[A-Z]{2}$',
      }),
      answerLanguage,
    ],
    output_parameters: [output('array', 'time_zones', 'Each zone with its current time, offset and name')],
    tags: ['time', 'time zones', 'countries'],
    category: 'time',
  },
  {
    id: 'get-current-time:v1',
    intent_name: 'Tell the time in another place',
    description: 'Tells what time and day it is right now in a time zone anywhere in the world.',
    method: 'GET',
    path: '/time',
    input_parameters: [zone('time_zone', 'The place'), answerLanguage],
    output_parameters: clockOutputs,
    tags: ['time', 'time zones', 'clock', 'now'],
    category: 'time',
  },
  {
    id: 'convert-time:v1',
    intent_name: 'Convert a moment to another time zone',
    description: 'Tells what clocks in another time zone show at a moment that is given with its offset from UTC.',
    method: 'POST',
    path: '/time/convert',
    input_parameters: [instant, zone('to_time_zone', 'The time zone to convert to')],
    output_parameters: [...clockOutputs, output('string', 'time', 'The moment in that time zone, with its offset')],
    tags: ['time', 'time zones', 'conversion'],
    category: 'time',
  },
  {
    id: 'convert-time:v2',
    intent_name: 'Convert a local time to other time zones',
    description:
      'Takes the time that a clock shows in one place and tells what clocks show in other places at that moment, for planning a meeting or a call across time zones. Knows summer time: it says when a local time happens twice, and refuses one that is skipped.',
    method: 'POST',
    path: '/time/convert-local',
    input_parameters: [
      string('local_time', 'What the clock shows, for example 2027-03-28T09:30', {
        ...required,
        pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}$',
      }),
      zone('from_time_zone', 'Where the clock is'),
      array('to_time_zones', 'Where the other clocks are, as IANA names', required),
      answerLanguage,
    ],
    output_parameters: [
      output('string', 'instant', 'The moment in UTC'),
      output('boolean', 'is_ambiguous', 'Whether the local time happens twice that day; then the first is meant'),
      output('array', 'conversions', 'For each zone what the clock shows, its offset, and how many days it is ahead'),
    ],
    tags: ['time', 'time zones', 'conversion', 'meetings'],
    category: 'time',
  },
  {
    id: 'format-date:v1',
    intent_name: 'Write a date for people',
    description:
      'Writes a date and time as people of a language and country write it, in any of eighteen calendars, such as Hebrew, Islamic or Japanese.',
    method: 'POST',
    path: '/time/format',
    input_parameters: [
      instant,
      locale('locale', 'Language and country, for example fr-CA'),
      { ...zone('time_zone', 'Where the date is read'), required: false, default: 'UTC' },
      string('style', 'How much to write', { enum: ['full', 'long', 'medium', 'short'], default: 'long' }),
      string('calendar', 'Calendar to write the date in', { enum: Intl.supportedValuesOf('calendar'), default: 'gregory' }),
    ],
    output_parameters: [output('string', 'text', 'The date and time'), output('string', 'calendar', 'The calendar')],
    tags: ['time', 'date', 'calendar', 'formatting'],
    category: 'time',
  },
  {
    id: 'format-number:v1',
    intent_name: 'Write a number',
    description: 'Writes a number with the separators of a language. Version 2 does the same and more.',
    method: 'POST',
    path: '/numbers/format',
    input_parameters: [
      number('number', 'The number', required),
      locale('locale', 'Language and country whose habits to follow, for example en-IN'),
    ],
    output_parameters: [output('string', 'text', 'The number')],
    tags: ['numbers', 'formatting'],
    category: 'numbers',
    deprecated: true,
  },
  {
    id: 'format-number:v2',
    intent_name: 'Write a number for people',
    description:
      'Writes a number as people of a language and country write it, with their digits and separators: in full, shortened to thousands and millions, or in powers of ten.',
    method: 'POST',
    path: '/numbers/format',
    input_parameters: [
      number('number', 'The number', required),
      locale('locale', 'Language and country whose habits to follow, for example en-IN'),
      string('notation', 'How to write it', { enum: ['standard', 'compact', 'scientific', 'engineering'], default: 'standard' }),
      integer('fraction_digits', 'Digits after the decimal point; without it as many as are needed', { minimum: 0, maximum: 20 }),
    ],
    output_parameters: [
      output('string', 'text', 'The number'),
      output('string', 'numbering_system', 'Digits that it is written with, for example latn or arab'),
    ],
    tags: ['numbers', 'formatting'],
    category: 'numbers',
  },
  {
    id: 'format-money:v1',
    intent_name: 'Write an amount of money',
    description:
      'Writes an amount of money with the symbol, separators and rounding that people of a language and country expect on a price tag or an invoice.',
    method: 'POST',
    path: '/money/format',
    input_parameters: [
      number('amount', 'The amount', { ...required, minimum: -1e15, maximum: 1e15 }),
      string('currency', 'ISO 4217 code of the currency, for example EUR', { ...required, pattern: '^[A-Z]{3}$' }),
      locale('locale', 'Language and country whose habits to follow, for example de-AT'),
      string('display', 'How to name the currency', { enum: ['symbol', 'narrowSymbol', 'code', 'name'], default: 'symbol' }),
      boolean('accounting', 'Whether to write a negative amount as accountants do, where they use parentheses', { default: false }),
    ],
    output_parameters: [output('string', 'text', 'The amount'), output('integer', 'decimal_places', 'Digits after the decimal point')],
    tags: ['money', 'currency', 'prices', 'formatting'],
    category: 'money',
  },
  {
    id: 'choose-plural:v1',
    intent_name: 'Choose the plural form',
    description: 'Tells which plural form of a noun goes with a number in a language: one egg, two eggs, 1st, 2nd, 3rd.',
    method: 'GET',
    path: '/plural',
    input_parameters: [
      number('number', 'The number', required),
      locale('language', 'Language tag, for example pl'),
      string('kind', 'cardinal for one, two, three; ordinal for first, second, third', {
        enum: ['cardinal', 'ordinal'],
        default: 'cardinal',
      }),
    ],
    output_parameters: [
      output('string', 'category', 'The form to use'),
      output('array', 'categories', 'All forms that the language distinguishes'),
    ],
    tags: ['languages', 'grammar', 'plural', 'numbers'],
    category: 'language',
  },
  {
    id: 'sort-texts:v1',
    intent_name: 'Sort words alphabetically',
    description: 'Puts words or names in the alphabetical order of a language: in Swedish ö comes after z, in German beside o.',
    method: 'POST',
    path: '/texts/sort',
    input_parameters: [
      array('texts', 'The words', required),
      locale('language', 'Language whose alphabet to follow, for example sv'),
      boolean('numeric', 'Whether numbers in the words count by their value, so that 2 comes before 10', { default: true }),
      string('sensitivity', 'What makes two words differ', { enum: ['base', 'accent', 'case', 'variant'], default: 'variant' }),
    ],
    output_parameters: [output('array', 'sorted', 'The words in order'), output('string', 'language', 'The language whose order it is')],
    tags: ['languages', 'sorting', 'words', 'text'],
    category: 'text',
  },
  {
    id: 'join-texts:v1',
    intent_name: 'Join words into a list',
    description: 'Joins words into a phrase as a language does: red, green, and blue; Rot, Grün oder Blau.',
    method: 'POST',
    path: '/texts/join',
    input_parameters: [
      array('texts', 'The words', required),
      locale('language', 'Language to join in, for example de'),
      string('kind', 'conjunction joins with and, disjunction with or', {
        enum: ['conjunction', 'disjunction', 'unit'],
        default: 'conjunction',
      }),
    ],
    output_parameters: [output('string', 'text', 'The phrase')],
    tags: ['languages', 'grammar', 'lists', 'text'],
    category: 'text',
  },
  {
    id: 'count-text:v1',
    intent_name: 'Count characters, words and sentences',
    description:
      'Counts the characters as readers see them, the words and the sentences of a text. Handles emoji, and languages that put no spaces between words, such as Thai and Japanese.',
    method: 'POST',
    path: '/texts/count',
    input_parameters: [
      string('text', 'The text', { ...required, maxLength: 20_000 }),
      string('language', 'Language of the text', { pattern: languageTag, default: 'en' }),
    ],
    output_parameters: [
      output('integer', 'characters', 'Characters as a reader sees them'),
      output('integer', 'words', 'Words'),
      output('integer', 'sentences', 'Sentences'),
      output('integer', 'code_points', 'Unicode code points'),
      output('integer', 'bytes', 'Bytes in UTF-8'),
    ],
    tags: ['text', 'words', 'characters', 'emoji'],
    category: 'text',
  },
];

/** The bodies that register the intents of the demo upstream at `upstreamUrl`. */
export const demoIntentInputs = (upstreamUrl: string): IntentInput[] =>
  intents.map(({ id, method, path, ...intent }) => ({
    intent_uid: `${namespace}:${id}`,
    ...intent,
    endpoint: { url: `${upstreamUrl}${path}`, method, content_type: 'application/json' },
  }));
