import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { compilePolicy } from '../../../../functions/core/policy/compile.ts';
import type { CompiledPolicy } from '../../../../functions/core/policy/compiled-policy.ts';
import { isPermitted } from '../../../../functions/core/policy/scope.ts';
import type { Constraint, Duty, Policy } from '../../../../schemas/policy.ts';
import { when as constraintOf, execute, issuesIn, policyOf } from './policies.ts';

const baseUrl = 'https://gate.example/v1';
const intents = `${baseUrl}/api/intents`;
const namespace = (name: string) => `${intents}?namespace=${name}`;
const one = `${intents}/a.example:x:v1`;
const billing = { method: 'invoice', id: 'customer-1' } as const;

type Value = Constraint['rightOperand'];

const when = (term: string, operator: string, rightOperand: Value, unit?: string): Constraint =>
  constraintOf(`https://vocabulary.example/terms#${term}`, operator, rightOperand, unit && `https://vocabulary.example/${unit}`);
const rate = (rightOperand: Value, unit: string, operator = 'lte') => when('rateLimit', operator, rightOperand, unit);
const on = (name: string, operator: string, rightOperand: Value, owner = intents): Constraint =>
  constraintOf(`${owner}/parameters/${name}`, operator, rightOperand);
const pay = (more: Partial<Duty> = {}): Duty => ({ action: 'pay', amount: 0.05, unit: 'https://vocabulary.example/currency#EUR', ...more });
const budget = (amount: Duty['amount'], more: Partial<Duty> = {}) => pay({ amount, timeInterval: 'P1M', ...more });
const permit = (more: object) => ({ permission: [{ ...execute(intents), ...more }] });

const compile = (members: Partial<Policy>) => compilePolicy(policyOf(baseUrl, members), baseUrl, billing);
const problemsOf = (members: Partial<Policy>) => issuesIn(() => compile(members));

const inA = namespace('a.example');
const limitedTo = (rate: number, period: number) => ({ ...all, lmt: { rate, period } });
const all = { scope: ['*:*:*:execute'], prohibited: [] };

