import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { compilePolicy } from '../../../../functions/core/policy/compile.ts';
import type { CompiledPolicy } from '../../../../functions/core/policy/compiled-policy.ts';
import {
  type Call,
  evaluateCondition,
  type JudgedIntent,
  judgedIntent,
  type Scalar,
  type Subject,
} from '../../../../functions/core/policy/conditions.ts';
import { findContradictions } from '../../../../functions/core/policy/contradictions.ts';
import { describeRefusal } from '../../../../functions/core/policy/describe.ts';
import { chargesOf, judge, mayBeExecuted } from '../../../../functions/core/policy/judge.ts';
import { unitOf } from '../../../../functions/core/policy/limits.ts';
import { PolicyError } from '../../../../functions/core/policy/reading.ts';
import { isPermitted, isProhibited } from '../../../../functions/core/policy/scope.ts';
import { describeTerms } from '../../../../functions/core/policy/terms.ts';
import { compareForRegistry } from '../../../../registry/policy/compare.ts';
import { explainCall } from '../../../../registry/policy/explain.ts';
import { parseExact } from '../../../../schemas/number.ts';
import type { Constraint, Policy, PolicyPermission } from '../../../../schemas/policy.ts';
import { execute, policyOf, when } from './policies.ts';

const baseUrl = 'https://gate.example';
const intents = `${baseUrl}/api/intents`;
const pay = `${intents}/a.example:pay:v1`;

const compile = (members: Partial<Policy>): CompiledPolicy => compilePolicy(policyOf(baseUrl, members), baseUrl);
const problemsIn = (members: Partial<Policy>, sinceMs = 0) => findContradictions(policyOf(baseUrl, members), baseUrl, sinceMs);
const callOf = (intentUid: string, parameters: Record<string, unknown> = {}): Call => ({ intentUid, parameters, account: '', nowMs: 0 });

type Operator = Constraint['operator'];
type Value = Constraint['rightOperand'];

const amount = (operator: Operator, value: Value, owner = pay) => when(`${owner}/parameters/amount`, operator, value);
const rate = (number: number, operator: 'lte' | 'gt' = 'lte') => when('v:rateLimit', operator, number, 'v:day');

describe('a comparison', () => {
  const parameter: Subject = { of: 'parameter', name: 'x' };
  const ask = (given: Record<string, unknown>, comparison: Operator, values: Scalar[]) =>
    evaluateCondition({ pointer: '', subject: parameter, comparison: comparison as 'eq', values }, callOf('a.example:pay:v1', given));

  test.each<[unknown, Operator, Scalar[], boolean | undefined]>([
    [5, 'lt', [5], false],
    [4.999, 'lt', [5], true],
    [5, 'lte', [5], true],
    [5, 'gte', [5], true],
    [5, 'gt', [5], false],
    [-0, 'eq', [0], true],
    [parseExact('9007199254740993'), 'eq', [2 ** 53], undefined],
    [parseExact('9007199254740993'), 'within', [2 ** 53, 1], undefined],
    [parseExact('100.00000000000000000001'), 'lte', [100], undefined],
    [parseExact('1e400'), 'lt', [1e308], false],
    [parseExact('-1e400'), 'lt', [0], true],
    [parseExact('1e-400'), 'gt', [0], undefined],
    [parseExact('100.0'), 'eq', [100], true],
    [parseExact('100.0'), 'eq', ['100'], undefined],
    ['5', 'eq', [5], undefined],
    ['5', 'lt', [10], undefined],
    [[5], 'within', [5], undefined],
    [true, 'eq', [true], true],
    [false, 'neq', [true], true],
    ['EUR', 'within', ['CHF', 'EUR'], true],
    ['eur', 'within', ['CHF', 'EUR'], false],
    ['cafe\u0301', 'eq', ['caf\u00e9'], true],
    ['cafe\u0301', 'neq', ['caf\u00e9'], false],
    [1e308, 'gt', [-1e308], true],
    ['2026-02-28', 'lt', ['2026-03-01'], true],
    ['2026-02-28T00:00:00Z', 'lt', ['2026-03-01'], undefined],
    ['2026-01-01T01:00:00+01:00', 'eq', ['2026-01-01T00:00:00Z'], true],
    ['2026-01-01T00:00:00.000Z', 'eq', ['2026-01-01T00:00:00Z'], true],
    ['2026-01-01T00:00:00.0000001Z', 'gt', ['2026-01-01T00:00:00Z'], true],
    ['2026-01-01t00:00:00.5z', 'gt', ['2026-01-01T00:00:00.25Z'], true],
    ['2016-12-31T23:59:60Z', 'gt', ['2016-12-31T23:59:59Z'], true],
  ])('the comparison %j %s %j is %j', (given, comparison, values, expected) => {
    expect(ask({ x: given }, comparison, values)).toBe(expected);
  });

  test('a comparison with a parameter that is not given has no order, and equals nothing', () => {
    for (const given of [{}, { toString: 5 }]) {
      expect((['eq', 'neq', 'within'] as const).map((comparison) => ask(given, comparison, [5]))).toEqual([false, true, false]);
      expect((['lt', 'lte', 'gt', 'gte'] as const).map((comparison) => ask(given, comparison, [5]))).toEqual(Array(4).fill(undefined));
    }
  });
});

