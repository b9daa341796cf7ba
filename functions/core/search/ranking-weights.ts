/** How much each feature adds to the normalised BM25 score. */
export interface RankingWeights {
  /** cosine similarity of the embeddings of question and intent */
  similarity: number;
  /** overlap with the name or slug */
  name: number;
  /** overlap with the first sentence of the description */
  sentence: number;
  /** minimum F1 from which an overlap counts */
  overlapAbove: number;
}

export const rankingWeights: RankingWeights = { similarity: 2, name: 1, sentence: 0.5, overlapAbove: 0.4 };

export interface Features {
  /** BM25 score divided by that of the best intent */
  bm25: number;
  /** cosine similarity, from -1 to 1 */
  similarity: number;
  /** F1 of the words of the question and the name (or slug), from 0 to 1 */
  name: number;
  /** the same for the first sentence of the description */
  sentence: number;
}

export function combine({ bm25, similarity, name, sentence }: Features, weights: RankingWeights = rankingWeights): number {
  const above = (overlap: number) => Math.max(0, overlap - weights.overlapAbove) / (1 - weights.overlapAbove);
  return bm25 + weights.similarity * similarity + weights.name * above(name) + weights.sentence * above(sentence);
}
