import * as z from 'zod';
import type { RegistryRecord } from '../../functions/core/registry/records.ts';
import { indexName } from '../../functions/core/search/opensearch/documents.ts';
import { openFeed } from '../../functions/core/search/opensearch/feed.ts';
import type { SearchQuery } from '../../schemas/search.ts';
import { benchmark } from './benchmark.ts';
import { type OpenSearchNode, startOpenSearch } from './opensearch-node.ts';
import { multiply, pageSize } from './search-corpus/multiply.ts';
import { builtInCorpus, type Corpus, readCorpus, toRecords } from './search-corpus.ts';
import { askEngine, judge, shipped } from './search-quality.ts';
import { registryOf, stateInMemory } from './search-registry.ts';
import { timeSearches } from './search-times.ts';

const usage = `npm run bench -- opensearch [options]
  --sizes <list>    numbers of intents to fill a collection with, separated by commas (20000)
  --heap <size>     memory of the node's Java heap (512m)
A search that is not answered within the 2.5 s that the gate waits counts with that time.`;

/** OpenSearch shows no results beyond this one by page. */
const deepestPage = 1_000;

const statistics = z.object({
  _all: z.object({ primaries: z.object({ docs: z.object({ count: z.int() }), store: z.object({ size_in_bytes: z.int() }) }) }),
});

const nodes = z.object({
  nodes: z.record(z.string(), z.object({ process: z.object({ cpu: z.object({ total_in_millis: z.int() }) }) })),
});

/** The CPU time that the node has used, which other work of the machine does not distort as it does the duration. */
const cpuMs = async ({ send }: OpenSearchNode): Promise<number> =>
  Object.values(nodes.parse(await send('GET', '/_nodes/stats/process')).nodes).reduce(
    (sum, { process }) => sum + process.cpu.total_in_millis,
    0,
  );

/** Fills an index anew, in as many runs of the feed as it takes. @returns how many */
async function fill({ engine, send }: OpenSearchNode, pageAt: (page: number) => RegistryRecord[] | undefined): Promise<number> {
  if (await engine.hasIndex()) await send('DELETE', `/${indexName}`);
  const feed = openFeed({ source: registryOf(pageAt), engine, state: stateInMemory() });
  let runs = 1;
  while ((await feed())?.fill) runs++;
  await send('POST', `/${indexName}/_refresh`);
  return runs;
}

async function compareQuality(node: OpenSearchNode, corpus: Corpus): Promise<void> {
  await fill(node, (page) => (page === 0 ? toRecords(corpus.documents) : undefined));
  console.log(`${corpus.documents.length} intents, ${corpus.queries.length} judged questions`);
  console.table({
    SQLite: judge(corpus.queries, shipped(corpus.documents)),
    OpenSearch: judge(corpus.queries, await askEngine(node.engine.search, corpus)),
  });
}

async function measureScale(node: OpenSearchNode, corpus: Corpus, size: number): Promise<void> {
  const [startMs, startCpuMs] = [performance.now(), await cpuMs(node)];
  const runs = await fill(node, (page) => (page * pageSize < size ? multiply(corpus.documents, size, page * pageSize) : undefined));
  const seconds = (performance.now() - startMs) / 1000;
  const cpuSeconds = ((await cpuMs(node)) - startCpuMs) / 1000;
  const { docs, store } = statistics.parse(await node.send('GET', `/${indexName}/_stats/docs,store`))._all.primaries;
  console.log(
    `\n${docs.count} intents: filled in ${seconds.toFixed(0)} s (${(size / seconds).toFixed(0)} a second), runs of the feed: ${runs}, ` +
      `CPU time of the node ${cpuSeconds.toFixed(0)} s, index ${(store.size_in_bytes / 2 ** 20).toFixed(0)} MiB`,
  );
  const search = (query: SearchQuery) => node.engine.search(query).catch(() => undefined);
  console.table(await timeSearches(search, corpus, Math.min(deepestPage, Math.ceil(size / 10))));
}

/** `npm run bench -- opensearch`: how well a real OpenSearch node answers, how fast, and how long a large registry takes to fill it. */
export const run = benchmark(usage, { sizes: '20000', heap: '512m' }, async ({ sizes, heap }) => {
  const corpus = await readCorpus(builtInCorpus);
  const node = await startOpenSearch(heap);
  try {
    await compareQuality(node, corpus);
    for (const size of sizes.split(',').map(Number)) await measureScale(node, corpus, size);
  } finally {
    await node.stop();
  }
});