test('a prohibition on a parameter of one intent ignores the letter case of the namespace', () => {
  const { rules } = compile({ permission: [execute(intents)], prohibition: [execute(intents, [amount('gte', 5)])] });
  const isPermitted = (uid: string) => judge(rules, callOf(uid, { amount: 6 })).isPermitted;
  expect(['A.example:pay:v1', 'a.example:other:v1'].map(isPermitted)).toEqual([false, true]);
});

test.each<[string, Record<string, unknown>, [prohibited: boolean, permitted: boolean]]>([
  ['the very text', { role: 'admin' }, [false, false]],
  ['another text', { role: 'user' }, [true, true]],
  ['other letter case', { role: 'ADMIN' }, [true, false]],
  ['a space', { role: 'admin ' }, [true, false]],
  ['a NUL', { role: 'admin\0' }, [true, false]],
  ['another composition of an accented letter', { role: 're\u0301dacteur' }, [false, true]],
  ['an input of similar name', { Role: 'admin', 'role[]': 'admin', 'role ': 'admin' }, [true, false]],
])('texts and parameter names are compared exactly: %s', (_, parameters, expected) => {
  const role = (operator: Operator, value: Value) => when(`${pay}/parameters/role`, operator, value);
  const prohibited = compile({
    permission: [execute(intents)],
    prohibition: [execute(pay, [role('eq', 'admin')]), execute(pay, [role('eq', 'r\u00e9dacteur')])],
  });
  const permitted = compile({ permission: [execute(pay, [role('within', ['user', 'r\u00e9dacteur'])])] });
  const call = callOf('a.example:pay:v1', parameters);
  expect([prohibited, permitted].map(({ rules }) => judge(rules, call).isPermitted)).toEqual(expected);
});

