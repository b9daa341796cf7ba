import { describe, expect, test } from '@jest/globals';
import { matchEvery } from '../../../../../functions/core/search/sqlite/match.ts';

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
