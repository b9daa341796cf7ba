import * as z from 'zod';

export const pagination = z
  .strictObject({
    total_results: z.int().min(0),
    total_pages: z.int().min(0),
    current_page: z.int().min(1),
    page_size: z.int().min(1),
  })
  .meta({ id: 'Pagination' });

export type Pagination = z.infer<typeof pagination>;

const wholeNumber = (minimum: number, maximum: number, fallback: number, meaning: string) =>
  z
    .string()
    .regex(/^[0-9]{1,15}$/, `must be a whole number from ${minimum} to ${maximum}`)
    .transform(Number)
    .refine((value) => value >= minimum && value <= maximum, `must be a whole number from ${minimum} to ${maximum}`)
    .default(fallback)
    .meta({ type: 'integer', minimum, maximum, description: meaning });

/** The query parameters `page` (default 1) and `page_size` (1 to 100, default 10). */
export const pageQuery = z.object({
  page: wholeNumber(1, 1_000_000_000, 1, 'page number, starting at 1'),
  page_size: wholeNumber(1, 100, 10, 'entries per page'),
});

/** The query parameter `page` of lists in which only `Link` leads to further pages. */
export const firstPage = z
  .literal('1', 'must be left out: the Link header (rel="next") leads to the next page')
  .optional()
  .describe('only the first page; `Link` leads to the next one');

/** For lists in the order of intent_uid: a page after a uid neither repeats nor skips intents during writes. */
export const listQuery = pageQuery.extend({
  after: z.string().max(200).optional().describe('the last uid of the previous page, as in the next link'),
});

/** Like {@link listQuery}, with the maximum page size by default. */
export const descriptionQuery = listQuery.extend({ page_size: wholeNumber(1, 100, 100, 'intents per page') });

export const paginate = (totalResults: number, page: number, pageSize: number): Pagination => ({
  total_results: totalResults,
  total_pages: Math.ceil(totalResults / pageSize),
  current_page: page,
  page_size: pageSize,
});