describe('compilePolicy', () => {
  test.each<[string, Partial<Policy>, Omit<CompiledPolicy, 'rules'>]>([
    ['nothing', {}, { scope: [], prohibited: [] }],
    ['one intent', permit({ target: `${intents}/a.example:do-it:v1.2` }), { ...all, scope: ['a.example:do-it:v1.2:execute'] }],
    ['one intent, percent-encoded', permit({ target: `${intents}/a.example%3Ax%3Av1` }), { ...all, scope: ['a.example:x:v1:execute'] }],
    [
      "a policy in the manner of the protocol's reference",
      {
        permission: [execute(intents, [rate(1_000, 'hour')], [pay({ amount: 0.01 })])],
        prohibition: [execute(intents, [rate(1_000, 'hour', 'gt')])],
        obligation: [
          {
            action: 'http://vocabulary.example/signPayload',
            assignee: 'urn:agent',
            constraint: [when('publicKey', 'use', 'agent_public_key')],
          },
        ],
      },
      { ...all, lmt: { rate: 1_000, period: 3_600 }, bil: billing },
    ],
    [
      'what another permission covers once',
      { permission: [execute(one), execute(inA), execute(inA)] },
      { scope: ['a.example:*:*:execute'], prohibited: [] },
    ],
    [
      'a prohibition that leaves nothing of a permission, whatever the capitals',
      { permission: [execute(one), execute(`${intents}/b.example:x:v1`)], prohibition: [execute(namespace('A.example'))] },
      { scope: ['b.example:x:v1:execute'], prohibited: ['A.example:*:*:execute'] },
    ],
    ['a prohibition of more as a limit', { ...permit({}), prohibition: [execute(intents, [rate(5, 'hour', 'gt')])] }, limitedTo(5, 3_600)],
    ['no limit of everything if only a part is limited', { permission: [execute(intents), execute(inA, [rate(5, 'day')])] }, all],
    [
      'the limit of everything, not the tighter one of a part',
      { permission: [execute(intents, [rate(60, 'minute')]), execute(inA, [rate(5, 'day')])] },
      limitedTo(60, 60),
    ],
    ['a prohibition with a condition in the rules alone', { ...permit({}), prohibition: [execute(intents, [on('amount', 'gt', 5)])] }, all],
    ['billing of a duty to pay', permit({ duty: [pay({ timeInterval: 'P1M' })] }), { ...all, bil: billing }],
    ['no billing of nothing', permit({ duty: [pay({ amount: 0 })] }), all],
    ...Object.entries({ second: 1, Minute: 60, hour: 3_600, DAY: 86_400, 'terms#week': 604_800 }).map(
      ([unit, period]): [string, Partial<Policy>, Omit<CompiledPolicy, 'rules'>] => [
        `the unit ${unit}`,
        permit({ constraint: [rate(7, unit)] }),
        limitedTo(7, period),
      ],
    ),
  ])('compilePolicy grants %s', (_, members, expected) => {
    const { rules, ...compiled } = compile(members);
    expect(compiled).toEqual(expected);
  });

  test('compilePolicy omits billing if none is configured', () => {
    expect(compilePolicy(policyOf(baseUrl, permit({ duty: [pay()] })), baseUrl)).not.toHaveProperty('bil');
  });

  test.each([
    'https://other.example/api/intents',
    ...['s', '/x', '/%E0%A4%A', '/*:*:*', '?namespace=', '?namespace=a&namespace=b', '?tags=a'].map((end) => intents + end),
  ])('compilePolicy refuses the target %s', (target) => {
    const problem = 'must be {base_url}/api/intents, {base_url}/api/intents/<intent_uid> or {base_url}/api/intents?namespace=<namespace>';
    expect(problemsOf(permit({ target }))).toEqual([{ path: '/permission/0/target', problem }]);
  });

  const wholeNumber = 'must be a whole number from 1 to 9007199254740991';
  const period = 'must be one of second, minute, hour, day, week';
  const list = 'must be a non-empty list of strings, numbers or booleans, all of one type';
  const unconverted = 'must be left out: values are compared as they are';
  const terms =
    'must be one of rateLimit, count, dateTime, timeOfDay, dayOfWeek, agentKey, agentDomain, method, tag, service, or end in /parameters/<name>';
  const ordered = 'must be a number, a date such as 2026-02-28, or a date and time with an offset, for the operators gt, gte, lt and lte';
  const ofTarget = 'must be {base_url}/api/intents/<intent_uid>/parameters/<name>, or the target and /parameters/<name>';
  const zone = 'must be a URI that ends in # and a time zone such as Europe/Berlin, or be left out for UTC';
  const domain = 'must be the domain of an agent directory in lower case, such as bot.example';
  const instant = 'must be a day such as 2026-02-28, or a date and time with an offset, such as 2026-02-28T12:00:00Z';
  test.each<[Constraint, member: string, string]>([
    [when('spatial', 'lte', 1), 'leftOperand', terms],
    [rate(1, 'minute', 'lt'), 'operator', 'must be lte (or lteq)'],
    [rate('60', 'minute'), 'rightOperand', wholeNumber],
    [rate(1, 'fortnight'), 'unit', period],
    [rate(1, 'constructor'), 'unit', period],
    [when('count', 'lte', 5, 'day'), 'unit', 'must be left out: executions are counted'],
    [on('amount', 'lt', 'much'), 'rightOperand', ordered],
    [on('amount', 'within', 5), 'rightOperand', list],
    [on('amount', 'eq', [5]), 'rightOperand', 'must be a string, a number or a boolean'],
    [on('amount', 'use', 5), 'operator', 'must be one of eq, neq, gt, gte (or gteq), lt, lte (or lteq), within (or isAnyOf)'],
    [{ ...on('amount', 'lt', 5), unit: 'v:EUR' }, 'unit', unconverted],
    [on('amount', 'lt', 5, 'https://elsewhere.example/intents'), 'leftOperand', ofTarget],
    ...['2026-01-01T00:00:00', '2026-02-29', '2026-01-01+25:00', '2026-01', '2026-1-1', '01/01/2026', 20260101].map(
      (value): [Constraint, string, string] => [when('dateTime', 'lte', value), 'rightOperand', instant],
    ),
    [when('dateTime', 'eq', '2026-01-01T00:00:00Z'), 'operator', 'must be one of gt, gte (or gteq), lt, lte (or lteq)'],
    [when('timeOfDay', 'lt', '24:00'), 'rightOperand', 'must be a time of day such as 09:00 or 09:00:30'],
    [when('timeOfDay', 'lt', '17:00', 'zone#Mars/Olympus'), 'unit', zone],
    [when('agentDomain', 'eq', 'https://Bot.example'), 'rightOperand', domain],
    [when('agentKey', 'eq', 'partner'), 'rightOperand', 'must be the RFC 7638 thumbprint of a key'],
    [when('method', 'eq', 'GTE'), 'rightOperand', 'must be one of GET, POST, PUT, DELETE, PATCH'],
    [when('service', 'eq', ' '), 'rightOperand', 'must be the service_id or the name of a service'],
  ])('compilePolicy refuses the constraint %j: its %s %s', (constraint, member, problem) => {
    expect(problemsOf(permit({ constraint: [constraint] }))).toEqual([{ path: `/permission/0/constraint/0/${member}`, problem }]);
  });

  const price = 'must be a number of at least 0';
  const currency = 'must be a currency: a URI that ends in its ISO 4217 code';
  const coins = (decimals: number) => `must be a positive amount with at most ${decimals} decimals and 15 digits`;
  const bounded = 'must be a duration between PT1S and P5Y, in which the budget may be spent';
  const budgetName = 'must end in a name of at most 100 ASCII letters, digits and . _ ~ -, by which responses refer to the budget';
  test.each(['approve', `${baseUrl}/vocabulary/approve`, 'v:approve'])('compilePolicy reads the duty %s', (action) => {
    expect(compile(permit({ duty: [{ action }] })).rules).toMatchObject([{ needsApproval: true, payments: [] }]);
    const both = [{ action }, pay({})];
    expect(compile(permit({ duty: both })).rules).toMatchObject([{ needsApproval: true, payments: [{}] }]);
  });

  test.each<[Duty, member: string, string]>([
    [{ action: 'approve', unit: 'v:EUR' }, 'unit', 'must be left out: an approval has no terms'],
    [pay({ action: 'attribute' }), 'action', 'must be pay or approve'],
    [pay({ amount: undefined }), 'amount', price],
    [pay({ unit: 'https://a.example/shells' }), 'unit', currency],
    [pay({ unit: 'v:XYZ' }), 'unit', currency],
    [budget({ price: 0.5, budget: 10 }, { unit: 'v:JPY' }), 'amount/price', coins(0)],
    [budget({ price: 1, budget: -10 }), 'amount/budget', coins(2)],
    [pay({ timeInterval: 'P' }), 'timeInterval', 'must be a duration of at least PT1S'],
    [budget({ price: 0.005, budget: 10 }), 'amount/price', coins(2)],
    [budget({ price: 1, budget: 10 }, { timeInterval: undefined }), 'timeInterval', bounded],
    [budget({ price: 1, budget: 10, tax: 2 }), 'amount/tax', 'is not a known member; remove it'],
    [budget({ price: 1, budget: 1e20 }), 'amount/budget', coins(2)],
    [budget({ budget: 5 }), 'amount/price', coins(2)],
    ...['urn:budget:Tag "x"', 'urn:budget:бюджет', `${baseUrl}/budgets/`].map((target): [Duty, string, string] => [
      budget({ price: 1, budget: 5 }, { target }),
      'target',
      budgetName,
    ]),
  ])('compilePolicy refuses the duty %j: its %s %s', (duty, member, problem) => {
    expect(problemsOf(permit({ duty: [duty] }))).toEqual([{ path: `/permission/0/duty/0/${member}`, problem }]);
  });

  const sign = (constraint: Constraint) => ({ obligation: [{ action: 'sign', constraint: [constraint] }] });
  const daily = (most: number, uid: string) =>
    execute(`${intents}/${uid}`, [], [budget({ price: 1, budget: most }, { target: 'v:daily' })]);
  const noRate = 'must not prohibit exceeding a rate limit that no permission states';
  const notCovered = 'must name a parameter of an intent that the target covers';
  const otherBudget = 'must state the same budget, currency and time as the other duties that name this target';
  test.each<[Partial<Policy>, string, string]>([
    [permit({ action: 'read' }), '/permission/0/action', 'must be execute'],
    [{ prohibition: [{ target: intents, action: 'sell' }] }, '/prohibition/0/action', 'must be execute or exceedRateLimit'],
    [{ prohibition: [execute(intents, [rate(5, 'hour')])] }, '/prohibition/0/constraint/0/operator', 'must be gt'],
    [{ prohibition: [{ target: intents, action: 'exceedRateLimit' }] }, '/prohibition', noRate],
    [{ obligation: [{ action: 'pray' }] }, '/obligation/0/action', 'must be sign or observeRateLimit'],
    [sign(when('publicKey', 'eq', 'a:my-key')), '/obligation/0/constraint/0', 'must state that publicKey eq agent_public_key'],
    [sign(when('publicKey', 'eq', 'agent_public_key', 'x')), '/obligation/0/constraint/0/unit', 'must be left out: a key has no unit'],
    [{ permission: [execute(namespace('b.example'), [on('amount', 'lt', 5, one)])] }, '/permission/0/constraint/0/leftOperand', notCovered],
    [{ permission: [daily(10, 'a.example:x:v1'), daily(20, 'a.example:y:v1')] }, '/permission/1/duty/0', otherBudget],
    [
      permit({ constraint: Array.from({ length: 9 }, (_, at) => rate(at + 1, 'minute')) }),
      '/permission/0/constraint/8',
      `counts the same calls as ${Array.from({ length: 8 }, (_, at) => `/permission/0/constraint/${at}`).join(', ')}: at most 8 limits and budgets may apply to one call`,
    ],
    [
      { permission: [execute(intents), execute(one, [on('amount', 'lt', 5, one)])] },
      '/permission/1/constraint/0',
      'restricts nothing, because /permission/0 permits the same without it: state the opposite as a prohibition, or narrow /permission/0',
    ],
    [
      { uid: 'https://a.example/policy#1' },
      '/uid',
      'must not contain a fragment, because the gate appends the digest of the policy as the fragment',
    ],
    [
      { permission: Array.from({ length: 100 }, (_, at) => execute(`${intents}/namespace-${at}.example:do-something:v1`)) },
      '/permission',
      'must fit into a PAT: permit namespaces or all intents instead of so many individual ones',
    ],
  ])('compilePolicy refuses %j: %s %s', (members, path, problem) => {
    expect(problemsOf(members)).toEqual([{ path, problem }]);
  });

  test('compilePolicy reports conditions that restrict nothing with other mistakes, except where rules are not understood', () => {
    const conditional = execute(one, [on('amount', 'lt', 5, one)]);
    expect(problemsOf({ permission: [execute(intents), conditional], obligation: [{ action: 'x' }] }).map(({ path }) => path)).toEqual([
      '/obligation/0/action',
      '/permission/1/constraint/0',
    ]);
    expect(problemsOf({ permission: [execute('urn:x'), conditional] }).map(({ path }) => path)).toEqual(['/permission/0/target']);
  });
});

