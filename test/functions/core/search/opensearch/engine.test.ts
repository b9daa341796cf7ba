import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { openIntents } from '../../../../../functions/core/registry/intents.ts';
import { openRegistry } from '../../../../../functions/core/registry/registry.ts';
import { openServices } from '../../../../../functions/core/registry/services.ts';
import { indexName, type OpenSearchDocument, toBulkBodies } from '../../../../../functions/core/search/opensearch/documents.ts';
import { type OpenSearchEngine, openOpenSearchEngine } from '../../../../../functions/core/search/opensearch/engine.ts';
import { openFeedState } from '../../../../../functions/core/search/opensearch/feed-state.ts';
import { createAction } from '../../../../../functions/feed-search-collection.ts';
import { toIntentDetails } from '../../../../../schemas/intent.ts';
import { searchQuery } from '../../../../../schemas/search.ts';
import { intentOf, serviceNamed } from '../../../../support/records.ts';
import { startTable, type TestTable } from '../../../../support/table.ts';

/**
 * The part of a collection that the gate uses: it stores documents by version, finds those of a service, and gives prepared answers to
 * searches. `npm run test:opensearch` does the same with a real node.
 */
const documents = new Map<string, { version: number; document: Partial<OpenSearchDocument> }>();
let hasIndex = false;
let next: { status: number; body: string } | undefined;
const requests: { line: string; headers: NodeJS.Dict<string | string[]>; body: string }[] = [];

function answer(line: string, body: string): { status: number; body: string } {
  if (next) return next;
  if (line === `PUT /${indexName}`) hasIndex = true;
  if (!hasIndex) return { status: 404, body: '{}' };
  if (line === `POST /${indexName}/_bulk`) return { status: 200, body: JSON.stringify({ items: takeIn(body) }) };
  const { term } = JSON.parse(body || '{}').query ?? {};
  const found = [...documents].filter(([, { document }]) => term && document.service_id === term.service_id);
  const hits = found.map(([_id]) => ({ _id, _score: null }));
  return { status: 200, body: JSON.stringify({ hits: { total: { value: hits.length }, hits } }) };
}

function takeIn(body: string): object[] {
  const lines = body
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
  return lines.flatMap((line, at): object[] => {
    if (at % 2 === 1) return [];
    const { _id, version } = line.index;
    if ((documents.get(_id)?.version ?? 0) >= version) return [{ index: { _id, status: 409 } }];
    documents.set(_id, { version, document: lines[at + 1] });
    return [{ index: { _id, status: 201 } }];
  });
}

let server: Server;
let engine: OpenSearchEngine;
let started: TestTable;

