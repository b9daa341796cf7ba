import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { fields, type SearchDocument } from '../../../../../functions/core/search/document.ts';
import { openBlobs, openDatabase } from '../../../../../functions/core/search/sqlite/database.ts';
import { openPostings, type Postings } from '../../../../../functions/core/search/sqlite/postings.ts';

const documentOf = (texts: Partial<SearchDocument>): SearchDocument => ({
  ...(Object.fromEntries(fields.map((field) => [field, ''])) as SearchDocument),
  ...texts,
});

const open = () => {
  const database = openDatabase(':memory:');
  return { blobs: openBlobs(database, 'posting'), close: () => database.close() };
};

const scoresOf = (postings: Postings, words: string[], isWanted: (id: number) => boolean = () => true): Record<string, number> => {
  const { ids, scores } = postings.score(words, isWanted);
  return Object.fromEntries([...ids].map((id, at) => [id, scores[at] as number]).sort());
};

test('the scores are as if only what is there now had ever been added, before and after it is saved', () => {
  const word = fc.stringMatching(/^z[ab]{1,2}$/);
  const step = fc.oneof(
    fc.record({ words: fc.array(word, { minLength: 1, maxLength: 5 }), isNegative: fc.boolean() }),
    fc.constant('remove' as const),
    fc.constant('save' as const),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), fc.uniqueArray(word, { minLength: 1, maxLength: 3 }), (steps, asked) => {
      const { blobs, close } = open();
      const postings = openPostings(blobs);
      const kept = new Map<number, SearchDocument>();
      for (const [at, step] of steps.entries()) {
        if (step === 'save') postings.save();
        else if (step === 'remove') {
          const [id, document] = [...kept][Math.floor(kept.size / 2)] ?? [];
          if (id === undefined || !document) continue;
          postings.remove(id, document);
          kept.delete(id);
        } else {
          const id = step.isNegative ? -at - 1 : at + 1;
          const document = documentOf({ name: step.words.join(' ') });
          postings.add(id, document);
          kept.set(id, document);
        }
      }
      const fresh = openPostings(open().blobs);
      for (const [id, document] of kept) fresh.add(id, document);
      const expected = scoresOf(fresh, asked);
      expect(Object.keys(expected)).toHaveLength(
        [...kept.values()].filter(({ name }) => asked.some((one) => name.split(' ').includes(one))).length,
      );
      expect(scoresOf(postings, asked)).toEqual(expected);
      expect(scoresOf(postings, asked, (id) => id > 0)).toEqual(
        Object.fromEntries(Object.entries(expected).filter(([id]) => Number(id) > 0)),
      );
      for (const [id, { name }] of kept) expect(postings.contains(asked[0] ?? '', id)).toBe(name.split(' ').includes(asked[0] ?? ''));
      postings.save();
      expect(scoresOf(openPostings(blobs), asked)).toEqual(expected);
      close();
    }),
    { numRuns: 60 },
  );
});

test('the postings hold what thousands of changes have left', () => {
  const { blobs, close } = open();
  const postings = openPostings(blobs);
  const document = (id: number) => documentOf({ description: `all n${id % 7}` });
  for (let id = 1; id <= 5_000; id++) postings.add(id, document(id));
  for (let id = 1; id <= 5_000; id += 2) postings.remove(id, document(id));
  const { ids } = postings.score(['n3'], () => true);
  expect([...ids].sort((a, b) => a - b)).toEqual(
    Array.from({ length: 5_000 }, (_, at) => at + 1).filter((id) => id % 2 === 0 && id % 7 === 3),
  );
  close();
});

test.each<[string, SearchDocument, SearchDocument, string[]]>([
  ['a word in the name before one in the description', documentOf({ name: 'pay' }), documentOf({ description: 'pay' }), ['pay']],
  ['a rarer word before a more frequent one', documentOf({ name: 'bill' }), documentOf({ name: 'other' }), ['bill', 'other']],
  ['a word in any of its forms', documentOf({ name: 'converting' }), documentOf({ name: 'other' }), ['converts']],
  [
    'a shorter text before a longer one',
    documentOf({ name: 'pay' }),
    documentOf({ name: 'pay', description: 'and much more to say' }),
    ['pay'],
  ],
  ['a repeated word before a single one', documentOf({ description: 'pay pay x' }), documentOf({ description: 'pay y x' }), ['pay']],
])('the score ranks %s', (_, better, worse, words) => {
  const { blobs, close } = open();
  const postings = openPostings(blobs);
  postings.add(1, worse);
  postings.add(2, better);
  for (let id = 3; id < 20; id++) postings.add(id, documentOf({ name: id < 9 ? 'other' : 'unlike' }));
  const scores = scoresOf(postings, words);
  expect(scores[2]).toBeGreaterThan(scores[1] ?? 0);
  close();
});
