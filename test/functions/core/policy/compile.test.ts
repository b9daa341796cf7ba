import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { compilePolicy, type Grants } from '../../../../functions/core/policy/compile.ts';
import { PolicyError } from '../../../../functions/core/policy/reading.ts';
import { isPermitted, isProhibited } from '../../../../functions/core/policy/scope.ts';
import { type Constraint, odrlContext, type Policy } from '../../../../schemas/policy.ts';

const baseUrl = 'https://gate.example/v1';
const intents = `${baseUrl}/api/intents`;
const billing = { method: 'invoice', id: 'customer-1' } as const;

const policyOf = (members: Partial<Policy>): Policy => ({ '@context': odrlContext, uid: `${baseUrl}/api/policy`, type: 'Set', ...members });

const execute = (target: string, more: Partial<NonNullable<Policy['permission']>[number]> = {}) => ({ target, action: 'execute', ...more });

const rate = (rightOperand: unknown, unit: string, operator = 'lte') =>
  ({
    leftOperand: 'https://vocabulary.example/terms#rateLimit',
    operator,
    rightOperand,
    unit: `https://vocabulary.example/${unit}`,
  }) as never;

const pay = (more: object = {}) => ({ action: 'pay', amount: 0.05, unit: 'https://vocabulary.example/currency#EUR', ...more });

const on = (name: string, operator: string, rightOperand: unknown, owner = intents) =>
  ({ leftOperand: `${owner}/parameters/${name}`, operator, rightOperand }) as never as Constraint;

const budget = (amount: object, more: object = {}) => pay({ amount, timeInterval: 'P1M', ...more });

const compile = (members: Partial<Policy>) => compilePolicy(policyOf(members), baseUrl, billing);

function problemsOf(members: Partial<Policy>) {
  try {
    compile(members);
  } catch (error) {
    if (error instanceof PolicyError) return error.issues;
    throw error;
  }
  return [];
}

