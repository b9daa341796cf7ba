import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { readTerms } from '../../console/app/policy-terms.ts';
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
    needsApproval: false,
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
  ['prices-that-are-billed', '0.05 EUR a call and 9.5 EUR every month', false],
  ['large-refunds-need-a-person', undefined, false],
])('terms contain the price, and whether a person must approve: %s', (file, price, needsApproval) => {
  expect(termsUnder(`samples/policies/${file}.json`)({ intentUid: 'shop.example:get-order:v1' })).toMatchObject({ price, needsApproval });
});
