import * as z from 'zod';
import { currency, language, locale, route, text } from './route.ts';

const texts = z.array(z.string().max(1_000)).max(1_000, 'must have at most 1000 texts');

export const languageRoutes = [
  route(
    'POST',
    '/numbers/format',
    {
      number: z.number(),
      locale,
      notation: z.enum(['standard', 'compact', 'scientific', 'engineering']).default('standard'),
      fraction_digits: z.int().min(0).max(20).optional(),
    },
    ({ number, locale, notation, fraction_digits: digits }) => {
      const format = new Intl.NumberFormat(locale, { notation, minimumFractionDigits: digits, maximumFractionDigits: digits });
      return { text: format.format(number), numbering_system: format.resolvedOptions().numberingSystem };
    },
  ),
  route(
    'POST',
    '/money/format',
    {
      amount: z.number(),
      currency,
      locale,
      display: z.enum(['symbol', 'narrowSymbol', 'code', 'name']).default('symbol'),
      accounting: z.boolean().default(false),
    },
    ({ amount, currency, locale, display, accounting }) => {
      const currencySign = accounting ? 'accounting' : 'standard';
      const format = new Intl.NumberFormat(locale, { style: 'currency', currency, currencyDisplay: display, currencySign });
      return { text: format.format(amount), decimal_places: format.resolvedOptions().maximumFractionDigits };
    },
  ),
  route(
    'GET',
    '/plural',
    {
      number: z.coerce.number({ error: 'must be a number' }),
      language: locale,
      kind: z.enum(['cardinal', 'ordinal']).default('cardinal'),
    },
    ({ number, language, kind }) => {
      const rules = new Intl.PluralRules(language, { type: kind });
      return { category: rules.select(number), categories: rules.resolvedOptions().pluralCategories };
    },
  ),
  route(
    'POST',
    '/texts/sort',
    {
      texts,
      language: locale,
      numeric: z.boolean().default(true),
      sensitivity: z.enum(['base', 'accent', 'case', 'variant']).default('variant'),
    },
    ({ texts, language, numeric, sensitivity }) => {
      const collator = new Intl.Collator(language, { numeric, sensitivity });
      return { sorted: texts.toSorted(collator.compare), language: collator.resolvedOptions().locale };
    },
  ),
  route(
    'POST',
    '/texts/join',
    { texts, language: locale, kind: z.enum(['conjunction', 'disjunction', 'unit']).default('conjunction') },
    ({ texts, language, kind }) => ({ text: new Intl.ListFormat(language, { type: kind }).format(texts) }),
  ),
  route('POST', '/texts/count', { text, language }, ({ text, language }) => {
    const segments = (granularity: 'grapheme' | 'word' | 'sentence') => [...new Intl.Segmenter(language, { granularity }).segment(text)];
    return {
      characters: segments('grapheme').length,
      words: segments('word').filter(({ isWordLike }) => isWordLike).length,
      sentences: segments('sentence').filter(({ segment }) => segment.trim() !== '').length,
      code_points: [...text].length,
      bytes: Buffer.byteLength(text),
    };
  }),
];
