import * as z from 'zod';
import { toIntentDetails } from '../../schemas/intent.ts';
import type { SearchQuery } from '../../schemas/search.ts';
import type { AwsAccess } from '../core/aws/aws-client.ts';
import { openSignedRequests } from '../core/aws/signed-request.ts';
import type { IntentRecord } from '../core/registry/records.ts';
import { unavailable } from '../core/runtime/api-error.ts';
import { bounded } from '../core/runtime/invocation.ts';
import type { Hit, SearchEngine, SearchResult } from '../core/search/search-engine.ts';
import { type Entry, indexDefinition, indexName, toBulkBodies } from './index-documents.ts';
import { readCollectionEnvironment } from './records.ts';
import { toSearchRequest } from './search-request.ts';

const searchTimeoutMs = 2_500;

const feedTimeoutMs = 30_000;

const uidPageSize = 1_000;

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

const bulkAnswer = z.object({
  items: z.array(
    z.object({
      index: z.object({ _id: z.string(), status: z.int(), error: z.object({ type: z.string(), reason: z.string().nullish() }).optional() }),
    }),
  ),
});

/**
 * Opens an OpenSearch Serverless collection, for registries too large for SQLite in a function. Its endpoint looks like
 * https://….aoss.amazonaws.com.
 */
export function openOpenSearchEngine({ endpoint, region = process.env.AWS_REGION ?? '', credentials }: AwsAccess & { endpoint: string }) {
  const request = openSignedRequests(feedTimeoutMs, { service: 'aoss', region, ...(credentials && { credentials }) });

  async function send(method: string, path: string, body = '', { contentType = 'application/json', timeoutMs = feedTimeoutMs } = {}) {
    const sent = { method, url: new URL(path, endpoint), headers: { 'content-type': contentType }, body };
    try {
      const answer = await bounded(timeoutMs, () => request(sent));
      if (answer.status >= 300 && answer.status !== 404) throw new Error(`OpenSearch answered ${answer.status}`);
      return answer;
    } catch (error) {
      throw unavailable('Search cannot be reached. Try again after Retry-After.', error);
    }
  }

  const searchFor = async (request: object, timeoutMs: number) => {
    const { status, body } = await send('POST', `/${indexName}/_search`, JSON.stringify(request), { timeoutMs });
    return status === 404 ? { total: { value: 0 }, hits: [] } : searchAnswer.parse(JSON.parse(body)).hits;
  };

  return {
    /** Searches the collection, which may lack the newest writes because it is fed asynchronously. */
    async search(query: SearchQuery): Promise<SearchResult> {
      const request = toSearchRequest(query);
      if (!request) return { hits: [], total: 0 };
      const { total, hits } = await searchFor(request, searchTimeoutMs);
      return {
        total: total.value,
        hits: hits.map(({ _score, _source, matched_queries = [] }): Hit => {
          const { record: text, service_name } = _source ?? { record: '{}', service_name: '' };
          const record = JSON.parse(text) as IntentRecord;
          return {
            intent: toIntentDetails(record, service_name),
            ...(query.view === 'catalogue' && { method: record.endpoint.method }),
            ...(query.explain === 'true' && { match: { score: _score ?? 0, words: matched_queries } }),
          };
        }),
      };
    },

    hasIndex: async (): Promise<boolean> => (await send('HEAD', `/${indexName}`)).status !== 404,

    async createIndex(): Promise<void> {
      await send('PUT', `/${indexName}`, JSON.stringify(indexDefinition));
    },

    /** The uids of a service's intents, as far as they are visible to searches. */
    async uidsOf(serviceId: string): Promise<string[]> {
      const uids: string[] = [];
      for (let after: string | undefined; ; after = uids.at(-1)) {
        const { hits } = await searchFor(
          {
            size: uidPageSize,
            _source: false,
            query: { term: { service_id: serviceId } },
            sort: [{ uid: 'asc' }],
            ...(after && { search_after: [after] }),
          },
          feedTimeoutMs,
        );
        uids.push(...hits.map(({ _id }) => _id));
        if (hits.length < uidPageSize) return uids;
      }
    },

    /**
     * Replaces documents.
     * @throws Error if the collection refuses a document, for example because it has a newer version
     * @throws ApiError SERVICE_UNAVAILABLE if the collection cannot be reached
     */
    async write(entries: readonly Entry[], version: number): Promise<void> {
      for (const body of toBulkBodies(entries, version)) {
        const { status, body: answer } = await send('POST', `/${indexName}/_bulk`, body, { contentType: 'application/x-ndjson' });
        if (status === 404) throw new Error(`OpenSearch has no index "${indexName}": the next run creates it`);
        const refused = refusedIn(answer);
        if (refused.length > 0) throw new Error(`OpenSearch refused ${refused.length} documents: ${refused.slice(0, 3).join('; ')}`);
      }
    },
  };
}

export type OpenSearchEngine = ReturnType<typeof openOpenSearchEngine>;

/** @returns undefined if the deployment has no collection */
export function openSearchFromEnvironment(): SearchEngine | undefined {
  const { searchCollection: endpoint } = readCollectionEnvironment([], ['searchCollection']);
  return endpoint === undefined ? undefined : openOpenSearchEngine({ endpoint });
}

const refusedIn = (answer: string): string[] =>
  bulkAnswer
    .parse(JSON.parse(answer))
    .items.filter(({ index: { status } }) => status >= 300)
    .map(({ index: { _id, status, error } }) => `${_id} (${status}${error ? `, ${error.type}: ${error.reason ?? ''}` : ''})`);
