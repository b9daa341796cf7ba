import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { bucketAt, liveBuckets } from '../../../functions/core/limit/window.ts';
import { chargesOf, judge } from '../../../functions/core/policy/judge.ts';
import { type Charge, isRate } from '../../../functions/core/policy/limits.ts';
import { parsePolicyTemplate } from '../../../functions/core/policy/template.ts';
import { newUlid } from '../../../functions/core/runtime/ulid.ts';
import { readTrial } from '../../../functions/trial/read-trial.ts';
import { countUses, openReplay, replay } from '../../../functions/trial/replay.ts';
import type { RecordedExecution } from '../../../schemas/executions.ts';

const everything = '{base_url}/api/intents';
const startMs = Date.parse('2026-03-02T00:00:00Z');
const [refund, transfer] = ['pay.example:refund:v1', 'pay.example:transfer:v1'];

const when = (leftOperand: string, operator: string, rightOperand: number, unit?: string) => ({
  ...{ leftOperand, operator, rightOperand },
  ...(unit !== undefined && { unit: `{base_url}/vocabulary/${unit}` }),
});
const rate = (most: number, unit: string) => when('{base_url}/vocabulary/rateLimit', 'lteq', most, unit);
const budget = (price: number, most: number) => ({
  ...{ action: 'pay', amount: { price, budget: most }, unit: 'v:EUR', timeInterval: 'P1D' },
  target: '{base_url}/budgets/daily',
});
const rule = (target: string, constraint: object[], duty: object[] = []) => ({
  ...{ target, action: 'execute' },
  ...(constraint.length > 0 && { constraint }),
  ...(duty.length > 0 && { duty }),
});
const tryRules = (permission: object[], prohibition: object[] = []) => {
  const policy = { '@context': 'http://www.w3.org/ns/odrl.jsonld', uid: '{base_url}/api/policy', type: 'Set', permission, prohibition };
  return readTrial(parsePolicyTemplate(JSON.stringify(policy)), 'https://api.example/test');
};

type Line = RecordedExecution & { started_at: string };
const line = (atMs: number, more: Partial<Line> = {}): Line => ({
  ...{ execution_id: newUlid(), agent_id: 'agent-1', holder: 'key-1', agent_domain: '', method: 'POST', tags: [] },
  ...{ intent_uid: refund, outcome: 'OK', sent: true, started_at: new Date(startMs + atMs).toISOString(), ...more },
});
const prohibited = { outcome: 'FORBIDDEN', reason: 'prohibited', sent: undefined } as const;

test.each([
  ['rate', [rule(everything, [rate(30, 'minute')])]],
  ['total', [rule(everything, [when('count', 'lteq', 30)])]],
  ['budget', [rule(everything, [], [budget(0.5, 15)])]],
])('one call that may have been invalid leaves one call undecided: %s', (_, permission) => {
  const calls = [line(0, prohibited), ...Array.from({ length: 60 }, (_, at) => line(50 + at * 50))];
  const { would_refuse, unknown } = replay(calls, { trial: tryRules(permission) }, startMs, startMs + 60_000);
  expect(would_refuse).toMatchObject([{ calls: 30 }]);
  expect(unknown).toEqual([
    {
      rule: would_refuse[0]?.rule,
      words: would_refuse[0]?.words,
      because: 'the limit may have been used up',
      calls: 1,
      ...{ intents: 1, intent_uids: [refund] },
    },
  ]);
});

const amounts = [100, 600, 950];

