import { describe, expect, test } from '@jest/globals';
import { canonicalText, describeChanges, describePolicy } from '../../client/policy-words.ts';
import type { Policy, Rule } from '../../client/types.ts';

const base = 'https://gate.example';
const vocabulary = `${base}/vocabulary`;
const intents = `${base}/api/intents`;
const policyOf = (rules: Partial<Record<'permission' | 'prohibition' | 'obligation', Rule[]>>): Policy => ({
  uid: `${base}/api/policy`,
  type: 'Set',
  ...rules,
});
const rate = (operator: string, rightOperand: unknown, unit = 'minute') => ({
  leftOperand: `${vocabulary}/rateLimit`,
  operator,
  rightOperand,
  unit: `${vocabulary}/${unit}`,
});

test.each<[Policy, string]>([
  [policyOf({ permission: [{ action: 'execute', target: intents }] }), 'You may execute every intent.'],
  [
    policyOf({ permission: [{ action: 'execute', target: `${intents}/a.example:b:v1`, constraint: [rate('lte', 1, 'day')] }] }),
    'You may execute the intent a.example:b:v1, at most 1 time a day.',
  ],
  [
    policyOf({
      permission: [
        {
          action: 'http://www.w3.org/ns/odrl/2/execute',
          target: `${intents}?namespace=a.example`,
          duty: [{ action: 'pay', amount: 0.5, unit: 'https://currency.example/EUR' }],
        },
      ],
    }),
    'You may execute every intent of the namespace a.example, on the condition that you pay 0.5 EUR each time.',
  ],
  [
    policyOf({
      permission: [
        {
          action: 'execute',
          target: intents,
          duty: [{ action: 'pay', amount: { value: 2 }, timeInterval: 'P1M', target: 'https://bank.example' }],
        },
      ],
    }),
    'You may execute every intent, on the condition that you pay {"value":2} to https://bank.example every P1M.',
  ],
  [policyOf({ prohibition: [{ action: 'exceedRateLimit', target: intents }] }), 'You must not exceed the rate limit for every intent.'],
  [
    policyOf({ prohibition: [{ action: 'execute', target: intents, constraint: [rate('gt', 5, 'hour')] }] }),
    'You must not execute every intent, more than 5 times an hour.',
  ],
  [
    policyOf({ obligation: [{ action: 'attribute', assignee: 'https://you.example' }] }),
    'You (if you are https://you.example) must attribute.',
  ],
  [
    policyOf({
      permission: [
        {
          action: 'execute',
          target: 'https://else.example/x',
          constraint: [{ leftOperand: 'odrl:purpose', operator: 'eq', rightOperand: 'research' }],
        },
      ],
    }),
    'You may execute https://else.example/x, where purpose is research.',
  ],
  [
    policyOf({
      permission: [
        {
          action: 'execute',
          target: intents,
          constraint: [{ leftOperand: 'odrl:count', operator: 'within', rightOperand: [1, 2], unit: 'x:calls' }],
        },
      ],
    }),
    'You may execute every intent, where count within [1,2] calls.',
  ],
])('%j', (policy, sentence) => {
  expect(describePolicy(policy, base)).toEqual([sentence]);
});

describe('changes', () => {
  const before = policyOf({ permission: [{ action: 'execute', target: intents, constraint: [rate('lte', 60)] }] });

  test('are what is gone and what is new', () => {
    const after = policyOf({ permission: [{ action: 'execute', target: intents, constraint: [rate('lte', 30)] }] });
    expect(describeChanges(before, after, base)).toEqual([
      'No longer: You may execute every intent, at most 60 times a minute.',
      'New: You may execute every intent, at most 30 times a minute.',
    ]);
  });

  test('are none where the same is said', () => {
    expect(describeChanges(before, structuredClone(before), base)).toEqual([]);
  });
});

test('the order of members does not matter to the canonical text, all else does', () => {
  expect(canonicalText({ b: [{ y: 1, x: null }], a: 'é' })).toBe('{"a":"é","b":[{"x":null,"y":1}]}');
  expect(canonicalText([1, 2])).not.toBe(canonicalText([2, 1]));
});
