import * as z from 'zod';
import { maxTags, methods } from './intent.ts';
import { pageQuery } from './pagination.ts';

const term = z.string().max(10_240).optional();

/** The query parameters of search; an intent must match all of them. */
export const searchQuery = z.object({
  query: term.describe('a question or words; any may match, and better matches come first'),
  service_name: term.describe("words that all occur in the service's name"),
  intent_name: term.describe("words that all occur in the intent's name"),
  uid: term.describe('the exact intent_uid'),
  namespace: term.describe('the namespace, exactly, whatever its case'),
  description: term.describe('words that all occur in the description'),
  tags: z
    .string()
    .max(10_240)
    .refine((list) => new Set(list.split(',').filter((tag) => tag.trim() !== '')).size <= maxTags, `must have at most ${maxTags} tags`)
    .optional()
    .describe('tags separated by commas; the intent must have each'),
  method: z.enum(methods).optional().describe("the HTTP method of the intent's endpoint"),
  permitted: z
    .literal('true')
    .optional()
    .describe('leaves out intents that the policy lets nobody execute; not with the search engine OpenSearch'),
  view: z
    .enum(['details', 'brief', 'catalogue'])
    .optional()
    .describe(
      'brief gives of each intent only its uid, name, first sentence and the names of the inputs that it requires; catalogue adds service, method and tags',
    ),
  after: z.string().max(200).optional().describe('without query: the last uid of the previous page, as in the next link'),
  explain: z.enum(['true', 'false']).optional().describe('true adds the matched words and the score to each hit'),
  ...pageQuery.shape,
});

export type SearchQuery = z.infer<typeof searchQuery>;
