/** How much each layer adds to the BM25 score, which is divided by the best one first. */
export interface RankingWeights {
  /** the cosine of the question's vector and the intent's; half of it by the best sentence of the question */
  meaning: number;
  /** a name, or slug, that says the question */
  name: number;
  /** a description whose first sentence says the question */
  sentence: number;
  /** a name or sentence adds nothing up to this F1, then ever more */
  overlapAbove: number;
}

/** Chosen by `npm run bench -- tune`; docs/search.md has the figures. */
export const rankingWeights: RankingWeights = { meaning: 2, name: 1, sentence: 0.5, overlapAbove: 0.4 };

/** What the layers say of an intent. */
export interface Layers {
  /** BM25, divided by that of the best intent; 0 if it holds no word of the question */
  words: number;
  /** cosine, from -1 to 1 */
  meaning: number;
  name: number;
  sentence: number;
}

export function combine({ words, meaning, name, sentence }: Layers, weights: RankingWeights = rankingWeights): number {
  const above = (overlap: number) => Math.max(0, overlap - weights.overlapAbove) / (1 - weights.overlapAbove);
  return words + weights.meaning * meaning + weights.name * above(name) + weights.sentence * above(sentence);
}