beforeAll(async () => {
  started = await startTable();
  server = createServer(async (request, response) => {
    const body = Buffer.concat(await Array.fromAsync(request as AsyncIterable<Buffer>)).toString();
    const line = `${request.method} ${request.url}`;
    requests.push({ line, headers: request.headers, body });
    const { status, body: sent } = answer(line, body);
    response.writeHead(status).end(request.method === 'HEAD' ? '' : sent);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  engine = openOpenSearchEngine({
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    region: 'eu-west-1',
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
  });
});
beforeEach(() => {
  requests.length = 0;
  next = undefined;
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await started.stop();
});

test('the first run writes everything, later ones what has changed, each change once', async () => {
  const services = openServices(started.table);
  const intents = openIntents(started.table);
  const feed = createAction({ source: openRegistry(started.table), engine, state: openFeedState(started.table, 'https://one.example') });
  const held = () =>
    [...documents].flatMap(([uid, { document }]) => (document.service_name ? [`${uid} of ${document.service_name}`] : [])).sort();
  const written = () =>
    requests
      .filter(({ line }) => line === `POST /${indexName}/_bulk`)
      .flatMap(({ body }) => [...body.matchAll(/"_id":"([^"]+)"/g)].map(([, uid]) => uid))
      .sort();
  const { service_id } = await services.create(serviceNamed('First'));
  await intents.create(service_id, intentOf('a.example:one:v1'));
  await intents.create(service_id, intentOf('a.example:two:v1', { tags: ['Big One'], deprecated: true }));

  await feed();
  expect(held()).toEqual(['a.example:one:v1 of First', 'a.example:two:v1 of First']);
  expect(documents.get('a.example:two:v1')?.document).toMatchObject({
    exact_tags: ['big one'],
    namespace: 'a.example',
    deprecated: true,
    service_id,
  });
  expect(requests.map(({ line }) => line)).toContain(`PUT /${indexName}`);

  requests.length = 0;
  await services.replace(service_id, serviceNamed('Second'), () => true);
  await intents.remove('a.example:two:v1', () => true);
  await feed();
  expect(held()).toEqual(['a.example:one:v1 of Second']);
  expect(written()).toEqual(['a.example:one:v1', 'a.example:two:v1']);

  requests.length = 0;
  await feed();
  expect(requests.map(({ line }) => line)).toEqual([`HEAD /${indexName}`]);

  await services.remove(service_id, () => true);
  await feed();
  expect(held()).toEqual([]);
  expect(documents.size).toBe(2);
});

describe('a search', () => {
  const hits = (total: number, ...found: object[]) => ({
    status: 200,
    body: JSON.stringify({ hits: { total: { value: total }, hits: found } }),
  });

  test('is signed, and its answer is a page of intents', async () => {
    const intent = intentOf('a.example:one:v1');
    const _source = { record: JSON.stringify(intent), service_name: 'First' };
    next = hits(7, { _id: intent.intent_uid, _score: 1.5, _source, matched_queries: ['country'] });
    const query = searchQuery.parse({ query: 'a country', explain: 'true' });
    expect(await engine.search(query)).toEqual({
      total: 7,
      hits: [{ intent: toIntentDetails(intent, 'First'), match: { score: 1.5, words: ['country'] } }],
    });
    expect(requests[0]).toMatchObject({
      line: `POST /${indexName}/_search`,
      headers: {
        'content-type': 'application/json',
        'x-amz-content-sha256': expect.stringMatching(/^[0-9a-f]{64}$/),
        authorization: expect.stringMatching(/^AWS4-HMAC-SHA256 Credential=test\/\d{8}\/eu-west-1\/aoss\/aws4_request, /),
      },
    });
  });

  test('that can find nothing sends nothing', async () => {
    expect(await engine.search(searchQuery.parse({ query: '?' }))).toEqual({ hits: [], total: 0 });
    expect(requests).toEqual([]);
  });

  test.each([
    ['the collection fails', { status: 500, body: 'a stack trace' }],
    ['the collection forbids it', { status: 403, body: '' }],
  ])('is answered 503 if %s', async (_, failure) => {
    next = failure;
    await expect(engine.search(searchQuery.parse({}))).rejects.toMatchObject({
      code: 'SERVICE_UNAVAILABLE',
      message: 'Search cannot be reached. Try again after Retry-After.',
    });
  });
});

test('a refused document fails the run, so that the next one writes it again', async () => {
  const refused = { _id: 'b', status: 400, error: { type: 'mapper_parsing_exception', reason: 'failed to parse' } };
  next = { status: 200, body: JSON.stringify({ items: [{ index: { _id: 'a', status: 201 } }, { index: refused }] }) };
  const entries = ['a', 'b'].map((uid) => [uid, undefined] as const);
  await expect(engine.write(entries, 1)).rejects.toThrow(
    'OpenSearch refused 1 documents: b (400, mapper_parsing_exception: failed to parse)',
  );
});

test('documents are sent in requests of a bounded size', () => {
  const large = { record: 'x'.repeat(1_500_000) } as OpenSearchDocument;
  const entries = ['a', 'b', 'c', 'd'].map((uid) => [uid, uid === 'd' ? undefined : large] as const);
  const bodies = toBulkBodies(entries, 7);
  expect(bodies.map((body) => [...body.matchAll(/"_id":"(.)","version":7,"version_type":"external"/g)].map(([, uid]) => uid))).toEqual([
    ['a', 'b'],
    ['c', 'd'],
  ]);
  expect(toBulkBodies([], 7)).toEqual([]);
});
