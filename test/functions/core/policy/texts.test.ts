import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { signableTexts } from '../../../../functions/core/policy/canonical.ts';
import { describeChanges, describePolicy } from '../../../../functions/core/policy/describe.ts';
import { loadPolicyTemplate, openPolicy, parseBilling } from '../../../../functions/core/policy/policy.ts';
import { PolicyError } from '../../../../functions/core/policy/reading.ts';
import { fillTemplate, parsePolicyTemplate } from '../../../../functions/core/policy/template.ts';
import { odrlContext, type Policy } from '../../../../schemas/policy.ts';

const baseUrl = 'https://gate.example';
const shipped = () => fillTemplate(loadPolicyTemplate(), baseUrl);

test('the shipped policy grants every intent 60 times a minute', () => {
  const { policy, text, digest, reference, grants } = openPolicy(loadPolicyTemplate())(baseUrl);
  expect(grants).toMatchObject({ scope: ['*:*:*:execute'], prohibited: [], lmt: { rate: 60, period: 60 } });
  expect(JSON.parse(text)).toEqual(policy);
  expect(text).not.toContain('{base_url}');
  expect(reference).toBe(`${baseUrl}/api/policy#sha-256=${digest}`);
  expect(digest).toMatch(/^[A-Za-z0-9_-]{43}$/);
});

test('an address has its own policy, which is made once', () => {
  const findPolicy = openPolicy(loadPolicyTemplate());
  expect(findPolicy('https://a.example')).toBe(findPolicy('https://a.example'));
  expect(findPolicy('https://a.example').reference).not.toBe(findPolicy('https://b.example').reference);
  // an address is text, not a pattern
  expect(findPolicy('https://$&.example').policy.uid).toBe('https://$&.example/api/policy');
});

test('billing comes from a setting', () => {
  expect(parseBilling(undefined)).toBeUndefined();
  expect(parseBilling('{"method":"wallet","id":"w1"}')).toEqual({ method: 'wallet', id: 'w1' });
});

test.each([
  ['text that is no JSON', '{', expect.stringMatching(/must be JSON/)],
  [
    'an unknown member',
    JSON.stringify({ '@context': odrlContext, uid: 'urn:x', type: 'Set', more: 1 }),
    expect.stringMatching('/more is not a known member'),
  ],
  [
    'a type that is none',
    JSON.stringify({ '@context': odrlContext, uid: 'urn:x', type: 'Wish' }),
    expect.stringMatching('/type must be one of'),
  ],
  [
    'two lists of prohibitions',
    `{"@context":"${odrlContext}","uid":"urn:x","type":"Set","permission":[{"target":"a:b","action":"c","action":"d"}]}`,
    expect.stringMatching('/permission/0 must not hold two members of one name in one object'),
  ],
])('a policy file of %s is refused with its place', (_, text, message) => {
  expect(() => parsePolicyTemplate(text)).toThrow(PolicyError);
  expect(() => parsePolicyTemplate(text)).toThrow(expect.objectContaining({ message }));
});

