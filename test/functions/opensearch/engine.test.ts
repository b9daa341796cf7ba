import { createServer } from 'node:http';
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { close, listen } from '../../../bin/local/http.ts';
import { openOpenSearchEngine } from '../../../functions/opensearch/engine.ts';
import { indexName, type OpenSearchDocument, toBulkBodies, toOpenSearchDocument } from '../../../functions/opensearch/index-documents.ts';
import { toIntentDetails } from '../../../schemas/intent.ts';
import { searchQuery } from '../../../schemas/search.ts';
import { intentOf, serviceNamed } from '../../support/records.ts';

/** What the collection answers next. `npm run test:opensearch` tests with a real node. */
let next: { status: number; body: string };
const requests: { line: string; headers: NodeJS.Dict<string | string[]>; body: string }[] = [];
const answerOf = (body: object) => ({ status: 200, body: JSON.stringify(body) });

const server = createServer(async (request, response) => {
  const body = Buffer.concat(await Array.fromAsync(request as AsyncIterable<Buffer>)).toString();
  requests.push({ line: `${request.method} ${request.url}`, headers: request.headers, body });
  response.writeHead(next.status).end(next.body);
});
const engine = openOpenSearchEngine({
  endpoint: `http://127.0.0.1:${await listen(server)}`,
  region: 'eu-west-1',
  credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
});
beforeEach(() => {
  requests.length = 0;
});
afterAll(() => close(server));

test('an index is made if there is none, and lists the intents of a service in pages', async () => {
  next = { status: 404, body: '' };
  expect(await engine.hasIndex()).toBe(false);
  expect(await engine.uidsOf('s')).toEqual([]);
  await expect(engine.write([['a', undefined]], 1)).rejects.toThrow(`OpenSearch has no index "${indexName}": the next run creates it`);
  next = answerOf({ hits: { total: { value: 1 }, hits: [{ _id: 'a', _score: null }] } });
  await engine.createIndex();
  expect(await engine.hasIndex()).toBe(true);
  expect(await engine.uidsOf('s')).toEqual(['a']);
  expect(requests.slice(-3).map(({ line }) => line)).toEqual([`PUT /${indexName}`, `HEAD /${indexName}`, `POST /${indexName}/_search`]);
  expect(JSON.parse(requests.at(-1)?.body ?? '')).toMatchObject({ query: { term: { service_id: 's' } } });
});

test('a document holds what searches ask for', () => {
  const intent = {
    ...intentOf('A.example:two:v1', { tags: ['Big One'], deprecated: true }),
    kind: 'intent',
    service_id: 's',
    rev: 1,
  } as const;
  const service = { ...serviceNamed('First'), kind: 'service', service_id: 's', rev: 1, intents: 1, drafts: 0 } as const;
  expect(toOpenSearchDocument(intent, service)).toMatchObject({
    exact_tags: ['big one'],
    namespace: 'a.example',
    deprecated: true,
    service_id: 's',
    service_name: 'First',
    method: 'POST',
    record: JSON.stringify(intent),
  });
});

describe('a search', () => {
  test('a search is signed, and its answer is a page of intents', async () => {
    const intent = intentOf('a.example:one:v1');
    const _source = { record: JSON.stringify(intent), service_name: 'First' };
    const hit = { _id: intent.intent_uid, _score: 1.5, _source, matched_queries: ['country'] };
    next = answerOf({ hits: { total: { value: 7 }, hits: [hit] } });
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

  test('a search that can find nothing sends nothing', async () => {
    expect(await engine.search(searchQuery.parse({ query: '?' }))).toEqual({ hits: [], total: 0 });
    expect(requests).toEqual([]);
  });

  test.each([
    ['the collection fails', { status: 500, body: 'a stack trace' }],
    ['the collection forbids it', { status: 403, body: '' }],
  ])('a search is answered 503 if %s', async (_, failure) => {
    next = failure;
    await expect(engine.search(searchQuery.parse({}))).rejects.toMatchObject({
      code: 'SERVICE_UNAVAILABLE',
      message: 'Search cannot be reached. Try again after Retry-After.',
    });
  });
});

test('a refused document fails the run, so that the next one writes it again', async () => {
  const refused = { _id: 'b', status: 400, error: { type: 'mapper_parsing_exception', reason: 'failed to parse' } };
  next = answerOf({ items: [{ index: { _id: 'a', status: 201 } }, { index: refused }] });
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