test('a scope permits exact names, segment by segment', () => {
  const permitted = ['a.example:do-it:v1', 'b.example:anything:v9'];
  const others = [
    ...['a.example:do-it:v2', 'a.example:do-it:v1.0', 'a.example:do-itt:v1', 'a.example:do-i:v1', 'A.example:do-it:v1'],
    ...['a.example:do-it:v1 ', ' a.example:do-it:v1', 'xa.example:do-it:v1', 'c.b.example:anything:v9', '*:*:*'],
    ...['b.example:x:v1:execute', ''],
  ];
  const scope = ['a.example:do-it:v1:execute', 'b.example:*:*:execute', '*:*:*:read'];
  expect([...permitted, ...others].filter((uid) => isPermitted(scope, uid))).toEqual(permitted);
});

test('the limit is the stated one with the fewest calls in the long run', () => {
  const units = Object.entries({ second: 1, minute: 60, hour: 3_600, day: 86_400 });
  const limits = fc.array(fc.tuple(fc.integer({ min: 1, max: 100_000 }), fc.constantFrom(...units)), { minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(limits, (stated) => {
      const constraint = stated.map(([number, [unit]]) => rate(number, unit));
      const { lmt = { rate: 0, period: 1 } } = compile(permit({ constraint }));
      const asLimits = stated.map(([number, [, period]]) => ({ rate: number, period }));
      expect(asLimits).toContainEqual(lmt);
      for (const { rate: stated, period } of asLimits) expect(lmt.rate * period).toBeLessThanOrEqual(stated * lmt.period);
    }),
  );
});
