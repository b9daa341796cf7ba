import { expect, test } from '@jest/globals';
import { listedTags, questionWords } from '../../../../functions/core/search/query.ts';

test.each([
  ['drops stop words', 'What is the weather in Oslo?', ['weather', 'oslo']],
  ['keeps stop words if there is nothing else', 'who is it', ['who', 'is', 'it']],
  ['says each word once', 'pets, Pets and PETS', ['pets']],
])('questionWords %s', (_, question, words) => {
  expect(questionWords(question)).toEqual(words);
});

test('listedTags folds, and leaves out what is empty or said twice', () => {
  expect(listedTags(' Money,travel ,, MONEY,')).toEqual(['money', 'travel']);
});
