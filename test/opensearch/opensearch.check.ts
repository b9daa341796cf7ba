import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { type Intents, openIntents } from '../../functions/core/registry/intents.ts';
import type { IntentRecord, RegistryRecord, ServiceRecord } from '../../functions/core/registry/records.ts';
import { openRegistry } from '../../functions/core/registry/registry.ts';
import { openServices, type Services } from '../../functions/core/registry/services.ts';
import { openSearchIndex, type SearchIndex } from '../../functions/core/search/sqlite/search-index.ts';
import { type FeedParts, openFeed } from '../../functions/opensearch/feed.ts';
import { maxRunMs, openFeedState } from '../../functions/opensearch/feed-state.ts';
import { indexName } from '../../functions/opensearch/index-documents.ts';
import { maxTags } from '../../schemas/intent.ts';
import { searchQuery } from '../../schemas/search.ts';
import { multiply } from '../../tools/bench/search-corpus/multiply.ts';
import { builtInCorpus, type Corpus, readCorpus, toRecords } from '../../tools/bench/search-corpus.ts';
import { askEngine, judge, shipped } from '../../tools/bench/search-quality.ts';
import { registryOf, stateInMemory } from '../support/opensearch/search-registry.ts';
import { intentOf, serviceNamed } from '../support/records.ts';
import { startTable, type TestTable } from '../support/table.ts';
import { type OpenSearchNode, startOpenSearch } from './node.ts';

/** `npm run test:opensearch`: the engine and its feed on a real OpenSearch node. It takes signed requests, and does not check signatures. */
let node: OpenSearchNode;
beforeAll(async () => {
  node = await startOpenSearch();
}, 180_000);
afterAll(() => node?.stop());

const refresh = () => node.send('POST', `/${indexName}/_refresh`);

async function removeIndex(): Promise<void> {
  if (await node.engine.hasIndex()) await node.send('DELETE', `/${indexName}`);
}

/** What searches find, after everything that was written can be found. */
async function find(query: Record<string, string> = {}): Promise<{ uids: string[]; total: number }> {
  await refresh();
  const { hits, total } = await node.engine.search(searchQuery.parse(query));
  return { uids: hits.map(({ intent }) => intent.intent_uid), total };
}

