import type { SearchQuery } from '../../../../schemas/search.ts';
import { invalidParameter } from '../../api-error.ts';
import { fields, fieldWeights } from '../document.ts';
import { foldTag, listedTags, questionWords } from '../query.ts';
import { tokenize } from '../text.ts';

/** OpenSearch pages no deeper than this by number. */
const deepest = 10_000;

type Clause = Record<string, unknown>;

const weightedFields = fields.map((field) => `${field}^${fieldWeights[field]}`);

const every = (clauses: Clause[]): Clause => ({ bool: { filter: clauses } });

/** Every word of the text as a word, or the beginning of one, in the field; what is written in camelCase as a whole, too. */
function holdEvery(field: string, text: string): Clause | undefined {
  const begins = (word: string): Clause => ({ prefix: { [field]: word } });
  const clauses = tokenize(text).map(({ whole, parts }) =>
    parts.length > 1 ? { bool: { should: [begins(whole), every(parts.map(begins))], minimum_should_match: 1 } } : begins(whole),
  );
  return clauses.length > 0 ? every(clauses) : undefined;
}

/**
 * A search as the body of an OpenSearch `_search` request. Each word of a question is a named clause, so that hits name what they hold.
 * @returns undefined if no intent can match
 * @throws ApiError INVALID_PARAMETER for a page beyond the 10,000th result that is not asked for by `after`
 */
export function toSearchRequest(query: SearchQuery): Clause | undefined {
  const { page, page_size: size, after, uid } = query;
  const words = query.query === undefined ? undefined : questionWords(query.query);
  const named = (['service_name', 'intent_name', 'description'] as const).flatMap((field) =>
    query[field] === undefined ? [] : [holdEvery(`exact_${field}`, query[field])],
  );
  if (words?.length === 0 || named.includes(undefined)) return undefined;

  const from = (page - 1) * size;
  const followsUid = after !== undefined && words === undefined;
  if (!followsUid && from + size > deepest) {
    throw invalidParameter([
      { path: '/page', problem: `must not reach beyond the ${deepest}th result; narrow the search, or follow the next links` },
    ]);
  }
  const filter = [
    ...named,
    ...(query.namespace === undefined ? [] : [{ term: { namespace: foldTag(query.namespace) } }]),
    ...listedTags(query.tags ?? '').map((tag) => ({ term: { exact_tags: tag } })),
    uid === undefined ? { term: { deprecated: false } } : { term: { uid } },
  ];
  const should = words?.map((word) => ({ multi_match: { query: word, type: 'cross_fields', fields: weightedFields, _name: word } }));
  return {
    track_total_hits: true,
    size,
    ...(followsUid ? { search_after: [after] } : { from }),
    _source: ['record', 'service_name'],
    query: { bool: { filter, ...(should && { should, minimum_should_match: 1 }) } },
    sort: should ? [{ _score: 'desc' }, { uid: 'asc' }] : [{ uid: 'asc' }],
  };
}