/** Rules with limits, and rules that depend on the amount, which is not recorded. */
const policy = fc
  .record({
    rates: fc.tuple(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 4 })),
    total: fc.integer({ min: 1, max: 6 }),
    daily: fc.integer({ min: 3, max: 12 }),
    has: fc.tuple(...Array.from({ length: 7 }, () => fc.boolean())),
  })
  .map(({ rates, total, daily, has }) => {
    const amount = (operator: string, value: number) => when(`${everything}/${refund}/parameters/amount`, operator, value);
    const permission = [
      rule(everything, has[0] ? [rate(rates[0], 'minute')] : []),
      rule(`${everything}?namespace=pay.example`, [when('count', 'lteq', total)]),
      rule(`${everything}/${refund}`, [amount('lt', 500), rate(rates[1], 'hour')]),
      rule(`${everything}/${transfer}`, [], [budget(3, daily)]),
      rule(`${everything}/${refund}`, [amount('gteq', 500)], [budget(1, daily)]),
      rule(`${everything}/${refund}`, [], [budget(2, daily)]),
      rule(`${everything}/${refund}`, [amount('gt', 900)], [{ action: 'approve' }]),
    ];
    return tryRules(
      permission.filter((_, at) => at === 0 || has[at]),
      has[0] && has[1] ? [rule(`${everything}/${refund}`, [amount('gt', 900)])] : [],
    );
  });

const call = fc.record({
  afterMs: fc.constantFrom(0, 1_000, 1_000, 20_000, 63_000, 1_000_000),
  uid: fc.constantFrom(refund, refund, transfer),
  was: fc.constantFrom('made', 'made', 'made', 'unsent', 'prohibited'),
  key: fc.constantFrom(undefined, undefined, 'a', 'b'),
});

/** In which way a call that could not be decided may have gone: with an amount, or invalid. */
type Resolution = number | 'invalid';

/** What a call may have been, and in the log. */
interface Call {
  atMs: number;
  was: 'made' | 'unsent' | 'prohibited';
  key: string | undefined;
  line: Line;
  resolutions: Resolution[];
}

const calls = fc.array(call, { minLength: 1, maxLength: 9 }).map((all): Call[] => {
  const keyed = new Map<string, { uid: string; isMade: boolean }>();
  let [atMs, open] = [0, 0];
  /** of equal requests, one that was made is valid */
  const isValid = (key: string | undefined) => all.some((one) => key !== undefined && one.key === key && one.was !== 'prohibited');
  return all.map(({ afterMs, uid: own, was, key }) => {
    atMs += afterMs;
    const uid = (key && keyed.get(key)?.uid) || own;
    const isReplayed = key !== undefined && keyed.get(key)?.isMade === true;
    if (key !== undefined) keyed.set(key, { uid, isMade: isReplayed || was === 'made' });
    const how = isReplayed ? { sent: undefined, is_replayed: true } : was === 'prohibited' ? prohibited : { sent: was === 'made' };
    const isOpen = uid === refund && open++ < 5;
    return {
      ...{ atMs, was: isReplayed ? 'made' : was, key },
      line: line(atMs, { intent_uid: uid, ...(key !== undefined && { call_key: key }), ...how }),
      // further refunds are decided to keep the number of resolutions small
      resolutions: [...(isOpen ? amounts : [100]), ...(was === 'prohibited' && !isValid(key) ? (['invalid'] as const) : [])],
    };
  });
});

/** Undefined for an invalid call. */
type Fate = 'permitted' | 'refused' | 'waiting' | undefined;

/** What becomes of calls under a policy, with a list of what has been counted instead of windows. */
function simulate(rules: ReturnType<typeof tryRules>['rules'], all: readonly Call[], resolutions: readonly Resolution[]): Fate[] {
  const counted: { id: string; bucket: number; cost: number }[] = [];
  const made = new Set<string>();
  const fits = ({ id, period, rate, cost }: Charge, atMs: number): boolean =>
    counted
      .filter((one) => one.id === id && bucketAt(atMs, period) - one.bucket < liveBuckets)
      .reduce((sum, one) => sum + one.cost, cost) <= rate;
  return all.map(({ atMs, was, key, line }, at) => {
    const amount = resolutions[at];
    if (amount === 'invalid') return undefined;
    const { intent_uid: intentUid = '' } = line;
    const judged = judge(rules, { intentUid, method: 'POST', tags: [], account: 'key-1', parameters: { amount }, nowMs: startMs + atMs });
    if (!judged.isPermitted) return 'refused';
    if (key !== undefined && made.has(key)) return 'permitted';
    const charges = chargesOf(judged.rules);
    if (!charges.every((one) => fits(one, startMs + atMs))) return 'refused';
    if (judged.rules.some(({ needsApproval }) => needsApproval)) return 'waiting';
    for (const charge of charges)
      if (was !== 'unsent' || isRate(charge))
        counted.push({ id: charge.id, bucket: bucketAt(startMs + atMs, charge.period), cost: charge.cost });
    if (key !== undefined && was !== 'unsent') made.add(key);
    return 'permitted';
  });
}