describe('for any policy', () => {
  const uids = ['a.example:pay:v1', 'a.example:get:v1', 'b.example:get:v1'];
  const amounts = [undefined, 0, 1, 2, 3, 'two'];
  const calls = uids.flatMap((uid) => amounts.map((given) => callOf(uid, given === undefined ? {} : { amount: given })));
  const targets = fc.constantFrom(intents, `${intents}?namespace=a.example`, ...uids.map((uid) => `${intents}/${uid}`));
  const operators = fc.constantFrom<Operator>('eq', 'neq', 'gt', 'gte', 'lt', 'lte');
  const conditionOn = (target: string) =>
    fc
      .tuple(operators, fc.integer({ min: 0, max: 3 }), fc.boolean())
      .map(([operator, value, isOfOne]) =>
        amount(operator, value, isOfOne && target !== `${intents}/${uids[2]}` && target === intents ? pay : target),
      );
  const rulesWith = (operator: 'lte' | 'gt') =>
    targets.chain((target) =>
      fc
        .tuple(fc.array(conditionOn(target), { maxLength: 2 }), fc.array(fc.integer({ min: 1, max: 3 }), { maxLength: 1 }))
        .map(([conditions, limits]) => execute(target, [...conditions, ...limits.map((number) => rate(number, operator))])),
    );
  const policies = fc.record({
    permission: fc.array(rulesWith('lte'), { maxLength: 4 }),
    prohibition: fc.array(rulesWith('gt'), { maxLength: 2 }),
  });

  const names = (target: string, uid: string) =>
    target === intents || target === `${intents}/${uid}` || target === `${intents}?namespace=${uid.split(':')[0]}`;

  /** Evaluates a constraint as the documentation words it; undefined if unknown. */
  function says({ leftOperand, operator, rightOperand }: Constraint, target: string, { intentUid, parameters }: Call) {
    const owner = leftOperand.replace(/\/parameters\/amount$/, '');
    if (owner !== target && owner !== `${intents}/${intentUid}`) return 'nothing';
    const { amount: given } = parameters;
    if (given === undefined) return operator === 'neq' ? true : operator === 'eq' ? false : undefined;
    if (typeof given !== 'number') return undefined;
    const value = rightOperand as number;
    return { eq: given === value, neq: given !== value, gt: given > value, gte: given >= value, lt: given < value, lte: given <= value }[
      operator as 'eq'
    ];
  }

  const isCondition = ({ leftOperand }: Constraint) => leftOperand.endsWith('/parameters/amount');

  /** The oracle: the rules that cover a call. */
  const covering = (rules: readonly PolicyPermission[], isPermission: boolean, call: Call) =>
    rules.filter(({ target, constraint = [] }) => {
      const told = constraint.filter(isCondition).map((one) => says(one, target, call));
      const isMet = isPermission
        ? told.every((one) => one === true || one === 'nothing')
        : told.every((one) => one === true || one === undefined);
      return names(target, call.intentUid) && isMet;
    });

  const isLimit = ({ constraint = [] }: PolicyPermission) => constraint.some((one) => !isCondition(one));

  /** Undefined if the policy is refused because of a condition that restricts nothing. */
  function tryCompile(members: Partial<Policy>): CompiledPolicy | undefined {
    try {
      return compile(members);
    } catch (error) {
      if (!(error instanceof PolicyError)) throw error;
      for (const { problem } of error.issues) expect(problem).toMatch(/^restricts nothing/);
      return undefined;
    }
  }

  const permitted = (compiled: CompiledPolicy) => calls.filter((call) => judge(compiled.rules, call).isPermitted);

  test('judgements, limits and explanations agree with a simple reading of the policy', () => {
    fc.assert(
      fc.property(policies, ({ permission, prohibition }) => {
        const compiled = tryCompile({ permission, prohibition });
        fc.pre(compiled !== undefined);
        for (const call of calls) {
          const permitting = covering(permission, true, call);
          const against = covering(prohibition, false, call);
          const expected = permitting.length > 0 && against.every(isLimit);
          const named = [permission, prohibition.filter(({ constraint }) => constraint?.length === 0)].map((rules) =>
            rules.some(({ target }) => names(target, call.intentUid)),
          );
          const isGranted = isPermitted(compiled.scope, call.intentUid) && !isProhibited(compiled, call.intentUid);
          expect(isGranted).toBe(named[0] && !named[1]);
          const judgement = judge(compiled.rules, call);
          expect(judgement.isPermitted).toBe(expected);
          expect(explainCall(compiled.rules, call).isPermitted).toBe(expected);
          if (!judgement.isPermitted) continue;
          const rates = [...permitting, ...against].flatMap(({ target, constraint = [] }) => {
            const conditions = constraint.filter(isCondition).map((one) => JSON.stringify(one));
            return constraint
              .filter((one) => !isCondition(one))
              .map((one) => JSON.stringify([target, one.rightOperand, conditions.sort()]));
          });
          expect(chargesOf(judgement.rules)).toHaveLength(new Set(rates).size);
        }
      }),
      { numRuns: 500 },
    );
  });

  test('neither the address of the gate nor the order of rules changes the windows', () => {
    fc.assert(
      fc.property(policies, ({ permission, prohibition }) => {
        const compiled = tryCompile({ permission, prohibition });
        fc.pre(compiled !== undefined);
        const text = JSON.stringify(policyOf(baseUrl, { permission: permission.toReversed(), prohibition: prohibition.toReversed() }));
        const elsewhere = compilePolicy(JSON.parse(text.replaceAll(baseUrl, 'https://other.example/v1')), 'https://other.example/v1');
        const ids = ({ rules }: CompiledPolicy) =>
          chargesOf(rules)
            .map(({ id }) => id)
            .sort();
        expect(ids(elsewhere)).toEqual(ids(compiled));
      }),
    );
  });

  test('a permission that is reported to allow nothing can be left out', () => {
    fc.assert(
      fc.property(policies, ({ permission, prohibition }) => {
        const compiled = tryCompile({ permission, prohibition });
        fc.pre(compiled !== undefined);
        const idle = problemsIn({ permission, prohibition }).filter(({ problem }) => /^allows nothing/.test(problem));
        const places = new Set(idle.map(({ path }) => path));
        const without = tryCompile({ permission: permission.filter((_, at) => !places.has(`/permission/${at}`)), prohibition });
        if (without) expect(permitted(without)).toEqual(permitted(compiled));
      }),
      { numRuns: 500 },
    );
  });
});