describe('a search', () => {
  let corpus: Corpus;
  let sqlite: SearchIndex;
  const service: ServiceRecord = {
    kind: 'service',
    ...serviceNamed('GitHub für Łódź'),
    service_id: 'special',
    rev: 1,
    intents: 3,
    drafts: 0,
  };
  const special = (slug: string, more: Parameters<typeof intentOf>[1]): IntentRecord => ({
    kind: 'intent',
    ...intentOf(`Special.example:${slug}:v1`, more),
    service_id: 'special',
    rev: 1,
  });
  const records = (): RegistryRecord[] => [
    ...toRecords(corpus.documents),
    service,
    special('camel', { intent_name: 'listPullRequests', tags: ['Code Review', 'travel'] }),
    special('japanese', { intent_name: '天気予報', description: '東京の天気を調べる' }),
    special('old', { intent_name: 'Old pull requests', deprecated: true }),
  ];

  beforeAll(async () => {
    corpus = await readCorpus(builtInCorpus);
    sqlite = openSearchIndex(':memory:');
    sqlite.apply(records());
    const source = registryOf((page) => (page === 0 ? records() : undefined));
    await openFeed({ source, engine: node.engine, state: stateInMemory() })();
    await refresh();
  });
  afterAll(removeIndex);

  test.each<[string, Record<string, string>]>([
    ['nothing asked', {}],
    ['a page', { page: '3', page_size: '7' }],
    ['a page beyond the last', { page: '900' }],
    ['what follows a uid', { after: 'corpus.example:operation-200:v1', page: '2' }],
    ['a tag', { tags: 'TRAVEL' }],
    ['several tags', { tags: 'travel, code review' }],
    ['a namespace in another case', { namespace: 'special.EXAMPLE' }],
    ['the beginning of a word in a name', { intent_name: 'conv' }],
    ['words of a description', { description: 'a book' }],
    ['accents', { service_name: 'lodz' }],
    ['a part of camelCase', { intent_name: 'pull' }],
    ['camelCase as a whole', { intent_name: 'listpullrequests' }],
    ['camelCase that is written in one word', { service_name: 'gitHub' }],
    ['a script without spaces', { intent_name: '予報' }],
    ['a deprecated intent by its uid', { uid: 'Special.example:old:v1' }],
    ['an intent that is not there by its uid', { uid: 'Special.example:gone:v1' }],
    ['filters that exclude one another', { uid: 'Special.example:camel:v1', tags: 'money' }],
    ['marks alone', { query: '?!' }],
  ])('a search finds what SQLite finds, in its order: %s', async (_, query) => {
    const asked = searchQuery.parse(query);
    expect(await node.engine.search(asked)).toEqual(sqlite.search(asked));
  });

  test.each(['weather', 'converting', 'pull requests', '天気', 'LODZ'])(
    'a search finds as many intents for the question %p as SQLite',
    async (query) => {
      const expected = sqlite.search(searchQuery.parse({ query })).total;
      expect(expected).toBeGreaterThan(0);
      expect((await find({ query })).total).toBe(expected);
    },
  );

  test('a search finds an intent by its very name first, whatever else says the same words', async () => {
    for (const { name } of corpus.documents) {
      const { hits } = await node.engine.search(searchQuery.parse({ query: `${name.toUpperCase()}!` }));
      expect(hits[0]?.intent.intent_name).toBe(name);
    }
    expect((await find({ query: 'List-Pull-Requests' })).uids[0]).toBe('Special.example:camel:v1');
  }, 120_000);

  test('a search explains hits', async () => {
    const { hits } = await node.engine.search(searchQuery.parse({ query: 'who lists pull requests', explain: 'true' }));
    expect(hits[0]).toMatchObject({
      intent: { intent_uid: 'Special.example:camel:v1' },
      match: { score: expect.any(Number), words: expect.arrayContaining(['pull', 'requests']) },
    });
  });

  test('a search answers the longest request that is not refused', async () => {
    const words = (count: number, prefix: string) => Array.from({ length: count }, (_, at) => `${prefix}${at}`).join(' ');
    const tags = words(maxTags, 't').replaceAll(' ', ',');
    const filters = { service_name: words(250, 's'), intent_name: words(250, 'i'), description: words(250, 'd'), tags };
    expect(await find({ query: words(1_500, 'w'), ...filters, namespace: 'x'.repeat(10_000) })).toEqual({ uids: [], total: 0 });
  });

  // It ranks by words alone: vectors and names are SQLite's.
  test('a search answers questions as well as words alone allow', async () => {
    const quality = async (rank: Parameters<typeof judge>[1]) => judge(corpus.queries, rank)['nDCG@10'];
    const ofSqlite = await quality(shipped(corpus.documents));
    const ofOpenSearch = await quality(await askEngine(node.engine.search, corpus));
    console.log(`nDCG@10 of SQLite ${ofSqlite}, of OpenSearch ${ofOpenSearch}`);
    expect(ofOpenSearch).toBeGreaterThan(0.58);
  }, 120_000);
});

describe('a fill', () => {
  const size = 1_000;
  let pages: RegistryRecord[][];
  beforeAll(async () => {
    const { documents } = await readCorpus(builtInCorpus);
    pages = Array.from({ length: 5 }, (_, page) => multiply(documents, (page + 1) * 200, page * 200));
  });
  beforeEach(removeIndex);

  /** A registry of five pages, each of which takes 100 seconds on a clock of its own, and the pages that were read. */
  function slowRegistry() {
    let nowMs = Date.now();
    const read: string[] = [];
    const source = registryOf((page) => pages[page]);
    const readAll: FeedParts['source']['readAll'] = async function* (cursor) {
      for await (const page of source.readAll(cursor)) {
        read.push(page.cursor);
        nowMs += 100_000;
        yield page;
      }
    };
    return { source: { ...source, readAll }, now: () => nowMs, read };
  }

  test('a fill goes on in the next run where the time of one was up, and reads each page once', async () => {
    const { source, now, read } = slowRegistry();
    const feed = openFeed({ source, now, engine: node.engine, state: stateInMemory() });
    expect(await feed()).toMatchObject({ fill: { intents: 600 } });
    expect((await find()).total).toBe(600);
    expect(await feed()).not.toHaveProperty('fill');
    expect((await find()).total).toBe(size);
    expect(read).toEqual(['1', '2', '3', '4', '5']);
  });

  test('a fill goes on after a failure from where it had come to', async () => {
    const { source, now, read } = slowRegistry();
    let writes = 0;
    const write: FeedParts['engine']['write'] = async (...given) => {
      if (++writes === 2) throw new Error('the collection is busy');
      await node.engine.write(...given);
    };
    const feed = openFeed({ source, now, engine: { ...node.engine, write }, state: stateInMemory() });
    expect(await feed()).toMatchObject({ fill: { intents: 600 } });
    await expect(feed()).rejects.toThrow('the collection is busy');
    while ((await feed())?.fill);
    expect((await find()).total).toBe(size);
    expect(read).toEqual(['1', '2', '3', '4', '5', '4', '5']);
  });

  test('a fill begins again if the index is lost', async () => {
    const { source, now } = slowRegistry();
    const feed = openFeed({ source, now, engine: node.engine, state: stateInMemory() });
    while ((await feed())?.fill);
    await removeIndex();
    while ((await feed())?.fill);
    expect((await find()).total).toBe(size);
  });
});

