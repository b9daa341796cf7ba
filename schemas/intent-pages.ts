import * as z from 'zod';
import { fullIntent, health, type IntentEndpoint, type IntentInput, intentDetails, methods, savedIntent, toSavedIntent } from './intent.ts';
import { intentUid } from './intent-uid.ts';
import { listQuery, pagination } from './pagination.ts';

/** One row of a service's intents. */
export const listedIntent = savedIntent
  .extend({
    tags: z.array(z.string()),
    method: z.enum(methods).optional().describe('absent, like url, if an earlier version of the gate wrote the entry'),
    url: z.string().optional().describe('the address that is called, with its placeholders'),
    deprecated: z.boolean().optional().describe('absent if it is not deprecated'),
    draft: z.boolean().optional().describe('absent if it is not a draft; only admins of the service see drafts'),
  })
  .meta({ id: 'ListedIntent' });

const pageOf = <T extends z.ZodType>(intent: T) => z.strictObject({ intents: z.array(intent), pagination });

export const intentList = pageOf(listedIntent).meta({
  id: 'IntentList',
  description: "A page of a service's intents, ordered by intent_uid.",
});

export type IntentList = z.infer<typeof intentList>;

/** The query of a service's intents (endpoint 10). */
export const serviceIntentsQuery = listQuery.extend({
  view: z
    .literal('full')
    .optional()
    .describe('full: complete records, without the terms of the policy. A page may then be shorter; only `Link` leads to the next one'),
});

export const fullIntentList = z
  .strictObject({
    intents: z.array(fullIntent),
    etags: z.record(z.string(), z.string()).describe('the entity tag of each intent, as for `If-Match` and `if_match`'),
    total_results: z.int().min(0).describe('number of intents on all pages'),
  })
  .meta({ id: 'FullIntentList', description: "A page of a service's complete intents with `view=full`, ordered by intent_uid." });

/** Why a search found an intent. */
const match = z.strictObject({
  score: z.number().describe('relevance to the query, comparable within one response; 0 without a query'),
  words: z.array(z.string()).describe('the words of the query that the intent contains; empty if it was found by similarity'),
});

export type Match = z.infer<typeof match>;

export const intentPage = pageOf(intentDetails.extend({ match: match.optional(), health: health.optional() })).meta({
  id: 'IntentPage',
  description: 'A page of search results; `match` is present with `explain=true`.',
});

const briefIntent = z
  .strictObject({
    intent_uid: intentUid,
    intent_name: z.string(),
    summary: z.string().describe('the first sentence of the description'),
    required: z.array(z.string()).describe('the names of the required inputs'),
    match: match.optional(),
    health: health.optional(),
  })
  .meta({ id: 'BriefIntent', description: 'A summary of an intent. GET /api/intents/{intent_uid} returns the details.' });

export type BriefIntent = z.infer<typeof briefIntent>;

export const cataloguePage = pageOf(
  briefIntent.extend({ service_name: z.string(), method: z.enum(methods), tags: z.array(z.string()) }),
).meta({ id: 'CataloguePage', description: 'A page of search results with `view=catalogue`.' });

export type CataloguePage = z.infer<typeof cataloguePage>;

export const briefPage = pageOf(briefIntent).meta({ id: 'BriefPage', description: 'A page of search results with `view=brief`.' });

/** The members of an intent that a list shows. */
export type IntentOfList = Pick<IntentInput, 'intent_uid' | 'intent_name' | 'description' | 'tags' | 'deprecated' | 'draft'> &
  Partial<Pick<IntentEndpoint, 'method' | 'url'>>;

export const listIntent = (intent: IntentOfList): z.infer<typeof listedIntent> => ({
  ...toSavedIntent(intent),
  tags: intent.tags ?? [],
  ...(intent.method && { method: intent.method }),
  ...(intent.url !== undefined && { url: intent.url }),
  ...(intent.deprecated && { deprecated: true }),
  ...(intent.draft && { draft: true }),
});