describe('a condition until a day', () => {
  test.each([
    ['2031-01-01', '2031-01-01T00:00:00Z'],
    ['2031-01-01Z', '2031-01-01T00:00:00Z'],
    ['2031-01-01+02:00', '2030-12-31T22:00:00Z'],
    ['2031-01-01-05:30', '2031-01-01T05:30:00Z'],
    ['2028-02-29+14:00', '2028-02-28T10:00:00Z'],
  ])('a condition until the day %s ends at its start, %s', (day, start) => {
    const at = (operator: Operator, ms: number) => {
      const compiled = compile({ permission: [execute(pay, [when('v:dateTime', operator, day)])] });
      return judge(compiled.rules, { ...callOf('a.example:pay:v1'), nowMs: Date.parse(start) + ms }).isPermitted;
    };
    expect([at('lt', -1), at('lt', 0)]).toEqual([true, false]);
    expect([at('lte', 0), at('lte', 1)]).toEqual([true, false]);
    expect([at('gte', -1), at('gte', 0)]).toEqual([false, true]);
    expect([at('gt', 0), at('gt', 1)]).toEqual([false, true]);
  });

  test('a condition until a day allows nothing from then on', () => {
    const permission = [execute(pay, [when('v:dateTime', 'lt', '2026-01-01')])];
    expect(problemsIn({ permission }, Date.parse('2025-12-31T23:59:59Z'))).toEqual([]);
    expect(problemsIn({ permission }, Date.parse('2026-01-01T00:00:00Z'))).toHaveLength(1);
  });
});

test.each<[Operator, string, [at: string, isPermitted: boolean][]]>([
  [
    'lte',
    '17:00',
    [
      ['17:00:59.999Z', true],
      ['17:01:00.000Z', false],
    ],
  ],
  [
    'lt',
    '17:00',
    [
      ['16:59:59.999Z', true],
      ['17:00:00.000Z', false],
    ],
  ],
  [
    'gt',
    '09:00',
    [
      ['09:00:59.999Z', false],
      ['09:01:00.000Z', true],
    ],
  ],
  [
    'lte',
    '23:59',
    [
      ['23:59:59.999Z', true],
      ['00:00:00.000Z', true],
    ],
  ],
  [
    'gte',
    '09:00:30',
    [
      ['09:00:29.999Z', false],
      ['09:00:30.000Z', true],
    ],
  ],
  [
    'lte',
    '09:00:30',
    [
      ['09:00:30.999Z', true],
      ['09:00:31.000Z', false],
    ],
  ],
])('a time of day means the minute or second that it names: %s %s', (operator, time, moments) => {
  const compiled = compile({ permission: [execute(pay, [when('v:timeOfDay', operator, time)])] });
  for (const [at, isPermitted] of moments)
    expect(judge(compiled.rules, { ...callOf('a.example:pay:v1'), nowMs: Date.parse(`2026-03-04T${at}`) }).isPermitted).toBe(isPermitted);
});