test('every mistake in a policy file is named at once, of whatever kind', () => {
  const intents = '{base_url}/api/intents';
  const text = JSON.stringify({
    '@context': odrlContext,
    uid: '{base_url}/#fragment',
    type: 'Wish',
    more: 1,
    permission: [
      {
        target: intents,
        action: 'execute',
        constraint: [
          { leftOperand: `${intents}/parameters/amount`, operator: 'like', rightOperand: 5 },
          { leftOperand: 'v:moon', operator: 'lt', rightOperand: 3 },
          { leftOperand: 'v:rateLimit', operator: 'lte', rightOperand: -3, unit: 'v:fortnight' },
          { or: [] },
          { leftOperand: `${intents}/parameters/to`, operator: 'lt', rightOperand: 'z\u200b' },
        ],
        duty: [
          { action: 'pay', amount: { price: -1, budget: 10 }, unit: 'v:XYZ', timeInterval: 'P1W' },
          { action: 'attribute', amount: [] },
        ],
      },
      'everything',
      { target: 'nowhere', action: 'execute', constraint: [{ leftOperand: 'nowhere/parameters/x', operator: 'lt', rightOperand: 'y' }] },
    ],
    prohibition: [{ target: intents, action: 'exceedRateLimit' }],
    obligation: [{ action: 'pray' }, { action: 'observeRateLimit', constraint: [{ operator: 'lte' }] }],
  }).replace('"more":1', '"more":{"a":1,"a":2}');
  const refusal = (() => {
    try {
      parsePolicyTemplate(text);
    } catch (error) {
      return error;
    }
    return undefined;
  })();
  expect(refusal).toBeInstanceOf(PolicyError);
  expect((refusal as PolicyError).issues.map(({ path }) => path).sort()).toEqual([
    '/more',
    '/more',
    '/obligation/0/action',
    '/obligation/1/constraint/0/leftOperand',
    '/obligation/1/constraint/0/rightOperand',
    '/permission/0/constraint/0/operator',
    '/permission/0/constraint/1/leftOperand',
    '/permission/0/constraint/2/rightOperand',
    '/permission/0/constraint/2/unit',
    '/permission/0/constraint/3/leftOperand',
    '/permission/0/constraint/3/operator',
    '/permission/0/constraint/3/or',
    '/permission/0/constraint/3/rightOperand',
    '/permission/0/constraint/4/rightOperand',
    '/permission/0/duty/0/amount/price',
    '/permission/0/duty/0/timeInterval',
    '/permission/0/duty/0/unit',
    '/permission/0/duty/1/action',
    '/permission/0/duty/1/amount',
    '/permission/0/duty/1/unit',
    '/permission/1',
    '/permission/2/constraint/0/leftOperand',
    '/permission/2/constraint/0/rightOperand',
    '/permission/2/target',
    '/type',
    '/uid',
  ]);
});

test('a policy file is read or refused, whatever stands anywhere in it', () => {
  const valid = JSON.stringify(loadPolicyTemplate());
  const values = valid.match(/"[^"]*"(?!:)|\d+|\{[^{}]*\}|\[[^[\]]*\]/g) ?? [];
  fc.assert(
    fc.property(fc.constantFrom(...values), fc.json({ maxDepth: 3 }), (value, other) => {
      const text = valid.replace(value, () => other);
      try {
        describePolicy(fillTemplate(parsePolicyTemplate(text), baseUrl), baseUrl);
      } catch (error) {
        expect(error).toBeInstanceOf(PolicyError);
      }
    }),
    { numRuns: 1_000 },
  );
});

test('the texts that agents sign', () => {
  const texts = signableTexts({ b: [1, { ü: '😀"' }], a: {}, c: [] });
  expect(texts.slice(0, 3)).toEqual([
    '{"b":[1,{"ü":"😀\\""}],"a":{},"c":[]}',
    '{"a":{},"b":[1,{"ü":"😀\\""}],"c":[]}',
    '{"b": [1, {"ü": "😀\\""}], "a": {}, "c": []}',
  ]);
  expect(texts).toContain('{"a": {}, "b": [1, {"\\u00fc": "\\ud83d\\ude00\\""}], "c": []}');
  // six layouts, in two orders, with and without characters beyond ASCII
  expect(texts).toHaveLength(24);
});

/** Awkward numbers and names. */
const awkward = {
  numbers: [0.00005, 1e-7, 1.5e-9, -2.5e-5, 1.25e-100, 0.0001, 0.1, 5e-324, 0, -1, 60, 1e15, 1e16, 1e20, 1e21, 1.5e300, 2 ** 53],
  'é\u007f\u2028"\\\t': '\u0000\u001f\ud83d\ude00 / \u20ac',
  '\uff5e': 1,
  '\ud83d\ude00': [{}, [], null, true],
  a: { b: 1, B: 2 },
};

