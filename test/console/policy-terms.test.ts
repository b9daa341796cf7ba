import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { nameMoney, readTerms } from '../../console/app/policy-terms.ts';
import { namePeriod } from '../../functions/core/policy/durations.ts';
import { parsePolicyTemplate } from '../../functions/core/policy/template.ts';
import { openPolicy } from '../support/policy.ts';

const termsUnder = (file: string) => {
  const { policy } = openPolicy(parsePolicyTemplate(readFileSync(file, 'utf8')))('https://gate.example');
  return readTerms(policy, 'https://gate.example');
};

test('an intent may be open to everyone, or prohibited', () => {
  const termsOf = termsUnder('bin/local/policy.json');
  expect(termsOf({ intentUid: 'a.example:b:v1' })).toEqual({
    access: 'open',
    sentences: ['You may execute every intent, at most 60 times a minute.'],
    price: undefined,
    approval: undefined,
  });
  expect(termsOf({ intentUid: 'world.example:export-countries:v1' })).toMatchObject({ access: 'prohibited' });
});

test('an intent that nothing permits is not permitted', () => {
  expect(termsUnder('samples/policies/office-hours.json')({ intentUid: 'nowhere.example:b:v1' })).toMatchObject({
    access: expect.not.stringMatching('^open$'),
  });
});

test('a policy that the page does not understand yields no terms', () => {
  const policy = JSON.parse(readFileSync('policy.json', 'utf8'));
  expect(
    readTerms(
      { ...policy, permission: [{ target: 'https://other.example', action: 'fly' }] },
      'https://gate.example',
    )({ intentUid: 'a.example:b:v1' }),
  ).toBe(undefined);
});

test.each([
  ['prices-that-are-billed', 'shop.example:get-order:v1', '€0.05 per call and €9.50 per month', undefined],
  ['large-refunds-need-a-person', 'shop.example:get-order:v1', undefined, undefined],
  ['large-refunds-need-a-person', 'payments.example:refund:v1', undefined, 'conditional'],
])('terms contain the price, and whether a person must approve: %s, %s', (file, intentUid, price, approval) => {
  expect(termsUnder(`samples/policies/${file}.json`)({ intentUid })).toMatchObject({ price, approval });
});

const target = 'https://gate.example/api/intents';
const amount = { leftOperand: `${target}/a.example:b:v1/parameters/amount`, operator: 'gt', rightOperand: 500 };

test.each([
  ['one of two permissions', [{}, { duty: [{ action: 'approve' }] }], 'always'],
  ['the only permission, under a condition', [{ constraint: [amount], duty: [{ action: 'approve' }] }], 'always'],
  ['one of two permissions, under a condition', [{}, { constraint: [amount], duty: [{ action: 'approve' }] }], 'conditional'],
])('a call needs approval if any rule that covers it asks for one: %s', (_, permission, approval) => {
  const policy = JSON.parse(readFileSync('policy.json', 'utf8'));
  const own = permission.map((one) => ({ target, action: 'execute', ...one }));
  const termsOf = readTerms({ ...policy, permission: own, prohibition: [] }, 'https://gate.example');
  expect(termsOf({ intentUid: 'a.example:b:v1' })).toMatchObject({ approval });
});

test.each([
  [60, 'minute'],
  [90, '90 seconds'],
  [3_600, 'hour'],
  [1_209_600, '14 days'],
  [2_678_400, '31 days'],
])('periods read as people say them: %d s is %s', (seconds, words) => {
  expect(namePeriod(seconds)).toBe(words);
});

test.each([
  [10, 'EUR', '€10'],
  [0.5, 'USD', '$0.50'],
  [0.005, 'EUR', '€0.005'],
  [1_200, 'JPY', '¥1,200'],
])('amounts have the symbol of their currency: %d %s', (amount, currency, words) => {
  expect(nameMoney(amount, currency)).toBe(words);
});