/** All ways in which the calls may have gone. Requests under one key are equal. */
function* resolve(all: readonly Call[], chosen: Resolution[] = []): Generator<Resolution[]> {
  const next = all[chosen.length];
  if (!next) return yield chosen;
  const same = next.key === undefined ? -1 : all.findIndex(({ key }) => key === next.key);
  const equal = same >= 0 && same < chosen.length ? chosen[same] : undefined;
  for (const one of equal === undefined ? next.resolutions : [equal]) yield* resolve(all, [...chosen, one]);
}

/** What may become of each valid call. */
function fatesOf(rules: ReturnType<typeof tryRules>['rules'], all: readonly Call[]): Set<string>[] {
  const fates = all.map(() => new Set<string>());
  for (const resolutions of resolve(all))
    for (const [at, fate] of simulate(rules, all, resolutions).entries()) if (fate) fates[at]?.add(fate);
  return fates;
}

test('what a replay decides is so in every way in which the undecided calls may have gone', () => {
  const property = fc.property(policy, calls, (trial, all) => {
    const { add } = openReplay({ trial });
    for (const [at, fates] of fatesOf(trial.rules, all).entries()) {
      const outcome = add((all[at] as Call).line)?.is;
      if (outcome !== 'unknown') expect([at, ...fates]).toEqual([at, outcome]);
    }
  });
  fc.assert(property, { numRuns: 100 });
});

test('of the calls of a steady stream, exactly those are undecided that depend on the first', () => {
  const trial = tryRules([rule(everything, [rate(30, 'minute')])]);
  const stream = Array.from({ length: 300 }, (_, at): Call => {
    const was = at === 0 ? 'prohibited' : 'made';
    const more = at === 0 ? prohibited : {};
    return { atMs: at * 1_000, was, key: undefined, line: line(at * 1_000, more), resolutions: at === 0 ? [100, 'invalid'] : [100] };
  });
  const { add } = openReplay({ trial });
  const expected = fatesOf(trial.rules, stream).map((fates) => (fates.size > 1 ? 'unknown' : [...fates][0]));
  expect(stream.map((one) => add(one.line)?.is)).toEqual(expected);
  expect(expected.filter((fate) => fate === 'unknown')).toHaveLength(9);
});

test('a rule is used by calls that were made, a prohibition by calls that it refused, and a condition that was not recorded leaves a range', () => {
  const small = when(`${everything}/${refund}/parameters/amount`, 'lt', 100);
  const trial = tryRules(
    [rule(everything, []), rule(`${everything}/${refund}`, [small, rate(30, 'day')])],
    [rule(`${everything}/${transfer}`, [])],
  );
  const calls = [
    line(0),
    line(1, { outcome: 'GATEWAY_TIMEOUT' }),
    line(2, { intent_uid: 'pay.example:list:v1' }),
    line(3, { sent: undefined, outcome: 'INVALID_PARAMETER' }),
    line(4, { ...prohibited, intent_uid: transfer, policy_digest: trial.digest, rule: '/prohibition/0' }),
    line(5, { ...prohibited, intent_uid: transfer, policy_digest: 'of another policy', rule: '/prohibition/0' }),
  ];
  const uses = new Map<string, boolean[]>();
  countUses(
    trial,
    calls,
    () => undefined,
    (pointer, isSure) => uses.set(pointer, [...(uses.get(pointer) ?? []), isSure]),
  );
  expect(Object.fromEntries(uses)).toEqual({
    '/permission/0': [true, true, true],
    '/permission/1': [false, false],
    '/prohibition/0': [true],
  });
});