test('the texts are those that json.dumps of Python writes', async () => {
  const program = [
    'import itertools, json, sys',
    'policy = json.loads(sys.argv[1])',
    'layouts = [{"separators": pair} for pair in itertools.product([",", ", "], [":", ": "])] + [{}, {"indent": 2}, {"indent": 4}]',
    'for layout, keys, ascii in itertools.product(layouts, [False, True], [True, False]):',
    '    print(json.dumps(json.dumps(policy, sort_keys=keys, ensure_ascii=ascii, **layout)))',
  ].join('\n');
  const output = await promisify(execFile)('python3', ['-c', program, JSON.stringify(awkward)]).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    console.warn('Not compared with Python, which is not installed.');
    return undefined;
  });
  const dumped =
    output?.stdout
      .trim()
      .split('\n')
      .map((line): unknown => JSON.parse(line)) ?? [];
  expect(dumped).toHaveLength(output ? 28 : 0);
  expect(signableTexts(awkward)).toEqual(expect.arrayContaining(dumped));
});

describe('in plain sentences', () => {
  const change = (edit: (policy: Policy) => void): Policy => {
    const copy = structuredClone(shipped());
    edit(copy);
    return copy;
  };
  const richer = change((policy) => {
    policy.type = 'Offer';
    policy.profile = 'urn:profile';
    policy.permission = [
      {
        target: `${baseUrl}/api/intents?namespace=a.example`,
        action: 'execute',
        constraint: [{ leftOperand: 'v:rateLimit', operator: 'lte', rightOperand: 1, unit: 'v:day' }],
      },
      {
        target: `${baseUrl}/api/intents/b.example:x:v1`,
        action: 'execute',
        duty: [
          { action: 'pay', amount: 2, unit: 'v:USD' },
          { action: 'pay', amount: 9.5, unit: 'v:EUR', timeInterval: 'P1M' },
        ],
      },
    ];
    policy.prohibition = [
      { target: `${baseUrl}/api/intents/a.example:x:v1`, action: 'execute' },
      {
        target: `${baseUrl}/api/intents`,
        action: 'execute',
        constraint: [{ leftOperand: 'v:rateLimit', operator: 'gt', rightOperand: 9, unit: 'v:week' }],
      },
    ];
    policy.obligation = [];
  });

  test('a policy', () => {
    expect(describePolicy(shipped(), baseUrl)).toEqual([
      'This is the policy https://gate.example/api/policy (Set).',
      'You may execute every intent, at most 60 times a minute.',
      'You must not exceed the rate limit.',
      'You must sign the policy with the key that you present as agent_public_key.',
    ]);
    expect(describePolicy(richer, baseUrl)).toEqual([
      'This is the policy https://gate.example/api/policy (Offer, profile urn:profile).',
      'You may execute every intent of the namespace a.example, at most 1 time a day.',
      'You may execute the intent b.example:x:v1, for 2 USD each time, for 9.5 EUR every month.',
      'You must not execute the intent a.example:x:v1, whatever else is permitted.',
      'You may execute intents at most 9 times a week.',
      'You must not exceed the rate limit.',
    ]);
  });

  test.each([
    ['P1D', 'day'],
    ['P90D', '90 days'],
    ['PT30M', '30 minutes'],
    ['P1Y', 'year'],
    ['P1DT12H', '1 day and 12 hours'],
  ])('a price for %s', (timeInterval, words) => {
    const priced = change((policy) => {
      policy.permission = [
        { target: `${baseUrl}/api/intents`, action: 'execute', duty: [{ action: 'pay', amount: 1, unit: 'v:EUR', timeInterval }] },
      ];
      policy.prohibition = [];
    });
    expect(describePolicy(priced, baseUrl)[1]).toBe(`You may execute every intent, for 1 EUR every ${words}.`);
  });

  test('what has changed', () => {
    const tighter = change(({ permission: [first] = [] }) => {
      if (first?.constraint?.[0]) first.constraint[0].rightOperand = 30;
    });
    expect(describeChanges(shipped(), tighter, baseUrl)).toEqual([
      'No longer: You may execute every intent, at most 60 times a minute.',
      'New: You may execute every intent, at most 30 times a minute.',
    ]);
    expect(describeChanges(shipped(), shipped(), baseUrl)).toEqual([]);
    const reworded = change(({ obligation: [first] = [] }) => {
      if (first?.constraint?.[0]) first.constraint[0].operator = 'use';
    });
    expect(describeChanges(shipped(), reworded, baseUrl)).toEqual(['The wording has changed; what it grants and asks has not.']);
  });

  test('conditions, counts and budgets', () => {
    const target = `${baseUrl}/api/intents/b.example:x:v1`;
    const zone = 'v:zone#Europe/Berlin';
    const written = change((policy) => {
      policy.permission = [
        {
          target,
          action: 'execute',
          constraint: [
            { leftOperand: `${target}/parameters/amount`, operator: 'gte', rightOperand: 1 },
            { leftOperand: `${target}/parameters/unit%20price`, operator: 'within', rightOperand: ['low', 'high'] },
            { leftOperand: `${target}/parameters/day`, operator: 'lte', rightOperand: '2026-12-31' },
            { leftOperand: 'v:dateTime', operator: 'gte', rightOperand: '2026-01-01T00:00:00Z' },
            { leftOperand: 'v:timeOfDay', operator: 'lt', rightOperand: '17:00', unit: zone },
            { leftOperand: 'v:dayOfWeek', operator: 'neq', rightOperand: 'sunday' },
            { leftOperand: 'v:count', operator: 'lte', rightOperand: 1000 },
          ],
          duty: [{ action: 'pay', amount: { price: 0.5, budget: 20 }, unit: 'v:EUR', timeInterval: 'P1M' }],
        },
      ];
      policy.prohibition = [];
      policy.obligation = [
        {
          action: 'observeRateLimit',
          target: `${baseUrl}/api/intents?namespace=b.example`,
          constraint: [{ leftOperand: 'v:rateLimit', operator: 'lte', rightOperand: 7, unit: 'v:hour' }],
        },
        { action: 'sign', target: policy.uid },
        { action: 'signPayload', target: 'https://terms.example/', assignee: 'urn:agent' },
      ];
    });
    expect(describePolicy(written, baseUrl).slice(1)).toEqual([
      'You may execute the intent b.example:x:v1 if parameter amount is at least 1 and parameter unit price is one of "low", "high" and parameter day is not after 2026-12-31 and the date is not before 2026-01-01T00:00:00Z and the time of day (Europe/Berlin) is before 17:00 and the day of the week (UTC) is not sunday, at most 1000 times in all, for 0.5 EUR each time, at most 20 EUR in any month.',
      'You may execute intents of the namespace b.example at most 7 times an hour.',
      'You must sign the policy with the key that you present as agent_public_key.',
      'You must sign https://terms.example/ with the key that you present as agent_public_key (assignee: urn:agent).',
    ]);
  });

  test('what is paid for, and from which budget', () => {
    const pay = (more: object) => ({ action: 'pay', unit: 'v:EUR', ...more });
    const permission = (duty: NonNullable<Policy['permission']>[number]['duty']) => [
      { target: `${baseUrl}/api/intents`, action: 'execute', duty },
    ];
    const sentenceOf = (...duty: ReturnType<typeof pay>[]) =>
      describePolicy(
        change((policy) => Object.assign(policy, { permission: permission(duty), prohibition: [] })),
        baseUrl,
      )[1];
    expect(sentenceOf(pay({ amount: 0.005, target: 'https://shop.example/report' }))).toBe(
      'You may execute every intent, for 0.005 EUR each time (target: https://shop.example/report).',
    );
    const shared = pay({ amount: { price: 1, budget: 5 }, timeInterval: 'P1D', target: `${baseUrl}/budgets/daily` });
    expect(sentenceOf(shared)).toBe('You may execute every intent, for 1 EUR each time, at most 5 EUR in any day out of the budget daily.');
  });
});
