import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { toSearchRequest } from '../../../functions/opensearch/search-request.ts';
import { searchQuery } from '../../../schemas/search.ts';

const request = (query: Record<string, string>) => toSearchRequest(searchQuery.parse(query));
const word = (query: string) => ({ match: { words: { query, _name: query } } });
const named = (name_key: string) => ({ constant_score: { filter: { term: { name_key } }, boost: 10_000 } });
const common = { track_total_hits: true, size: 10, from: 0, _source: ['record', 'service_name'] };
const standing = { term: { deprecated: false } };
const listing = { ...common, query: { bool: { filter: [standing] } }, sort: [{ uid: 'asc' }] };
const begins = (field: string, word: string) => ({ prefix: { [`exact_${field}`]: word } });
const every = (...filter: object[]) => ({ bool: { filter } });

const weather = [named('whatistheweatherinlodz'), word('weather'), word('lodz')];
const splitName = every(begins('service_name', 'git'), begins('service_name', 'hub'));
const gitHub = { bool: { should: [begins('service_name', 'github'), splitName], minimum_should_match: 1 } };

test.each<[string, Record<string, string>, object]>([
  ['nothing asked', {}, listing],
  [
    'a question',
    { query: 'What is the weather in Łódź?' },
    {
      ...common,
      query: { bool: { filter: [standing], should: weather, minimum_should_match: 1 } },
      sort: [{ _score: 'desc' }, { uid: 'asc' }],
    },
  ],
  [
    'every filter',
    { uid: 'a.example:b:v1', namespace: 'A.Example', method: 'PUT', tags: 'Money, travel', intent_name: 'pay bill' },
    {
      ...listing,
      query: every(
        every(begins('intent_name', 'pay'), begins('intent_name', 'bill')),
        { term: { namespace: 'a.example' } },
        { term: { method: 'PUT' } },
        { term: { exact_tags: 'money' } },
        { term: { exact_tags: 'travel' } },
        { term: { uid: 'a.example:b:v1' } },
      ),
    },
  ],
  ['camelCase in a filter', { service_name: 'GitHub' }, { ...listing, query: every(every(gitHub), standing) }],
  ['a page', { page: '3', page_size: '20' }, { ...listing, size: 20, from: 40 }],
  ['what follows a uid', { page: '2000', after: 'a.example:b:v1' }, { ...listing, from: undefined, search_after: ['a.example:b:v1'] }],
])('a search becomes a request of OpenSearch: %s', (_, query, body) => {
  expect(request(query)).toEqual(body);
});

test.each<[string, Record<string, string>]>([
  ['a question of marks alone', { query: '?!' }],
  ['a filter of marks alone', { description: '--' }],
  ['a word that is longer than those of the index', { intent_name: 'x'.repeat(256) }],
])('no request is made for %s', (_, query) => {
  expect(request(query)).toBeUndefined();
});

const words = Array.from({ length: 251 }, (_, at) => `w${at}`).join(' ');
test.each([
  [{ page: '1001' }, { path: '/page', problem: 'must not reach beyond the 10000th result; narrow the search, or follow the next links' }],
  [{ description: words }, { path: '/description', problem: 'must have at most 250 different words' }],
])('a search that OpenSearch does not take is refused: %j', (query, issue) => {
  const refusal = { code: 'INVALID_PARAMETER', status: 400, details: { issues: [issue] } };
  expect(() => request(query as Record<string, string>)).toThrow(expect.objectContaining(refusal));
});

test('the request counts repeated words once', () => {
  expect(request({ description: 'a book '.repeat(251) })).toEqual(request({ description: 'a book' }));
});

test('the request keeps the question out of its structure, whatever it is', () => {
  const shape = (value: unknown): unknown =>
    Array.isArray(value)
      ? value.map(shape)
      : typeof value === 'object' && value
        ? Object.entries(value).map(([key, inner]) => [key, shape(inner)])
        : typeof value;
  const asked = fc
    .string({ unit: 'binary' })
    .filter((text) => /^[a-z]/.test(text) && !/[\p{L}\p{N}\p{M}]/u.test(text.slice(1).normalize('NFKC')));
  fc.assert(
    fc.property(asked, (text) => {
      expect(shape(request({ query: text, namespace: text }))).toEqual(shape(request({ query: 'x', namespace: 'x' })));
    }),
  );
});
