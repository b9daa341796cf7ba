import * as z from 'zod';
import { toIntentDetails } from '../../../../schemas/intent.ts';
import type { SearchQuery } from '../../../../schemas/search.ts';
import { unavailable } from '../../api-error.ts';
import { bounded } from '../../invocation.ts';
import type { IntentRecord } from '../../store/records.ts';
import type { Hit, SearchResult } from '../search-engine.ts';
import { indexDefinition, type OpenSearchDocument, toBulkBody } from './documents.ts';
import { toSearchRequest } from './search-request.ts';
import { type Signing, signRequest } from './signed-request.ts';

/** Longest that one request to the collection may take. */
const requestTimeoutMs = 2_500;

const index = 'intents';

/** Id of a document that no search finds; no uid has this form. */
const filledMark = 'filled';

const searchAnswer = z.object({
  hits: z.object({
    total: z.object({ value: z.int() }),
    hits: z.array(
      z.object({
        _score: z.number().nullable(),
        _source: z.object({ record: z.string(), service_name: z.string() }).optional(),
        _id: z.string(),
        matched_queries: z.array(z.string()).optional(),
      }),
    ),
  }),
});

const bulkAnswer = z.object({ items: z.array(z.record(z.string(), z.object({ status: z.int() }))) });

export interface OpenSearchSettings {
  /** the collection's endpoint, such as https://….aoss.amazonaws.com */
  endpoint: string;
  /** default: the function's own */
  region?: string;
  credentials?: Signing['credentials'];
}

/** Searches an OpenSearch Serverless collection: for registries that are too large for one file. */
export function openOpenSearchEngine({ endpoint, region = process.env.AWS_REGION ?? '', credentials }: OpenSearchSettings) {
  async function send(method: string, path: string, body = '', contentType = 'application/json') {
    const url = new URL(path, endpoint);
    const headers = { 'content-type': contentType };
    try {
      return await bounded(requestTimeoutMs, async (signal) => {
        const response = await fetch(url, {
          method,
          headers: await signRequest({ method, url, headers, body }, { service: 'aoss', region, ...(credentials && { credentials }) }),
          ...(body !== '' && { body }),
          signal,
        });
        const text = await response.text();
        if (!response.ok && response.status !== 404) throw new Error(`OpenSearch answered ${response.status}`);
        return { status: response.status, body: text };
      });
    } catch (error) {
      throw unavailable('Search cannot be reached. Try again after Retry-After.', error);
    }
  }

  const searchFor = async (request: unknown) => {
    const { status, body } = await send('POST', `/${index}/_search`, JSON.stringify(request));
    return status === 404 ? { total: { value: 0 }, hits: [] } : searchAnswer.parse(JSON.parse(body)).hits;
  };

  return {
    /** Searches what the collection holds by now: it is fed after the fact, so the newest writes may be missing. */
    async search(query: SearchQuery): Promise<SearchResult> {
      const request = toSearchRequest(query);
      if (!request) return { hits: [], total: 0 };
      const { total, hits } = await searchFor(request);
      return {
        total: total.value,
        hits: hits.map(({ _score, _source, matched_queries = [] }): Hit => {
          const { record, service_name } = _source ?? { record: '{}', service_name: '' };
          return {
            intent: toIntentDetails(JSON.parse(record) as IntentRecord, service_name),
            ...(query.explain === 'true' && { match: { score: _score ?? 0, words: matched_queries } }),
          };
        }),
      };
    },

    async createIndex(): Promise<void> {
      const { status } = await send('HEAD', `/${index}`);
      if (status === 404) await send('PUT', `/${index}`, JSON.stringify(indexDefinition));
    },

    /** Whether everything that the registry held has been written once. */
    isFilled: async (): Promise<boolean> => (await send('GET', `/${index}/_doc/${filledMark}`)).status === 200,
    markFilled: async (): Promise<void> => {
      await send('PUT', `/${index}/_doc/${filledMark}`, JSON.stringify({ filled: true }));
    },

    /** The uids of a service's intents, as far as they are there, at most 10,000. */
    async uidsOf(serviceId: string): Promise<string[]> {
      const { hits } = await searchFor({ size: 10_000, _source: false, query: { term: { service_id: serviceId } } });
      return hits.map(({ _id }) => _id);
    },

    /** Replaces documents, and deletes those that are undefined. */
    async write(entries: readonly (readonly [uid: string, document: OpenSearchDocument | undefined])[]): Promise<void> {
      if (entries.length === 0) return;
      const { status, body } = await send('POST', `/${index}/_bulk`, toBulkBody(entries), 'application/x-ndjson');
      const failed = status === 404 ? entries.length : countFailures(body);
      if (failed > 0) throw unavailable(`OpenSearch refused ${failed} of ${entries.length} documents.`);
    },

    close: async () => {},
  };
}

export type OpenSearchEngine = ReturnType<typeof openOpenSearchEngine>;

/** Deleting what is not there (404) is no failure. */
const countFailures = (body: string): number =>
  bulkAnswer
    .parse(JSON.parse(body))
    .items.flatMap((item) => Object.values(item))
    .filter(({ status }) => status >= 300 && status !== 404).length;