describe('compilePolicy', () => {
  test.each<[string, Partial<Policy>, Omit<Grants, 'rules'>]>([
    ['nothing', {}, { scope: [], prohibited: [] }],
    ['every intent', { permission: [execute(intents)] }, { scope: ['*:*:*:execute'], prohibited: [] }],
    [
      'one intent',
      { permission: [execute(`${intents}/a.example:do-it:v1.2`)] },
      { scope: ['a.example:do-it:v1.2:execute'], prohibited: [] },
    ],
    [
      'one intent, percent-encoded',
      { permission: [execute(`${intents}/a.example%3Ado-it%3Av1`)] },
      { scope: ['a.example:do-it:v1:execute'], prohibited: [] },
    ],
    ['a namespace', { permission: [execute(`${intents}?namespace=a.example`)] }, { scope: ['a.example:*:*:execute'], prohibited: [] }],
    [
      'an action by its URI',
      { permission: [{ target: intents, action: 'http://www.w3.org/ns/odrl/2/execute' }] },
      { scope: ['*:*:*:execute'], prohibited: [] },
    ],
    [
      "a policy in the manner of the protocol's reference",
      {
        permission: [execute(intents, { constraint: [rate(1_000, 'hour')], duty: [pay({ amount: 0.01 })] })],
        prohibition: [{ target: intents, action: 'execute', constraint: [rate(1_000, 'hour', 'gt')] }],
        obligation: [
          {
            action: 'http://vocabulary.example/signPayload',
            assignee: 'urn:agent',
            constraint: [{ leftOperand: 'http://vocabulary.example/publicKey', operator: 'use', rightOperand: 'agent_public_key' }],
          },
        ],
      },
      { scope: ['*:*:*:execute'], prohibited: [], lmt: { rate: 1_000, period: 3_600 }, bil: billing },
    ],
    [
      'what another permission covers once',
      {
        permission: [
          execute(`${intents}/a.example:x:v1`),
          execute(`${intents}?namespace=a.example`),
          execute(`${intents}?namespace=a.example`),
        ],
      },
      { scope: ['a.example:*:*:execute'], prohibited: [] },
    ],
    [
      'a prohibition as a subtraction',
      { permission: [execute(intents)], prohibition: [execute(`${intents}/a.example:x:v1`)] },
      { scope: ['*:*:*:execute'], prohibited: ['a.example:x:v1:execute'] },
    ],
    [
      'a prohibition that leaves nothing of a permission, whatever the capitals',
      {
        permission: [execute(`${intents}/a.example:x:v1`), execute(`${intents}/b.example:x:v1`)],
        prohibition: [execute(`${intents}?namespace=A.example`)],
      },
      { scope: ['b.example:x:v1:execute'], prohibited: ['A.example:*:*:execute'] },
    ],
    [
      'the tightest limit',
      {
        permission: [
          execute(intents, { constraint: [rate(60, 'minute'), rate(40, 'minute')] }),
          execute(intents, { constraint: [rate(1_000_000, 'week')] }),
        ],
      },
      { scope: ['*:*:*:execute'], prohibited: [], lmt: { rate: 40, period: 60 } },
    ],
    [
      'of several units the fewest calls a second',
      { permission: [execute(intents, { constraint: [rate(60, 'minute'), rate(1000, 'hour')] })] },
      { scope: ['*:*:*:execute'], prohibited: [], lmt: { rate: 1000, period: 3600 } },
    ],
    [
      'of equal limits the smaller burst',
      { permission: [execute(intents, { constraint: [rate(3600, 'hour'), rate(60, 'minute')] })] },
      { scope: ['*:*:*:execute'], prohibited: [], lmt: { rate: 60, period: 60 } },
    ],
    [
      'a limit that is stated as a prohibition of more',
      { permission: [execute(intents)], prohibition: [execute(intents, { constraint: [rate(5, 'hour', 'gt')] })] },
      { scope: ['*:*:*:execute'], prohibited: [], lmt: { rate: 5, period: 3600 } },
    ],
    [
      'no limit of everything if only a part is limited',
      { permission: [execute(intents), execute(`${intents}?namespace=a.example`, { constraint: [rate(5, 'day')] })] },
      { scope: ['*:*:*:execute'], prohibited: [] },
    ],
    [
      'the limit of everything, not the tighter one of a part',
      {
        permission: [
          execute(intents, { constraint: [rate(60, 'minute')] }),
          execute(`${intents}?namespace=a.example`, { constraint: [rate(5, 'day')] }),
        ],
      },
      { scope: ['*:*:*:execute'], prohibited: [], lmt: { rate: 60, period: 60 } },
    ],
    [
      'the limit of the one namespace that is permitted',
      { permission: [execute(`${intents}?namespace=a.example`, { constraint: [rate(5, 'day')] })] },
      { scope: ['a.example:*:*:execute'], prohibited: [], lmt: { rate: 5, period: 86_400 } },
    ],
    [
      'a prohibition with a condition in the rules alone',
      { permission: [execute(intents)], prohibition: [execute(intents, { constraint: [on('amount', 'gt', 5)] })] },
      { scope: ['*:*:*:execute'], prohibited: [] },
    ],
    [
      'billing of a duty to pay',
      { permission: [execute(intents, { duty: [pay({ timeInterval: 'P1M' })] })] },
      { scope: ['*:*:*:execute'], prohibited: [], bil: billing },
    ],
    [
      'no billing of nothing',
      { permission: [execute(intents, { duty: [pay({ amount: 0 })] })] },
      { scope: ['*:*:*:execute'], prohibited: [] },
    ],
  ])('grants %s', (_, members, expected) => {
    const { rules, ...grants } = compile(members);
    expect(grants).toEqual(expected);
  });

  test.each([
    ['second', 1],
    ['Minute', 60],
    ['hour', 3_600],
    ['DAY', 86_400],
    ['terms#week', 604_800],
  ])('knows the unit %s', (unit, period) => {
    expect(compile({ permission: [execute(intents, { constraint: [rate(7, unit)] })] }).lmt).toEqual({ rate: 7, period });
  });

  test('states no billing if none is configured', () => {
    const policy = policyOf({ permission: [execute(intents, { duty: [pay()] })] });
    expect(compilePolicy(policy, baseUrl)).not.toHaveProperty('bil');
  });

  const target = 'must be {base_url}/api/intents, {base_url}/api/intents/<intent_uid> or {base_url}/api/intents?namespace=<namespace>';
  const permit = (more: object) => ({ permission: [{ ...execute(intents), ...more }] });
  test.each<[string, Partial<Policy>, string, string]>([
    ['another action', permit({ action: 'read' }), '/permission/0/action', 'must be execute'],
    ['another address', permit({ target: 'https://other.example/api/intents' }), '/permission/0/target', target],
    ['a path that only begins alike', permit({ target: `${intents}s` }), '/permission/0/target', target],
    ['a uid that is none', permit({ target: `${intents}/x` }), '/permission/0/target', target],
    ['a broken escape', permit({ target: `${intents}/%E0%A4%A` }), '/permission/0/target', target],
    ['a wildcard', permit({ target: `${intents}/*:*:*` }), '/permission/0/target', target],
    ['an empty namespace', permit({ target: `${intents}?namespace=` }), '/permission/0/target', target],
    ['two namespaces', permit({ target: `${intents}?namespace=a&namespace=b` }), '/permission/0/target', target],
    ['another query', permit({ target: `${intents}?tags=a` }), '/permission/0/target', target],
    [
      'another operand',
      permit({ constraint: [{ ...(rate(1, 'minute') as object), leftOperand: 'a:spatial' }] }),
      '/permission/0/constraint/0/leftOperand',
      'must be one of rateLimit, count, dateTime, timeOfDay, dayOfWeek, agentKey, method, tag, service, or end in /parameters/<name>',
    ],
    ['another operator', permit({ constraint: [rate(1, 'minute', 'lt')] }), '/permission/0/constraint/0/operator', 'must be lte'],
    [
      'a rate as text',
      permit({ constraint: [rate('60', 'minute')] }),
      '/permission/0/constraint/0/rightOperand',
      'must be a whole number of at least 1',
    ],
    [
      'a rate of nothing',
      permit({ constraint: [rate(0, 'minute')] }),
      '/permission/0/constraint/0/rightOperand',
      'must be a whole number of at least 1',
    ],
    [
      'half a rate',
      permit({ constraint: [rate(0.5, 'minute')] }),
      '/permission/0/constraint/0/rightOperand',
      'must be a whole number of at least 1',
    ],
    [
      'another unit',
      permit({ constraint: [rate(1, 'fortnight')] }),
      '/permission/0/constraint/0/unit',
      'must be one of second, minute, hour, day, week',
    ],
    [
      'a prototype as unit',
      permit({ constraint: [rate(1, 'constructor')] }),
      '/permission/0/constraint/0/unit',
      'must be one of second, minute, hour, day, week',
    ],
    ['another duty', permit({ duty: [pay({ action: 'attribute' })] }), '/permission/0/duty/0/action', 'must be pay'],
    [
      'a payment of no amount',
      permit({ duty: [pay({ amount: undefined })] }),
      '/permission/0/duty/0/amount',
      'must be a number of at least 0',
    ],
    ['a negative payment', permit({ duty: [pay({ amount: -1 })] }), '/permission/0/duty/0/amount', 'must be a number of at least 0'],
    [
      'no currency',
      permit({ duty: [pay({ unit: 'https://a.example/shells' })] }),
      '/permission/0/duty/0/unit',
      'must be a currency: a URI that ends in its ISO 4217 code',
    ],
    [
      'another prohibition',
      { prohibition: [{ target: intents, action: 'sell' }] },
      '/prohibition/0/action',
      'must be execute or exceedRateLimit',
    ],
    [
      'a prohibition of less',
      { prohibition: [execute(intents, { constraint: [rate(5, 'hour')] })] },
      '/prohibition/0/constraint/0/operator',
      'must be gt',
    ],
    [
      'exceeding what is not limited',
      { prohibition: [{ target: intents, action: 'exceedRateLimit' }] },
      '/prohibition',
      'must not prohibit exceeding a rate limit that no permission states',
    ],
    ['another obligation', { obligation: [{ action: 'pray' }] }, '/obligation/0/action', 'must be sign or observeRateLimit'],
    [
      'another key to sign with',
      { obligation: [{ action: 'sign', constraint: [{ leftOperand: 'a:publicKey', operator: 'eq', rightOperand: 'a:my-key' }] }] },
      '/obligation/0/constraint/0',
      'must say that publicKey eq agent_public_key',
    ],
    [
      'an order of texts',
      permit({ constraint: [on('amount', 'lt', 'much')] }),
      '/permission/0/constraint/0/rightOperand',
      'must be a number, a date such as 2026-02-28, or a date and time with an offset, if the operator is an order',
    ],
    [
      'one value for within',
      permit({ constraint: [on('amount', 'within', 5)] }),
      '/permission/0/constraint/0/rightOperand',
      'must be a list of at least one text, number, true or false, all of one kind',
    ],
    [
      'a list of several kinds',
      permit({ constraint: [on('day', 'within', ['2026-01-01', 'tomorrow'])] }),
      '/permission/0/constraint/0/rightOperand',
      'must be a list of at least one text, number, true or false, all of one kind',
    ],
    [
      'a list for eq',
      permit({ constraint: [on('amount', 'eq', [5])] }),
      '/permission/0/constraint/0/rightOperand',
      'must be a text, a number, true or false',
    ],
    [
      'an operator that compares nothing',
      permit({ constraint: [on('amount', 'use', 5)] }),
      '/permission/0/constraint/0/operator',
      'must be one of eq, neq, gt, gte, lt, lte, within',
    ],
    [
      'a unit that would be converted',
      permit({ constraint: [{ ...on('amount', 'lt', 5), unit: 'v:EUR' }] }),
      '/permission/0/constraint/0/unit',
      'must be left out: values are compared as they are',
    ],
    [
      'a parameter of an intent that the target does not cover',
      permit({ target: `${intents}?namespace=b.example`, constraint: [on('amount', 'lt', 5, `${intents}/a.example:x:v1`)] }),
      '/permission/0/constraint/0/leftOperand',
      'must name a parameter of an intent that the target covers',
    ],
    [
      'a parameter of something else',
      permit({ constraint: [on('amount', 'lt', 5, 'https://elsewhere.example/intents')] }),
      '/permission/0/constraint/0/leftOperand',
      'must be {base_url}/api/intents/<intent_uid>/parameters/<name>, or the target and /parameters/<name>',
    ],
    [
      'a date without time',
      permit({ constraint: [{ leftOperand: 'v:dateTime', operator: 'lte', rightOperand: '2026-01-01' }] }),
      '/permission/0/constraint/0/rightOperand',
      'must be a date and time with an offset, such as 2026-02-28T12:00:00Z',
    ],
    [
      'an instant as the only one',
      permit({ constraint: [{ leftOperand: 'v:dateTime', operator: 'eq', rightOperand: '2026-01-01T00:00:00Z' }] }),
      '/permission/0/constraint/0/operator',
      'must be gt, gte, lt or lte',
    ],
    [
      'a time of day that is none',
      permit({ constraint: [{ leftOperand: 'v:timeOfDay', operator: 'lt', rightOperand: '24:00' }] }),
      '/permission/0/constraint/0/rightOperand',
      'must be a time of day such as 09:00',
    ],
    [
      'an unknown time zone',
      permit({ constraint: [{ leftOperand: 'v:timeOfDay', operator: 'lt', rightOperand: '17:00', unit: 'v:zone#Mars/Olympus' }] }),
      '/permission/0/constraint/0/unit',
      'must be a URI that ends in # and a time zone such as Europe/Berlin, or be left out for UTC',
    ],
    [
      'a key that is none',
      permit({ constraint: [{ leftOperand: 'v:agentKey', operator: 'eq', rightOperand: 'partner' }] }),
      '/permission/0/constraint/0/rightOperand',
      'must be the RFC 7638 thumbprint of a key',
    ],
    [
      'a count in a unit',
      permit({ constraint: [{ leftOperand: 'v:count', operator: 'lte', rightOperand: 5, unit: 'v:day' }] }),
      '/permission/0/constraint/0/unit',
      'must be left out: a count is of executions',
    ],
    [
      'a currency that there is not',
      permit({ duty: [pay({ unit: 'v:XYZ' })] }),
      '/permission/0/duty/0/unit',
      'must be a currency: a URI that ends in its ISO 4217 code',
    ],
    [
      'a price below the smallest coin',
      permit({ duty: [budget({ price: 0.005, budget: 10 })] }),
      '/permission/0/duty/0/amount/price',
      'must be a number above 0 with at most 2 decimals, which EUR has',
    ],
    [
      'a negative budget',
      permit({ duty: [budget({ price: 1, budget: -10 })] }),
      '/permission/0/duty/0/amount/budget',
      'must be a number above 0 with at most 2 decimals, which EUR has',
    ],
    [
      'half a yen',
      permit({ duty: [budget({ price: 0.5, budget: 10 }, { unit: 'v:JPY' })] }),
      '/permission/0/duty/0/amount/price',
      'must be a number above 0 with at most 0 decimals, which JPY has',
    ],
    [
      'a budget for no time',
      permit({ duty: [budget({ price: 1, budget: 10 }, { timeInterval: undefined })] }),
      '/permission/0/duty/0/timeInterval',
      'must be a duration between PT1S and P5Y, in which the budget may be spent',
    ],
    [
      'a member of an amount that is none',
      permit({ duty: [budget({ price: 1, budget: 10, tax: 2 })] }),
      '/permission/0/duty/0/amount/tax',
      'is not a known member; remove it',
    ],
    [
      'an amount that sums of would not be exact',
      permit({ duty: [budget({ price: 1, budget: 1e20 })] }),
      '/permission/0/duty/0/amount/budget',
      'must be at most 90071992547409.91, up to which sums are exact',
    ],
    ['a budget without a price', permit({ duty: [budget({ budget: 5 })] }), '/permission/0/duty/0/amount/price', 'is required'],
    [
      'a fee for no time',
      permit({ duty: [pay({ timeInterval: 'P' })] }),
      '/permission/0/duty/0/timeInterval',
      'must be a duration of at least PT1S',
    ],
    ...['urn:budget:Tag "x"', 'urn:budget:бюджет', `${baseUrl}/budgets/`].map((target): [string, Partial<Policy>, string, string] => [
      'a budget that no header could name',
      permit({ duty: [budget({ price: 1, budget: 5 }, { target })] }),
      '/permission/0/duty/0/target',
      'must end in a name of at most 100 ASCII letters, digits and . _ ~ -, which answers call the budget by',
    ]),
    [
      'a limit for somebody whom the gate does not know',
      { permission: [execute(intents)], obligation: [{ action: 'observeRateLimit', assignee: 'urn:agent', constraint: [rate(5, 'day')] }] },
      '/obligation/0/assignee',
      'must be left out: say by a constraint on agentKey whose calls are limited',
    ],
    [
      'a unit of keys',
      {
        obligation: [
          { action: 'sign', constraint: [{ leftOperand: 'a:publicKey', operator: 'eq', rightOperand: 'agent_public_key', unit: 'a:b' }] },
        ],
      },
      '/obligation/0/constraint/0/unit',
      'must be left out: a key has no unit',
    ],
    [
      'two budgets of one name',
      {
        permission: [
          execute(`${intents}/a.example:x:v1`, { duty: [budget({ price: 1, budget: 10 }, { target: 'v:daily' })] }),
          execute(`${intents}/a.example:y:v1`, { duty: [budget({ price: 1, budget: 20 }, { target: 'v:daily' })] }),
        ],
      },
      '/permission/1/duty/0',
      'must state the same budget, currency and time as the other duties that name this target',
    ],
    [
      'a ninth limit',
      permit({ constraint: Array.from({ length: 9 }, (_, at) => rate(at + 1, 'minute')) }),
      '/permission/0/constraint/8',
      `counts the same calls as ${Array.from({ length: 8 }, (_, at) => `/permission/0/constraint/${at}`).join(', ')}: at most 8 limits and budgets may apply to one call`,
    ],
    [
      'a condition that another permission goes round',
      {
        permission: [
          execute(intents),
          execute(`${intents}/a.example:x:v1`, { constraint: [on('amount', 'lt', 5, `${intents}/a.example:x:v1`)] }),
        ],
      },
      '/permission/1/constraint/0',
      'restricts nothing, because /permission/0 permits the same without it: state the opposite as a prohibition, or narrow /permission/0',
    ],
    [
      'a uid with a fragment',
      { uid: 'https://a.example/policy#1' },
      '/uid',
      'must not hold a fragment: the digest of the policy takes that place',
    ],
    [
      'a scope beyond a PAT',
      { permission: Array.from({ length: 100 }, (_, at) => execute(`${intents}/namespace-${at}.example:do-something:v1`)) },
      '/permission',
      'must fit into a PAT: permit namespaces or all intents instead of so many single ones',
    ],
  ])('refuses %s', (_, members, path, problem) => {
    expect(problemsOf(members)).toEqual([{ path, problem }]);
  });

  test('names conditions that restrict nothing beside other mistakes, but for those of rules that are not understood', () => {
    const conditional = execute(`${intents}/a.example:x:v1`, { constraint: [on('amount', 'lt', 5, `${intents}/a.example:x:v1`)] });
    expect(problemsOf({ permission: [execute(intents), conditional], obligation: [{ action: 'x' }] }).map(({ path }) => path)).toEqual([
      '/obligation/0/action',
      '/permission/1/constraint/0',
    ]);
    expect(problemsOf({ permission: [execute('urn:x'), conditional] }).map(({ path }) => path)).toEqual(['/permission/0/target']);
  });

  test('names every place at once', () => {
    const members = {
      permission: [{ target: 'urn:x', action: 'read', constraint: [rate('1', 'moon')], duty: [pay({ unit: undefined })] }],
      obligation: [{ action: 'x' }],
    };
    expect(problemsOf(members).map(({ path }) => path)).toEqual([
      '/permission/0/action',
      '/permission/0/target',
      '/permission/0/constraint/0/rightOperand',
      '/permission/0/constraint/0/unit',
      '/permission/0/duty/0/unit',
      '/obligation/0/action',
    ]);
  });
});

