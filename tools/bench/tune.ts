import { combine, type RankingWeights, rankingWeights } from '../../functions/core/search/ranking-weights.ts';
import type { RankedEntry } from '../../functions/core/search/sqlite/rank.ts';
import { openSearchIndex } from '../../functions/core/search/sqlite/search-index.ts';
import { benchmark } from './benchmark.ts';
import { builtInCorpus, type Corpus, idsByUid, readCorpora, toRecords } from './search-corpus.ts';
import { judge } from './search-quality.ts';

const usage = `npm run bench -- tune [options]
  --folders <list>  folders of judged questions besides the project's own corpus, separated by commas`;

/** What each weight may be. */
const choices: { [name in keyof RankingWeights]: number[] } = {
  similarity: [0, 0.5, 1, 1.25, 1.5, 1.75, 2, 2.5],
  name: [0, 0.25, 0.5, 0.75, 1, 1.25, 1.5],
  sentence: [0, 0.1, 0.25, 0.5, 0.75, 1],
  overlapAbove: [0.2, 0.3, 0.4, 0.5, 0.6],
};

/** A step is taken only if the mean grows by more than this: less says nothing. */
const minGain = 0.0005;

/** The features of the best entries of each question, which do not depend on the weights. */
function describe({ name, documents, queries }: Corpus) {
  const ids = idsByUid(documents);
  const index = openSearchIndex(':memory:');
  index.apply(toRecords(documents));
  const best = new Map(queries.map(({ query }) => [query, index.describeBest(query)]));
  index.close();
  const rank = (weights: RankingWeights) => (question: string) =>
    (best.get(question) ?? [])
      .map(({ uid, features }: RankedEntry) => ({ uid, score: combine(features, weights) }))
      .sort((a, b) => b.score - a.score || (a.uid < b.uid ? -1 : 1))
      .map(({ uid }) => ids.get(uid) ?? '');
  return { name, judge: (weights: RankingWeights) => judge(queries, rank(weights))['nDCG@10'] };
}

/**
 * `npm run bench -- tune`: the weights of the ranking that give the greatest mean nDCG@10 over all corpora, each counting the same. One weight is
 * changed at a time until none helps, from those that ship.
 */
export const run = benchmark(usage, { folders: '' }, async ({ folders }) => {
  const given = folders === '' ? [] : folders.split(',');
  const corpora = (await Promise.all([builtInCorpus, ...given].map(readCorpora))).flat().map(describe);
  const meanOf = (weights: RankingWeights) => corpora.reduce((sum, corpus) => sum + corpus.judge(weights), 0) / corpora.length;
  const show = (title: string, weights: RankingWeights) =>
    console.log(
      title.padEnd(24),
      corpora.map((corpus) => `${corpus.name} ${corpus.judge(weights).toFixed(3)}`).join('  '),
      JSON.stringify(weights),
    );

  let [weights, mean] = [rankingWeights, meanOf(rankingWeights)];
  show('as shipped', weights);
  for (let before = 0; mean > before + minGain; ) {
    before = mean;
    for (const [name, values] of Object.entries(choices)) {
      const tried = values.map((value) => ({ ...weights, [name]: value })).map((candidate) => [candidate, meanOf(candidate)] as const);
      const [candidate, gained] = tried.toSorted((a, b) => b[1] - a[1])[0] ?? [weights, mean];
      if (gained > mean + minGain) [weights, mean] = [candidate, gained];
    }
  }
  show('best', weights);
  for (const name of Object.keys(choices).filter((name) => name !== 'overlapAbove')) show(`without ${name}`, { ...weights, [name]: 0 });
});