describe('contradictions', () => {
  const warn = (members: Partial<Policy>, sinceMs = 0) => problemsIn(members, sinceMs).map(({ path, problem }) => `${path} ${problem}`);
  const time = (operand: string, operator: Operator, value: string) => when(`v:${operand}`, operator, value);

  test.each<[string, Constraint[]]>([
    ['bounds that do not meet', [amount('lt', 5), amount('gte', 5)]],
    ['a list without what is left', [amount('within', [1, 2]), amount('neq', 1), amount('neq', 2)]],
    ['a time that has no length', [time('dateTime', 'gte', '2026-01-01T00:00:00Z'), time('dateTime', 'lt', '2026-01-01T01:00:00+01:00')]],
    ['a second that is not within a minute', [time('timeOfDay', 'gt', '17:00'), time('timeOfDay', 'lte', '17:00:59')]],
    ['hours that do not meet', [time('timeOfDay', 'gte', '17:00'), time('timeOfDay', 'lt', '09:00')]],
    ['two days at once', [time('dayOfWeek', 'eq', 'monday'), time('dayOfWeek', 'eq', 'tuesday')]],
  ])('a contradiction is reported: %s', (_, constraint) => {
    expect(warn({ permission: [execute(pay, constraint)] })).toEqual([
      expect.stringMatching(
        /^\/permission\/0 allows nothing, because no call meets \/permission\/0\/constraint\/0 and .*: You may execute the intent/,
      ),
    ]);
  });

  test.each<[string, Constraint[]]>([
    ['an open interval', [amount('gt', 5), amount('lt', 5.000001)]],
    ['seconds of the minute that is named', [time('timeOfDay', 'gte', '17:00:59'), time('timeOfDay', 'lte', '17:00')]],
    ['a list with one left', [amount('within', [1, 2]), amount('neq', 1)]],
    ['instants that meet', [time('dateTime', 'gte', '2026-01-01T00:00:00Z'), time('dateTime', 'lte', '2026-01-01T00:00:00Z')]],
  ])('no contradiction is reported in %s', (_, constraint) => {
    expect(warn({ permission: [execute(pay, constraint)] })).toEqual([]);
  });

  test('a rule that ended in the past is reported', () => {
    const until = [time('dateTime', 'lt', '2026-01-01T00:00:00Z')];
    const year = [time('dateTime', 'gte', '2026-01-01T00:00:00Z'), time('dateTime', 'lt', '2027-01-01T00:00:00Z')];
    const since = (at: string, members: Partial<Policy>) => warn(members, Date.parse(at));
    const permission = [execute(pay, until), execute(pay, year)];
    const over = expect.stringMatching(/^\/permission\/0 allows nothing, because no call meets \/permission\/0\/constraint\/0 any more: /);
    expect(since('2025-12-31T23:59:59Z', { permission })).toEqual([]);
    expect(since('2026-01-01T00:00:00Z', { permission })).toEqual([over]);
    expect(since('2026-12-31T23:59:59Z', { permission })).toEqual([over]);
    expect(since('2027-01-01T00:00:00Z', { permission })).toHaveLength(2);
    expect(since('2026-01-01T00:00:00Z', { permission: [execute(pay)], prohibition: [execute(pay, until)] })).toEqual([
      expect.stringMatching(/^\/prohibition\/0 applies to nothing, because no call meets \/prohibition\/0\/constraint\/0 any more: /),
    ]);
  });

  test('a policy without any permission is reported', () => {
    expect(warn({})).toEqual(['/permission is empty, so the policy allows nothing']);
    expect(warn({ permission: [], prohibition: [execute(pay)] })).toHaveLength(1);
  });

  test.each<[string, Constraint[], Constraint[][], string[]]>([
    ['a part of what is prohibited', [amount('lt', 100)], [[amount('lt', 500)]], ['/prohibition/0']],
    ['what prohibitions leave nothing of', [], [[amount('lt', 5)], [amount('gte', 5)]], ['/prohibition/0', '/prohibition/1']],
    ['the one value that is prohibited', [amount('eq', 'x')], [[amount('within', ['x', 'y'])]], ['/prohibition/0']],
    ['what one of two prohibitions covers', [amount('lt', 5)], [[amount('gt', 500)], [amount('lt', 9)]], ['/prohibition/1']],
  ])('a permission of %s is reported', (_, constraint, prohibited, places) => {
    for (const target of [pay, intents]) {
      const prohibition = prohibited.map((one) => execute(target, one));
      expect(warn({ permission: [execute(pay, constraint)], prohibition })).toEqual([
        expect.stringMatching(`^/permission/0 allows nothing, because what it permits is prohibited by ${places.join(' and ')}: You may`),
      ]);
    }
  });

  test('of 300 prohibitions that are assigned to agents, only that of the permitted agent is named', () => {
    const prohibition = Array.from({ length: 300 }, (_, at) => ({ ...execute(intents), assignee: `agent-${at}` }));
    expect(warn({ permission: [{ ...execute(pay), assignee: 'agent-7' }], prohibition })).toEqual([
      expect.stringMatching(
        /^\/permission\/0 allows nothing, because what it permits is prohibited by \/prohibition\/7: The agent agent-7 may/,
      ),
    ]);
    expect(warn({ permission: [{ ...execute(pay), assignee: 'another-agent' }], prohibition })).toEqual([]);
  });

  // comparing each with each takes longer than a test may
  test('of 3,000 prohibited intents, each is looked up only where a permission names it', () => {
    const prohibition = Array.from({ length: 3_000 }, (_, at) => execute(`${intents}/a.example:call-${at}:v1`));
    expect(warn({ permission: [execute(intents), execute(`${intents}/A.example:call-7:v1`)], prohibition })).toEqual([
      expect.stringMatching(/^\/permission\/1 allows nothing, because \/prohibition\/7 prohibits all of it: /),
    ]);
  });

  test('a permission is not reported if prohibitions leave something of it', () => {
    const other = { ...amount('lt', 5), leftOperand: `${pay}/parameters/other` };
    for (const prohibited of [[[amount('lt', 50)]], [[amount('lt', 500), other]], [[{ ...other, operator: 'eq' as const }]]]) {
      const prohibition = prohibited.map((one) => execute(pay, one));
      expect(warn({ permission: [execute(pay, [amount('lt', 100)])], prohibition })).toEqual([]);
    }
  });

  test('contradicting conditions on all intents and on one of them are reported', () => {
    const namespace = `${intents}?namespace=a.example`;
    expect(warn({ permission: [execute(namespace, [amount('lt', 5, namespace), amount('gt', 10)])] })).toEqual([
      expect.stringMatching(
        /^\/permission\/0 allows no call of a.example:pay:v1, because no call meets \/permission\/0\/constraint\/0 and/,
      ),
    ]);
    expect(
      warn({ permission: [execute(namespace, [amount('lt', 5, namespace)])], prohibition: [execute(pay, [amount('lt', 9)])] }),
    ).toEqual([]);
  });

  test('a price above the budget, a prohibited permission, and conditions that another permission voids are reported', () => {
    const duty = [{ action: 'pay', amount: { price: 3, budget: 2 }, unit: 'v:EUR', timeInterval: 'P1D' }];
    expect(warn({ permission: [{ ...execute(pay), duty }] })).toEqual([
      '/permission/0 allows nothing, because the price is more than the budget (/permission/0/duty/0): You may execute the intent a.example:pay:v1, for 3 EUR each time, at most 2 EUR per day.',
    ]);
    expect(warn({ permission: [execute(pay)], prohibition: [execute(`${intents}?namespace=a.example`)] })).toEqual([
      '/permission/0 allows nothing, because /prohibition/0 prohibits all of it: You may execute the intent a.example:pay:v1.',
    ]);
    expect(warn({ permission: [execute(intents), execute(pay, [amount('lt', 5), rate(3)])] })).toEqual([
      '/permission/1 does not restrict what /permission/0 permits without its conditions, and limits only calls that meet them: You may execute the intent a.example:pay:v1 if parameter amount is less than 5, at most 3 times a day.',
    ]);
  });
});

