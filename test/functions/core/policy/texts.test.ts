import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { signableTexts } from '../../../../functions/core/pat/signed-policy.ts';
import { PolicyError } from '../../../../functions/core/policy/reading.ts';
import { comparePolicies, describePolicy } from '../../../../functions/core/policy/sentences.ts';
import { fillTemplate, parsePolicyTemplate } from '../../../../functions/core/policy/template.ts';
import { type Constraint, type Duty, odrlContext, type Policy } from '../../../../schemas/policy.ts';
import { loadPolicyTemplate, openPolicy } from '../../../support/policy.ts';
import { execute, issuesIn, policyOf, when } from './policies.ts';

const baseUrl = 'https://gate.example';
const shipped = () => fillTemplate(loadPolicyTemplate(), baseUrl);
const issuesOf = (text: string) => issuesIn(() => parsePolicyTemplate(text));

test('the shipped policy grants every intent 60 times a minute', () => {
  const { policy, text, digest, reference, compiled } = openPolicy()(baseUrl);
  expect(compiled).toMatchObject({ scope: ['*:*:*:execute'], prohibited: [], lmt: { rate: 60, period: 60 } });
  expect(JSON.parse(text)).toEqual(policy);
  expect(text).not.toContain('{base_url}');
  expect(reference).toBe(`${baseUrl}/api/policy#sha-256=${digest}`);
  expect(digest).toMatch(/^[A-Za-z0-9_-]{43}$/);
});

test('each address has its own policy, which is built once', () => {
  const findPolicy = openPolicy();
  expect(findPolicy('https://a.example')).toBe(findPolicy('https://a.example'));
  expect(findPolicy('https://a.example').digest).not.toBe(findPolicy('https://b.example').digest);
  // an address is text, not a pattern
  expect(findPolicy('https://$&.example').policy.uid).toBe('https://$&.example/api/policy');
});

const edited = (members: object) => JSON.stringify({ ...loadPolicyTemplate(), ...members });
const hiddenCharacter = (codePoint: string, at: number) =>
  `must not contain the invisible or control character ${codePoint} (character ${at})`;
const exact = 'must be a number that IEEE 754 double precision holds exactly; write it with fewer digits';

test.each<[string, string, object[]]>([
  [
    'text with more brackets than the stack has room for',
    '['.repeat(100_000) + ']'.repeat(100_000),
    [{ path: '', problem: 'must not be nested more than 32 levels deep' }],
  ],
  ['text that is no JSON', '{', [{ path: '', problem: expect.stringMatching(/^must be JSON: /) }]],
  ['an unknown member', edited({ more: 1 }), [{ path: '/more', problem: 'is not a known member; remove it' }]],
  ['another type', edited({ type: 'Wish' }), [{ path: '/type', problem: 'must be one of "Set", "Offer", "Agreement"' }]],
  [
    'two members of one name',
    edited({ permission: [] }).replace('"permission":[', '"permission":[{"target":"a:b","action":"execute","action":"d"}'),
    [{ path: '/permission/0', problem: 'must not contain two members with the same name in one object' }],
  ],
  [
    'hidden characters',
    edited({ uid: '{base_url}/\u001b[8m', profile: 'urn:a\u202eb' }),
    [
      { path: '/uid', problem: hiddenCharacter('U+001B', 12) },
      { path: '/profile', problem: hiddenCharacter('U+202E', 6) },
    ],
  ],
  ...['9007199254740993', '1e-400'].map((number): [string, string, object[]] => [
    'a number that would be rounded',
    edited({ more: 0 }).replace('"more":0', `"more":${number}`),
    [
      { path: '/more', problem: exact },
      { path: '/more', problem: 'is not a known member; remove it' },
    ],
  ]),
])('a policy file with %s is refused with the place of the mistake', (_, text, issues) => {
  expect(issuesOf(text)).toEqual(issues);
});

test.each(['9007199254740992', '1.10', '1e3'])('%s is not rounded', (number) => {
  expect(issuesOf(edited({ more: 0 }).replace('"more":0', `"more":${number}`))).toEqual([expect.not.objectContaining({ problem: exact })]);
});