describe('the feed', () => {
  let started: TestTable;
  let services: Services;
  let intents: Intents;
  /** added to the clock by which runs that never ended are taken for dead */
  let laterMs = 0;
  let parts: FeedParts;

  beforeEach(async () => {
    await removeIndex();
    started = await startTable();
    services = openServices(started.table);
    intents = openIntents(started.table);
    laterMs = 0;
    parts = {
      source: openRegistry(started.table),
      engine: node.engine,
      state: openFeedState(started.table, 'https://one.example', () => Date.now() + laterMs),
    };
  });
  afterEach(() => started.stop());

  const uidOf = (slug: string) => `feed.example:${slug}:v1`;

  async function register(name: string, ...slugs: string[]): Promise<string> {
    const { service_id } = await services.create(serviceNamed(name));
    for (const slug of slugs) await intents.create(service_id, intentOf(uidOf(slug)));
    return service_id;
  }

  test('the feed follows what changes during the fill', async () => {
    const service = await register('First', 'one', 'two');
    const readAll: FeedParts['source']['readAll'] = async function* (cursor) {
      const read = await Array.fromAsync(parts.source.readAll(cursor));
      await intents.remove(uidOf('one'), () => true);
      await intents.create(service, intentOf(uidOf('late')));
      await services.replace(service, serviceNamed('Renamed'), () => true);
      yield* read;
    };
    await openFeed({ ...parts, source: { ...parts.source, readAll } })();
    expect((await find({ service_name: 'renamed' })).uids).toEqual([uidOf('late'), uidOf('two')]);
    expect((await find()).total).toBe(2);
  });

  /** A run that has read the registry and then hangs, until it is let go. */
  async function startHangingRun(): Promise<{ goOn: () => void; ended: Promise<unknown> }> {
    const hanging = Promise.withResolvers<void>();
    const reached = Promise.withResolvers<void>();
    const write: FeedParts['engine']['write'] = async (...given) => {
      reached.resolve();
      await hanging.promise;
      await parts.engine.write(...given);
    };
    const ended = openFeed({ ...parts, engine: { ...parts.engine, write } })().catch((error: unknown) => error);
    await reached.promise;
    return { goOn: hanging.resolve, ended };
  }

  test.each<[string, () => Promise<unknown>, string[]]>([
    ['a newer one', () => intents.replace(uidOf('one'), intentOf(uidOf('one'), { intent_name: 'Newer' }), () => true), [uidOf('one')]],
    ['a deletion', () => intents.remove(uidOf('one'), () => true), []],
  ])('the feed never replaces %s by what was read before, even if a run hangs', async (_, change, found) => {
    await register('First', 'one');
    await openFeed(parts)();
    await intents.replace(uidOf('one'), intentOf(uidOf('one'), { intent_name: 'Older' }), () => true);
    const { goOn, ended } = await startHangingRun();
    laterMs += maxRunMs + 1;
    await change();
    await openFeed(parts)();
    goOn();
    expect(String(await ended)).toMatch(/OpenSearch refused 1 documents: feed\.example:one:v1 \(409, version_conflict_engine_exception/);
    expect((await find()).uids).toEqual(found);
    expect(await find({ intent_name: 'older' })).toEqual({ uids: [], total: 0 });
  });
});