test('a comparison of two policies lists the intents that are gained, lost and limited otherwise', () => {
  const listed = ['a.example:pay:v1', 'a.example:get:v1', 'b.example:get:v1', 'c.example:get:v1'].map((intentUid) => ({ intentUid }));
  const before = compile({ permission: [execute(`${intents}?namespace=a.example`, [rate(5)]), execute(`${intents}?namespace=b.example`)] });
  const after = compile({
    permission: [execute(`${intents}?namespace=c.example`), execute(`${intents}?namespace=a.example`, [rate(5)])],
    prohibition: [execute(pay, [amount('gte', 500)])],
  });
  expect(compareForRegistry(before, before, listed)).toEqual({ gained: [], lost: [], limitedOtherwise: [] });
  expect(compareForRegistry(before, after, listed)).toEqual({
    gained: ['c.example:get:v1'],
    lost: ['b.example:get:v1'],
    limitedOtherwise: [
      {
        intent_uid: 'a.example:pay:v1',
        before: ['You may execute every intent of the namespace a.example, at most 5 times a day.'],
        after: [
          'You may execute every intent of the namespace a.example, at most 5 times a day.',
          'You must not execute the intent a.example:pay:v1 if parameter amount is at least 500, whatever else is permitted.',
        ],
      },
    ],
  });
});