test('all kinds of mistakes in a policy file are reported together', () => {
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
        constraint: [{ leftOperand: 'v:moon', operator: 'lt', rightOperand: 3 }, { or: [] }],
        duty: [{ action: 'pay', amount: { price: -1, budget: 10 }, unit: 'v:XYZ', timeInterval: 'P1W' }],
      },
      'everything',
      { target: 'nowhere', action: 'execute', constraint: [{ leftOperand: 'nowhere/parameters/x', operator: 'lt', rightOperand: 'y' }] },
    ],
    prohibition: [{ target: intents, action: 'exceedRateLimit' }],
    obligation: [{ action: 'pray' }],
  }).replace('"more":1', '"more":{"a":1,"a":2}');
  const inFirst = [
    'constraint/0/leftOperand',
    'constraint/1/leftOperand',
    'constraint/1/operator',
    'constraint/1/or',
    'constraint/1/rightOperand',
  ];
  const ofDuty = ['duty/0/amount/price', 'duty/0/timeInterval', 'duty/0/unit'];
  const paths = issuesOf(text).map(({ path }) => path);
  expect(paths.sort()).toEqual([
    ...['/more', '/more', '/obligation/0/action'],
    ...[...inFirst, ...ofDuty].map((path) => `/permission/0/${path}`),
    ...['/permission/1', '/permission/2/constraint/0/leftOperand', '/permission/2/constraint/0/rightOperand', '/permission/2/target'],
    ...['/type', '/uid'],
  ]);
});

