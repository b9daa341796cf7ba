import * as z from 'zod';
import { isCountry } from './world.ts';

/** Whether `use` accepts the value: Intl throws a RangeError for a value that it does not know. */
function accepts(use: () => unknown): boolean {
  try {
    return Boolean(use());
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

const currencies = new Set(Intl.supportedValuesOf('currency'));

export const locale = z
  .string()
  .refine(
    (tag) => accepts(() => Intl.DateTimeFormat.supportedLocalesOf(tag).length > 0),
    'must be a language tag that this service has data for, for example en, de-CH or ar-EG',
  );

export const timeZone = z
  .string()
  .refine(
    (zone) => accepts(() => new Intl.DateTimeFormat('en', { timeZone: zone })),
    'must be an IANA time zone, for example Asia/Tokyo or America/New_York',
  );

export const country = z
  .string()
  .refine(isCountry, 'must be the ISO 3166 code of a country or territory in two capital letters, for example JP');

export const currency = z
  .string()
  .refine((code) => currencies.has(code), 'must be an ISO 4217 currency code in three capital letters, for example CHF');

/** Whole numbers of a query string. */
export const count = (minimum: number, maximum: number) => z.coerce.number().int().min(minimum).max(maximum);

/** An instant, as milliseconds since the epoch. */
export const instant = z.iso
  .datetime({ offset: true, error: 'must be a date and time with an offset, for example 2027-03-28T09:30:00+01:00' })
  .transform((text) => Date.parse(text));

export const text = z.string().max(20_000, 'must have at most 20000 UTF-16 units');

export const texts = z.array(z.string().max(1_000)).max(1_000, 'must hold at most 1000 texts');
