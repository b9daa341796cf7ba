import QuickLRU from 'quick-lru';
import * as z from 'zod';

/** An operation of the demo upstream. Its input combines path variables with the query of a GET or the body of a POST. */
export interface Route {
  method: 'GET' | 'POST';
  /** with variables `{name}` */
  path: string;
  /** @throws z.ZodError for invalid input, Refusal for any other error */
  answer(input: unknown): unknown;
}

export function route<T extends z.ZodRawShape>(
  method: Route['method'],
  path: string,
  input: T,
  answer: (input: z.output<z.ZodObject<T>>) => unknown,
): Route {
  const shape = z.object(input);
  return { method, path, answer: (given) => answer(shape.parse(given, { reportInput: true })) };
}

/** An error response of the upstream: JSON with this status. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Whether `use` accepts the value: Intl throws a RangeError for unknown values. */
function accepts(use: () => unknown): boolean {
  try {
    return Boolean(use());
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

export const locale = z
  .string()
  .refine(
    (tag) => accepts(() => Intl.DateTimeFormat.supportedLocalesOf(tag).length > 0),
    'must be a language tag that this service has data for, for example en, de-CH or ar-EG',
  );

export const language = locale.default('en');

export const timeZone = z
  .string()
  .refine(
    (zone) => accepts(() => new Intl.DateTimeFormat('en', { timeZone: zone })),
    'must be an IANA time zone, for example Asia/Tokyo or America/New_York',
  );

const currencies = new Set(Intl.supportedValuesOf('currency'));

export const currency = z
  .string()
  .refine((code) => currencies.has(code), 'must be an ISO 4217 currency code in three capital letters, for example CHF');

export const text = z.string().max(20_000, 'must have at most 20000 UTF-16 units');

/**
 * Caches recent results of `make` by its arguments. Meant for Intl objects: each takes tens of kilobytes outside V8's heap, so they would
 * pile up long before they are collected.
 */
export function remember<A extends string[], T>(make: (...given: A) => T): (...given: A) => T {
  const made = new QuickLRU<string, T>({ maxSize: 100 });
  return (...given) => {
    const key = given.join(' ');
    const known = made.get(key) ?? make(...given);
    made.set(key, known);
    return known;
  };
}
