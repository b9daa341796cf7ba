import { expect, test } from '@jest/globals';
import { listedTags, questionWords, respell } from '../../../../functions/core/search/query.ts';

test.each([
  ['drops stop words', 'What is the weather in Oslo?', ['weather', 'oslo']],
  ['keeps stop words if there is nothing else', 'who is it', ['who', 'is', 'it']],
  ['says each word once', 'pets, Pets and PETS', ['pets']],
])('questionWords %s', (_, question, words) => {
  expect(questionWords(question)).toEqual(words);
});

test.each([
  ['a word in two', ['timezone', 'france'], ['timezone', 'time', 'zone', 'france']],
  ['two words in one', ['web', 'hook'], ['web', 'webhook', 'hook']],
  ['no word that is known', ['webhook', 'zone'], ['webhook', 'zone']],
  ['no word of short parts, and none of stop words', ['appzone', 'withzone'], ['appzone', 'withzone']],
  ['no word that is very long', ['zone'.repeat(11)], ['zone'.repeat(11)]],
])('respell spells %s', (_, words, spellings) => {
  const known = ['time', 'zone', 'webhook', 'app', 'with', 'zone'.repeat(9)];
  expect(respell(words, (word) => known.includes(word))).toEqual(spellings);
});

test('listedTags folds, and leaves out what is empty or said twice', () => {
  expect(listedTags(' Money,travel ,, MONEY,')).toEqual(['money', 'travel']);
});