test('any policy file is either read or refused with issues', () => {
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

test('agents may sign the policy in six layouts, in two orders, with and without escapes', () => {
  const texts = signableTexts({ b: [1, { ü: '😀"' }], a: {}, c: [] });
  expect(texts.slice(0, 3)).toEqual([
    '{"b":[1,{"ü":"😀\\""}],"a":{},"c":[]}',
    '{"a":{},"b":[1,{"ü":"😀\\""}],"c":[]}',
    '{"b": [1, {"ü": "😀\\""}], "a": {}, "c": []}',
  ]);
  expect(texts).toContain('{"a": {}, "b": [1, {"\\u00fc": "\\ud83d\\ude00\\""}], "c": []}');
  // six layouts, in two orders, with and without escapes of non-ASCII characters
  expect(texts).toHaveLength(24);
});

const awkward = {
  numbers: [0.00005, 1e-7, 1.5e-9, -2.5e-5, 1.25e-100, 0.0001, 0.1, 5e-324, 0, -1, 60, 1e15, 1e16, 1e20, 1e21, 1.5e300, 2 ** 53],
  'é\u007f\u2028"\\\t': '\u0000\u001f\ud83d\ude00 / \u20ac',
  '\uff5e': 1,
  '\ud83d\ude00': [{}, [], null, true],
  a: { b: 1, B: 2 },
};

test('the texts include those that json.dumps of Python writes', async () => {
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

describe('plain sentences', () => {
  const intents = `${baseUrl}/api/intents`;
  const target = `${intents}/b.example:x:v1`;
  const rate = (rightOperand: number, unit: string, operator = 'lte') => when('v:rateLimit', operator, rightOperand, unit);
  const pay = (amount: Duty['amount'], more: Partial<Duty> = {}): Duty => ({ action: 'pay', amount, unit: 'v:EUR', ...more });
  const sentencesOf = (members: Partial<Policy>) => describePolicy(policyOf(baseUrl, members), baseUrl);

  test('plain sentences state a policy', () => {
    expect(describePolicy(shipped(), baseUrl)).toEqual([
      'You may execute every intent, at most 60 times a minute.',
      "Sign this policy with your agent's key before the first call.",
    ]);
    const other = policyOf(baseUrl, {
      type: 'Offer',
      profile: 'urn:profile',
      permission: [
        execute(`${intents}?namespace=a.example`, [rate(1, 'v:day')]),
        execute(target, [], [pay(2, { unit: 'v:USD' }), pay(9.5, { timeInterval: 'P1M' })]),
      ],
      prohibition: [execute(`${intents}/a.example:x:v1`), execute(intents, [rate(9, 'v:week', 'gt')])],
    });
    expect(describePolicy(other, baseUrl)).toEqual([
      'You may execute every intent of the namespace a.example, at most 1 time a day.',
      'You may execute the intent b.example:x:v1, for 2 USD each time, for 9.5 EUR every month.',
      'You must not execute the intent a.example:x:v1, whatever else is permitted.',
      'You must not execute intents more than 9 times a week.',
    ]);
  });

  test.each<[Duty, string]>([
    [pay(1, { timeInterval: 'P90D' }), 'for 1 EUR every 90 days'],
    [pay(1, { timeInterval: 'P1Y' }), 'for 1 EUR every year'],
    [pay(1, { timeInterval: 'P1DT12H' }), 'for 1 EUR every 1 day and 12 hours'],
    [pay(0.005, { target: 'https://shop.example/report' }), 'for 0.005 EUR each time (target: https://shop.example/report)'],
    [
      pay({ price: 1, budget: 5 }, { timeInterval: 'P1D', target: `${baseUrl}/budgets/daily` }),
      'for 1 EUR each time, at most 5 EUR per day from the budget daily',
    ],
  ])('plain sentences state a price: %j', (duty, words) => {
    expect(sentencesOf({ permission: [execute(intents, [], [duty])] })).toEqual([`You may execute every intent, ${words}.`]);
  });

  test('plain sentences state what has changed', () => {
    const withFirst = (list: 'permission' | 'obligation', change: Partial<Constraint>): Policy => {
      const copy = structuredClone(shipped());
      Object.assign(copy[list]?.[0]?.constraint?.[0] ?? {}, change);
      return copy;
    };
    expect(comparePolicies(shipped(), withFirst('permission', { rightOperand: 30 }), baseUrl)).toEqual([
      'Removed: You may execute every intent, at most 60 times a minute.',
      'Added: You may execute every intent, at most 30 times a minute.',
    ]);
    expect(comparePolicies(shipped(), shipped(), baseUrl)).toEqual([]);
    expect(comparePolicies(shipped(), withFirst('obligation', { operator: 'use' }), baseUrl)).toEqual([
      'Only the wording has changed, not what the policy grants or requires.',
    ]);
  });

  test.each([
    ['lt', '2031-01-01', 'is before 2031-01-01T00:00:00Z'],
    ['lte', '2031-01-01', 'is not after 2031-01-01T00:00:00Z'],
    ['gte', '2031-01-01Z', 'is not before 2031-01-01T00:00:00Z'],
    ['gt', '2031-01-01+02:00', 'is after 2031-01-01T00:00:00+02:00'],
  ] as const)('plain sentences name the start of a day: %s %s', (operator, day, words) => {
    expect(sentencesOf({ permission: [execute(intents, [when('v:dateTime', operator, day)])] })).toEqual([
      `You may execute every intent if the date ${words}.`,
    ]);
  });

  test('plain sentences of a permission of every intent name the one that a condition is about', () => {
    const of = (slug: string) => `${intents}/b.example:${slug}:v1/parameters/amount`;
    const conditions = [when('v:method', 'eq', 'GET'), when(of('x'), 'lt', 5), when(of('x'), 'gt', 1), when(of('y'), 'eq', 'all')];
    expect(sentencesOf({ permission: [execute(intents, conditions)], prohibition: [execute(intents, [when(of('z'), 'eq', 1)])] })).toEqual([
      'You may execute every intent if the method is GET, but the intent b.example:x:v1 only if parameter amount is less than 5 and parameter amount is more than 1, and the intent b.example:y:v1 only if parameter amount is "all".',
      'You must not execute any intent if parameter amount of b.example:z:v1 is 1, whatever else is permitted.',
    ]);
  });

  test('plain sentences of limits permit nothing', () => {
    const conditions = [rate(5, 'v:hour', 'gt'), rate(9, 'v:day', 'gt'), when('v:method', 'eq', 'GET')];
    const prohibition = [execute(target, conditions)];
    const obligation = [{ action: 'observeRateLimit', constraint: [rate(7, 'v:hour')] }];
    expect(sentencesOf({ prohibition, obligation })).toEqual([
      'This policy permits nothing.',
      'You must not execute the intent b.example:x:v1 more than 5 times an hour or more than 9 times a day if the method is GET.',
      'You must not execute intents more than 7 times an hour.',
    ]);
  });

  test('plain sentences state conditions, counts, budgets and obligations', () => {
    const conditions = [
      when(`${target}/parameters/amount`, 'gte', 1),
      when(`${target}/parameters/unit%20price`, 'within', ['low', 'high']),
      when(`${target}/parameters/day`, 'lte', '2026-12-31'),
      when('v:dateTime', 'gte', '2026-01-01T00:00:00Z'),
      when('v:timeOfDay', 'lt', '17:00', 'v:zone#Europe/Berlin'),
      when('v:dayOfWeek', 'neq', 'sunday'),
      when('v:count', 'lte', 1000),
    ];
    const permission = [execute(target, conditions, [pay({ price: 0.5, budget: 20 }, { timeInterval: 'P1M' })])];
    const obligation = [
      { action: 'observeRateLimit', target: `${intents}?namespace=b.example`, constraint: [rate(7, 'v:hour')] },
      { action: 'sign', target: `${baseUrl}/api/policy` },
      { action: 'signPayload', target: 'https://terms.example/', assignee: 'urn:agent' },
    ];
    expect(sentencesOf({ permission, obligation })).toEqual([
      'You may execute the intent b.example:x:v1 if parameter amount is at least 1 and parameter unit price is one of "low", "high" and parameter day is not after 2026-12-31 and the date is not before 2026-01-01T00:00:00Z and the time of day (Europe/Berlin) is before 17:00 and the day of the week (UTC) is not sunday, at most 1000 times in total, for 0.5 EUR each time, at most 20 EUR per month.',
      'You must not execute intents of the namespace b.example more than 7 times an hour.',
      "Sign this policy with your agent's key before the first call.",
      "Sign https://terms.example/ with your agent's key before the first call (assignee: urn:agent).",
    ]);
  });
});
