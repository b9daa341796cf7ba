import * as z from 'zod';
import '../../functions/opensearch/records.ts';
import type { Declaration } from '../declaration.ts';
import { followed, wholeRegistry } from '../endpoints/needs.ts';

declare module '../endpoints/needs.ts' {
  interface Needs {
    /** access to the OpenSearch collection */
    collection?: 'read' | 'write';
  }
}

const filled = '$.message = "filled a part of the search collection"';

export const opensearch = {
  alternative: {
    setting: 'search',
    value: 'opensearch',
    needs: { 'search-intents': { collection: 'read', kms: ['publicKey'], policy: true } },
    replaces: ['snapshot-search-index'],
    background: [
      {
        name: 'feed-search-collection',
        summary: 'Write registry changes to the search collection',
        everyMinutes: 1,
        needs: { table: { ...wholeRegistry, ...followed, feed: ['update'] }, collection: 'write' },
        // During the first fill FeedAge is 0; FillAge watches how long the fill takes.
        logMetrics: {
          Fed: {
            metric: 'FeedAge',
            pattern: '$.message = "fed the search collection"',
            value: '$.behind_seconds',
            defaultValue: 86_400,
          },
          Filled: { metric: 'FeedAge', pattern: filled, value: '0' },
          Filling: { metric: 'FillAge', pattern: filled, value: '$.behind_seconds' },
        },
        alarms: {
          FeedAge: {
            metric: { lowest: 'FeedAge' },
            minutes: 30,
            above: 1_800,
            orSilent: true,
            description:
              'Search results are more than half an hour out of date: writing changes to the search collection fails or takes too long.',
          },
          FillAge: {
            metric: { lowest: 'FillAge' },
            above: 7_200,
            description: 'The search collection has been filling for two hours; searches do not find every intent yet.',
          },
        },
        timeoutSeconds: 300,
        memoryMb: 512,
      },
    ],
  },
  settings: {
    search: z
      .enum(['sqlite', 'opensearch'], 'must be sqlite or opensearch')
      .default('sqlite')
      .describe(
        'search engine: `sqlite` in the function, or `opensearch`, an OpenSearch Serverless collection, for more than a few hundred thousand intents',
      ),
  },
  records: { feed: 'progress of the feed of a search collection' },
} as const satisfies Declaration;
