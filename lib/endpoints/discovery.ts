import * as z from 'zod';
import { describedDetails, fullIntent, viewQuery } from '../../schemas/intent.ts';
import { briefPage, cataloguePage, intentPage } from '../../schemas/intent-pages.ts';
import { searchQuery } from '../../schemas/search.ts';
import { type EndpointGroup, wholeProcessorMb } from './endpoint.ts';
import { currency } from './fixtures.ts';
import { followed, wholeRegistry } from './needs.ts';

export const discovery = {
  'search-intents': {
    specRow: 1,
    method: 'GET',
    path: '/api/intents/search',
    alias: '/{protocol}/intents/search',
    summary: 'Search for intents',
    description:
      'Finds intents that match all given filters. With `query`, the best matches come first; without it, results are ordered by `intent_uid`. A change is visible to the very next search. Deprecated intents are found only by `uid`. With the setting `catalogue: permitted`, this and all other endpoints show only what the policy permits to the caller.',
    credential: 'none',
    query: searchQuery,
    answer: z.union([intentPage, briefPage, cataloguePage]),
    headers: ['ETag', 'Link'],
    needs: {
      table: { ...wholeRegistry, ...followed },
      kms: ['publicKey'],
      snapshots: 'read',
      policy: true,
      wordVectors: true,
      catalogue: {},
    },
    alarms: { SlowSearch: { metric: 'slowest', above: 3_000, periods: 3, description: '1 % of searches take over 3 seconds.' } },
    timeoutSeconds: 29,
    memoryMb: wholeProcessorMb,
    example: {
      query: { query: 'what is the symbol of the Swiss franc', page_size: '1' },
      answer: { intents: [currency], pagination: { total_results: 6, total_pages: 6, current_page: 1, page_size: 1 } },
    },
  },
  'get-intent': {
    specRow: 2,
    method: 'GET',
    path: '/api/intents/{intent_uid}',
    summary: 'Read one intent',
    description:
      '`view=full` returns the whole record, in the form that PUT accepts. `terms` lists what the policy states about this intent in particular: conditions, limits and prices. Drafts are returned only with `view=full` and the token of an admin of the service.',
    credential: 'none',
    errors: ['UNAUTHORIZED'],
    query: viewQuery,
    answer: z.union([describedDetails, fullIntent]),
    headers: ['ETag'],
    needs: {
      table: { intent: ['getAll'], service: ['getAll'] },
      kms: ['publicKey'],
      invokes: ['search-intents'],
      adminTokens: true,
      policy: true,
      catalogue: {},
    },
    example: { path: { intent_uid: currency.intent_uid }, answer: currency },
  },
} as const satisfies EndpointGroup;