describe('scope', () => {
  test.each([
    ['a.example:do-it:v1', true],
    ['a.example:do-it:v2', false],
    ['a.example:do-it:v1.0', false],
    ['a.example:do-itt:v1', false],
    ['a.example:do-i:v1', false],
    ['A.example:do-it:v1', false],
    ['a.example:do-it:v1 ', false],
    [' a.example:do-it:v1', false],
    ['xa.example:do-it:v1', false],
    ['b.example:anything:v9', true],
    ['c.b.example:anything:v9', false],
    ['*:*:*', false],
    ['b.example:x:v1:execute', false],
    ['', false],
  ])('permits %p: %p', (uid, isIn) => {
    expect(isPermitted(['a.example:do-it:v1:execute', 'b.example:*:*:execute', '*:*:*:read'], uid)).toBe(isIn);
  });

  test.each([
    ['a.example:x:v1', true],
    ['A.EXAMPLE:x:v1', true],
    ['a.example:x:v2', false],
    ['b.example:y:v1', true],
    ['bb.example:y:v1', false],
  ])('prohibits %p: %p', (uid, isIn) => {
    expect(isProhibited({ prohibited: ['a.example:x:v1:execute', 'B.example:*:*:execute'] }, uid)).toBe(isIn);
  });
});

describe('whatever the policy', () => {
  const uids = ['a.example', 'b.example', 'A.example'].flatMap((namespace) =>
    ['x', 'y'].flatMap((slug) => ['v1', 'v2'].map((version) => `${namespace}:${slug}:${version}`)),
  );
  const targets = fc.constantFrom(
    intents,
    ...uids.map((uid) => `${intents}/${uid}`),
    ...['a.example', 'b.example'].map((namespace) => `${intents}?namespace=${namespace}`),
  );
  const rules = fc.array(
    targets.map((target) => execute(target)),
    { maxLength: 6 },
  );
  const granted = (members: Partial<Policy>) => {
    const grants = compile(members);
    return uids.filter((uid) => isPermitted(grants.scope, uid) && !isProhibited(grants, uid));
  };

  test('another permission never narrows, another prohibition never widens', () => {
    fc.assert(
      fc.property(rules, rules, targets, (permission, prohibition, target) => {
        const before = granted({ permission, prohibition });
        const wider = granted({ permission: [...permission, execute(target)], prohibition });
        const narrower = granted({ permission, prohibition: [...prohibition, execute(target)] });
        expect(wider).toEqual(expect.arrayContaining(before));
        expect(before).toEqual(expect.arrayContaining(narrower));
      }),
    );
  });

  test('grants exactly what a permission names and no prohibition does', () => {
    const names = (target: string, uid: string) => {
      const namespace = new URL(target).searchParams.get('namespace');
      return target === intents || target === `${intents}/${uid}` || (namespace !== null && uid.startsWith(`${namespace}:`));
    };
    fc.assert(
      fc.property(rules, rules, (permission, prohibition) => {
        const expected = uids.filter(
          (uid) =>
            permission.some(({ target }) => names(target, uid)) &&
            !prohibition.some(({ target }) => names(target.toLowerCase(), uid.toLowerCase())),
        );
        expect(granted({ permission, prohibition })).toEqual(expected);
      }),
    );
  });

  test('the limit is one of those that the policy states, and none lets fewer calls through in the long run', () => {
    const units: [string, number][] = [
      ['second', 1],
      ['minute', 60],
      ['hour', 3_600],
      ['day', 86_400],
    ];
    const limits = fc.array(fc.tuple(fc.integer({ min: 1, max: 100_000 }), fc.constantFrom(...units)), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(limits, (stated) => {
        const constraint = stated.map(([number, [unit]]) => rate(number, unit));
        const { lmt = { rate: 0, period: 1 } } = compile({ permission: [execute(intents, { constraint })] });
        const asLimits = stated.map(([number, [, period]]) => ({ rate: number, period }));
        expect(asLimits).toContainEqual(lmt);
        for (const { rate: stated, period } of asLimits) expect(lmt.rate * period).toBeLessThanOrEqual(stated * lmt.period);
      }),
    );
  });
});