test('a refusal names the conditions of all permissions, any of which would suffice', () => {
  const { rules } = compile({ permission: [execute(pay, [amount('lt', 100)]), execute(pay, [amount('gte', 500), amount('lte', 900)])] });
  const wordsOf = (given: number) => {
    const judgement = judge(rules, callOf('a.example:pay:v1', { amount: given }));
    if (judgement.isPermitted || !judgement.rule) throw new Error('not refused');
    return describeRefusal(judgement.rule, judgement.condition, judgement.otherwise);
  };
  expect(wordsOf(300)).toBe('You may execute this only if parameter amount is less than 100, or if parameter amount is at least 500.');
  expect(wordsOf(1_000)).toBe('You may execute this only if parameter amount is less than 100, or if parameter amount is at most 900.');
});

describe('the most expensive call of a budget', () => {
  const from = (price: number, target: string) => ({
    action: 'pay',
    amount: { price, budget: 20 },
    unit: 'v:EUR',
    timeInterval: 'P1D',
    target,
  });
  const x = `${intents}/a.example:x:v1`;

  test.each<[string, Record<string, number>, Record<string, number>, number]>([
    ['two prices', { [pay]: 1, [x]: 3 }, {}, 300],
    ['prices that add up', { [pay]: 1, [intents]: 3 }, {}, 400],
    ['more than there is together', { [pay]: 15, [intents]: 6 }, {}, 2_000],
    ['another budget', { [pay]: 1 }, { [intents]: 3 }, 100],
  ])('the most expensive call of a budget counts %s', (_, daily, other, expected) => {
    const permission = [
      ...Object.entries(daily).map(([target, price]) => execute(target, [], [from(price, 'v:daily')])),
      ...Object.entries(other).map(([target, price]) => execute(target, [], [from(price, 'v:other')])),
    ];
    expect(chargesOf(compile({ permission }).rules.slice(0, 1)).map(unitOf)).toEqual([expected]);
  });
});

test('the terms of an intent are the permissions that name it', () => {
  const compiled = compile({ permission: [execute(intents, [rate(9)]), execute(pay, [rate(2)])] });
  expect(describeTerms(compiled, { intentUid: 'a.example:pay:v1' })).toEqual([
    'You may execute the intent a.example:pay:v1, at most 2 times a day.',
  ]);
  expect(describeTerms(compiled, { intentUid: 'a.example:get:v1' })).toEqual([]);
});

