import type { SearchQuery } from '../../../../schemas/search.ts';
import { foldTag } from '../../../../schemas/text.ts';
import { invalidParameter } from '../../api-error.ts';
import { listedTags, questionWords } from '../query.ts';
import { nameKey, tokenize } from '../text.ts';

/** OpenSearch pages no deeper than this by number. */
const deepest = 10_000;

/** A search has at most 1,024 clauses: up to 100 for a question, 50 for tags, and these for each of the three texts. */
const maxWordsOfFilter = 250;

/** The index holds no longer words: its analyzers cut them. */
const maxWordLength = 255;

/** Added to the score of an intent whose name is the question: more than a hundred words add up to, and little enough that these still count. */
const nameBoost = 10_000;

type Clause = Record<string, unknown>;

/** The texts in which a search may ask for words; the index has each in a field of its own, `exact_...`. */
const textFilters = ['service_name', 'intent_name', 'description'] as const;

type TextFilter = (typeof textFilters)[number];

const every = (clauses: Clause[]): Clause => ({ bool: { filter: clauses } });

/**
 * Every word of the text as a word, or the beginning of one, in the field; what is written in camelCase as a whole, too.
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
 * A search as the body of an OpenSearch `_search` request. Each word of a question is a named clause, so that hits name what they hold.
 * @returns undefined if no intent can match
 * @throws ApiError INVALID_PARAMETER for a page beyond the 10,000th result that is not asked for by `after`, and for more words than
 * OpenSearch takes
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
