import * as z from 'zod';
import { maxTags, methods } from './intent.ts';
import { pageQuery } from './pagination.ts';

const term = z.string().max(10_240).optional();

/** The query parameters of search; an intent must match all of them. */
export const searchQuery = z.object({
  query: term.describe('plain words or a question; any word may match, and better matches come first'),
  service_name: term.describe("words that must all occur in the service's name"),
  intent_name: term.describe("words that must all occur in the intent's name"),
  uid: term.describe('the exact intent_uid'),
  namespace: term.describe('the exact namespace, ignoring case'),
  description: term.describe('words that must all occur in the description'),
  tags: z
    .string()
    .max(10_240)
    .refine((list) => new Set(list.split(',').filter((tag) => tag.trim() !== '')).size <= maxTags, `must have at most ${maxTags} tags`)
    .optional()
    .describe('tags, separated by commas; the intent must have all of them'),
  method: z.enum(methods).optional().describe("the HTTP method of the intent's endpoint"),
  permitted: z
    .literal('true')
    .optional()
    .describe(
      'omits intents that the policy does not permit: to the holder of the PAT in `Authorization` or, without a valid one, to an agent that the policy assigns nothing to; not available with OpenSearch',
    ),
  view: z
    .enum(['details', 'brief', 'catalogue'])
    .optional()
    .describe(
      'brief returns only the uid, name, first sentence and required inputs of each intent; catalogue adds service, method and tags',
    ),
  after: z.string().max(200).optional().describe('without query: the last uid of the previous page, as in the next link'),
  explain: z.enum(['true', 'false']).optional().describe('true adds the matched words and the score to each hit'),
  ...pageQuery.shape,
});

export type SearchQuery = z.infer<typeof searchQuery>;