describe('conditions on the intent itself', () => {
  const on = (term: string, operator: Operator, value: Value) => when(`${baseUrl}/vocabulary/${term}`, operator, value);
  const github = { service_id: '01JGITHUB', service_name: 'GitHub REST API' };
  const intent = (slug: string, method: string, tags: string[] = [], service = github) =>
    judgedIntent({ intent_uid: `api.github.example:${slug}:v1`, endpoint: { method }, tags }, service);
  const read = intent('repos-get', 'GET', ['Repos']);
  const remove = intent('repos-delete', 'DELETE', ['repos', 'dangerous']);
  const other = intent('send', 'POST', [], { service_id: '01JOTHER', service_name: 'Other' });
  const isPermitted = (compiled: CompiledPolicy, one: JudgedIntent) => judge(compiled.rules, { ...callOf(''), ...one }).isPermitted;

  test.each<[string, Constraint, [read: boolean, remove: boolean, other: boolean]]>([
    ['method eq', on('method', 'eq', 'GET'), [true, false, false]],
    ['method neq', on('method', 'neq', 'GET'), [false, true, true]],
    ['tag eq, whatever its letter case', on('tag', 'eq', 'REPOS'), [true, true, false]],
    ['tag neq', on('tag', 'neq', 'dangerous'), [true, false, true]],
    ['service eq, by name', on('service', 'eq', 'github  rest api'), [true, true, false]],
    ['service eq, by id', on('service', 'eq', '01JGITHUB'), [true, true, false]],
    ['service neq', on('service', 'neq', 'Other'), [true, true, false]],
  ])('a condition on the intent itself is judged: %s', (_, constraint, expected) => {
    const permitted = compile({ permission: [execute(intents, [constraint])] });
    expect([read, remove, other].map((one) => isPermitted(permitted, one))).toEqual(expected);
    expect([read, remove, other].map((one) => mayBeExecuted(permitted.rules, one))).toEqual(expected);
    const prohibited = compile({ permission: [execute(intents)], prohibition: [execute(intents, [constraint])] });
    expect([read, remove, other].map((one) => isPermitted(prohibited, one))).toEqual(expected.map((is) => !is));
    expect([read, remove, other].map((one) => mayBeExecuted(prohibited.rules, one))).toEqual(expected.map((is) => !is));
    const unknown = { intentUid: read.intentUid };
    expect([isPermitted(permitted, unknown), isPermitted(prohibited, unknown)]).toEqual([false, false]);
  });

  test('read-only access to one service needs two rules', () => {
    const compiled = compile({
      permission: [execute(intents, [on('service', 'eq', 'GitHub REST API'), rate(60)])],
      prohibition: [execute(intents, [on('method', 'neq', 'GET')])],
    });
    expect([read, remove, other].map((one) => isPermitted(compiled, one))).toEqual([true, false, false]);
    expect(describeTerms(compiled, read)).toEqual([
      'You may execute every intent if the service is GitHub REST API, at most 60 times a day.',
    ]);
    const everything = compile({ permission: [execute(intents, [rate(60)])] });
    expect(compareForRegistry(everything, compiled, [read, remove, other])).toMatchObject({
      gained: [],
      lost: [remove.intentUid, other.intentUid],
    });
    expect(explainCall(compiled.rules, { ...callOf(''), ...remove })).toMatchObject({
      isPermitted: false,
      decidedBy: '/prohibition/0/constraint/0',
    });
  });

  test.each<[string, Constraint[], number]>([
    ['two methods at once', [on('method', 'eq', 'GET'), on('method', 'eq', 'PUT')], 1],
    ['a tag that is there and is not', [on('tag', 'eq', 'a'), on('tag', 'neq', 'A')], 1],
    ['two tags', [on('tag', 'eq', 'a'), on('tag', 'eq', 'b')], 0],
    ['an id and a name', [on('service', 'eq', 'A'), on('service', 'eq', '01J')], 0],
  ])('conditions on the intent itself are reported if they contradict each other: %s', (_, constraints, warnings) => {
    expect(problemsIn({ permission: [execute(intents, constraints)] })).toHaveLength(warnings);
  });
});
