import type { SearchQuery } from '../../schemas/search.ts';
import { foldTag } from '../../schemas/text.ts';
import { invalidParameter } from '../core/runtime/api-error.ts';
import { listedTags, questionWords } from '../core/search/query.ts';
import { nameKey, tokenize } from '../core/search/text.ts';

/** Maximum depth of OpenSearch's numbered pages, in results. */
const deepest = 10_000;

/** Maximum number of words per text filter. A search may have 1,024 clauses: up to 100 for a question, 50 for tags, and three times these. */
const maxWordsOfFilter = 250;

/** Longest word in the index, in characters: its analyzers cut longer ones. */
const maxWordLength = 255;

/** Added to the score of an intent whose name is the question: more than 100 words can score, and small enough to preserve their precision. */
const nameBoost = 10_000;

type Clause = Record<string, unknown>;

/** Texts that a search can filter by; the index has a field `exact_...` for each. */
const textFilters = ['service_name', 'intent_name', 'description'] as const;

type TextFilter = (typeof textFilters)[number];

const every = (clauses: Clause[]): Clause => ({ bool: { filter: clauses } });

/**
 * A clause for "every word of the text is a word of the field, or a prefix of one". Words in camelCase may also match as a whole.
 * @returns undefined if no intent can match
 */
function holdEvery(name: TextFilter, text: string): Clause | undefined {
  const tokens = [...new Map(tokenize(text).map((token) => [`${token.whole} ${token.parts}`, token])).values()];
  const words = tokens.flatMap(({ whole, parts }) => (parts.length > 1 ? [whole, ...parts] : [whole]));
  if (words.length === 0 || words.some(({ length }) => length > maxWordLength)) return undefined;
  if (words.length > maxWordsOfFilter) {
    throw invalidParameter([{ path: `/${name}`, problem: `must have at most ${maxWordsOfFilter} different words` }]);
  }
  const begins = (word: string): Clause => ({ prefix: { [`exact_${name}`]: word } });
  return every(
    tokens.map(({ whole, parts }) =>
      parts.length > 1 ? { bool: { should: [begins(whole), every(parts.map(begins))], minimum_should_match: 1 } } : begins(whole),
    ),
  );
}

/**
 * Translates a search to the body of an OpenSearch `_search` request. Each word of a question is a named clause, so that hits list their matches.
 * @returns undefined if no intent can match
 * @throws ApiError INVALID_PARAMETER for a page beyond the 10,000th result without `after`, and for more words than OpenSearch accepts
 */
export function toSearchRequest(query: SearchQuery): Clause | undefined {
  const { page, page_size: size, after, uid } = query;
  const words = query.query === undefined ? undefined : questionWords(query.query);
  const named = textFilters.flatMap((name) => (query[name] === undefined ? [] : [holdEvery(name, query[name])]));
  const tags = listedTags(query.tags ?? '');
  if (words?.length === 0 || named.includes(undefined)) return undefined;

  const from = (page - 1) * size;
  const followsUid = after !== undefined && words === undefined;
  if (!followsUid && from + size > deepest) {
    throw invalidParameter([
      { path: '/page', problem: `must not reach beyond the ${deepest}th result; narrow the search, or follow the next links` },
    ]);
  }
  if (query.permitted)
    throw invalidParameter([{ path: '/permitted', problem: 'must be left out: the search engine OpenSearch does not know the policy' }]);
  const filter = [
    ...named,
    ...(query.namespace === undefined ? [] : [{ term: { namespace: foldTag(query.namespace) } }]),
    ...(query.method === undefined ? [] : [{ term: { method: query.method } }]),
    ...tags.map((tag) => ({ term: { exact_tags: tag } })),
    uid === undefined ? { term: { deprecated: false } } : { term: { uid } },
  ];
  const isNamed = { constant_score: { filter: { term: { name_key: nameKey(query.query ?? '') } }, boost: nameBoost } };
  const should = words && [isNamed, ...words.map((word) => ({ match: { words: { query: word, _name: word } } }))];
  return {
    track_total_hits: true,
    size,
    ...(followsUid ? { search_after: [after] } : { from }),
    _source: ['record', 'service_name'],
    query: { bool: { filter, ...(should && { should, minimum_should_match: 1 }) } },
    sort: should ? [{ _score: 'desc' }, { uid: 'asc' }] : [{ uid: 'asc' }],
  };
}
