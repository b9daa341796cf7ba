import * as z from 'zod';
import { language, locale, route, text } from './route.ts';

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
