import { describe, expect, test } from '@jest/globals';
import { listedTags, matchAny, matchEvery, questionWords } from '../../../../functions/core/search/query.ts';

test.each([
  ['drops stop words', 'What is the weather in Oslo?', ['weather', 'oslo']],
  ['keeps stop words where there is nothing else', 'who is it', ['who', 'is', 'it']],
  ['says each word once', 'pets, Pets and PETS', ['pets']],
  ['splits names', 'listOpenOrders', ['list', 'open', 'orders', 'listopenorders']],
  ['has no words for marks alone', '"*" ?', []],
  ['takes operators for words', 'cats NEAR dogs NOT fish', ['cats', 'near', 'dogs', 'not', 'fish']],
])('questionWords %s', (_, question, words) => {
  expect(questionWords(question)).toEqual(words);
});

test('matchAny quotes every word', () => {
  expect(matchAny(['near', 'weather'])).toBe('"near" OR "weather"');
});

describe('matchEvery', () => {
  test.each([
    ['no words', '-- ?', undefined],
    ['one word', 'Pay', 'intent_name : ("pay" *)'],
    ['several', 'pay the_bill pay', 'intent_name : ("pay" * AND "the" * AND "bill" *)'],
    ['camelCase', 'payBill', 'intent_name : (("paybill" * OR ("pay" * AND "bill" *)))'],
    ['syntax', 'pay* NOT "x" description:y', 'intent_name : ("pay" * AND "not" * AND "x" * AND "description" * AND "y" *)'],
  ])('%s', (_, text, expression) => {
    expect(matchEvery('intent_name', text)).toBe(expression);
  });
});

test('listedTags folds, and leaves out what is empty or said twice', () => {
  expect(listedTags(' Money,travel ,, MONEY,')).toEqual(['money', 'travel']);
});
