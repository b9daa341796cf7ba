import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Condition, Scalar } from '../../../../functions/core/policy/conditions.ts';
import { judge, namesIntent, rulesFor } from '../../../../functions/core/policy/judge.ts';
import type { Rule } from '../../../../functions/core/policy/reading.ts';
import { rulesKnowing, rulesNaming, rulesOf } from '../../../../functions/core/policy/rule-index.ts';
import { coversEntry, foldNamespace, isRuledOut } from '../../../../functions/core/policy/scope.ts';

const condition = (members: Pick<Condition, 'subject' | 'values'> & Partial<Condition>): Condition => ({
  pointer: '/condition',
  comparison: 'eq',
  ...members,
});

const namespace = fc.constantFrom('a.example', 'A.example', 'b.example');
const slug = fc.constantFrom('pay', 'read');
const version = fc.constantFrom('v1', 'v2');
const uid = fc.tuple(namespace, slug, version).map((parts) => parts.join(':'));
const orAny = (segment: fc.Arbitrary<string>) => fc.oneof(segment, fc.constant('*'));
const entry = fc.tuple(orAny(namespace), orAny(slug), orAny(version)).map((parts) => `${parts.join(':')}:execute`);

const assignee = fc.constantFrom(
  condition({ subject: { of: 'agentKey' }, values: ['key-1'], isAssignee: true }),
  condition({ subject: { of: 'agentDomain' }, values: ['acme.example'], isAssignee: true }),
  condition({ subject: { of: 'agentId' }, values: ['bot'], isAssignee: true }),
);
const tag = fc.constantFrom('x', 'y').map((value) => condition({ subject: { of: 'tag' }, values: [value] }));
const rule: fc.Arbitrary<Rule> = fc
  .tuple(
    fc.constantFrom<Rule['kind']>('permission', 'prohibition', 'limit'),
    entry,
    fc.array(tag, { maxLength: 1 }),
    fc.array(assignee, { maxLength: 1 }),
  )
  .map(([kind, covered, tags, assignees]) => ({
    pointer: '/rule',
    kind,
    entry: covered,
    conditions: [...tags, ...assignees],
    charges: [],
    payments: [],
    needsApproval: false,
  }));
const rules = fc.array(rule, { maxLength: 30 }).map((list) => list.map((one, at) => ({ ...one, pointer: `/rule/${at}` })));
const agent = fc.record({
  account: fc.constantFrom('key-1', 'key-2'),
  agentDomain: fc.constantFrom('acme.example', undefined),
  agentId: fc.constantFrom('Bot', 'other', undefined),
});

describe('the index of a policy', () => {
  test('the index of a policy finds exactly the rules that name an intent, in their order', () => {
    fc.assert(
      fc.property(rules, uid, (list, intentUid) => {
        expect(rulesNaming(list, intentUid)).toEqual(list.filter((one) => namesIntent(one, intentUid)));
      }),
      { numRuns: 500 },
    );
  });

  test('the index of a policy finds exactly the rules that are assigned to an agent or to nobody, in their order', () => {
    fc.assert(
      fc.property(rules, agent, (list, { account, agentDomain, agentId }) => {
        const facts: Record<string, unknown> = { agentKey: account, agentDomain, agentId: agentId?.toLowerCase() };
        const isIts = ({ conditions }: Rule) => conditions.every((one) => !one.isAssignee || facts[one.subject.of] === one.values[0]);
        expect(rulesOf(list, { account, agentDomain, agentId }).map(({ pointer }) => pointer)).toEqual(
          list.filter(isIts).map(({ pointer }) => pointer),
        );
      }),
      { numRuns: 500 },
    );
  });

  test('the index of a policy gives agents to whom the same rules are assigned the same list, so that it is compiled once', () => {
    const list = fc.sample(rules, { seed: 1, numRuns: 20 }).flat();
    expect(rulesOf(list, { account: 'key-2', agentId: 'one' })).toBe(rulesOf(list, { account: 'key-3', agentId: 'two' }));
    expect(rulesOf(list, { account: 'key-1' })).not.toBe(rulesOf(list, { account: 'key-2' }));
  });

  test('the rules that know an agent judge each of its calls as all rules do, and are one list for agents of whom the same holds', () => {
    const onAgent = fc
      .record({
        subject: fc.constantFrom({ of: 'agentKey' as const }, { of: 'agentDomain' as const }),
        comparison: fc.constantFrom('eq' as const, 'neq' as const, 'gt' as const),
        // a number cannot be compared with a key
        values: fc.constantFrom<Scalar[]>(['key-1'], ['acme.example'], [5]),
      })
      .map(condition);
    const conditional = fc
      .tuple(rules, fc.array(fc.array(onAgent, { maxLength: 2 }), { minLength: 30, maxLength: 30 }))
      .map(([list, more]) =>
        list.map((one, at) => ({ ...one, conditions: [...one.conditions.filter(({ isAssignee }) => !isAssignee), ...(more[at] ?? [])] })),
      );
    fc.assert(
      fc.property(conditional, agent, uid, fc.constantFrom(['x'], []), (list, who, intentUid, tags) => {
        const call = { ...who, intentUid, tags, parameters: {}, nowMs: 0 };
        const known = rulesKnowing(list, who);
        expect(judge(known, call).isPermitted).toBe(judge(list, call).isPermitted);
        expect(rulesKnowing(list, { ...who, agentId: 'another' })).toBe(known);
      }),
      { numRuns: 500 },
    );
  });

  test('the index of a policy subtracts exactly the entries that a prohibition covers, whatever the letter case of the namespace', () => {
    fc.assert(
      fc.property(
        fc.array(entry, { maxLength: 20 }),
        fc.oneof(
          uid.map((one) => `${one}:execute`),
          entry,
        ),
        (prohibitions, one) => {
          const isCovered = prohibitions.some((other) => coversEntry(foldNamespace(other), foldNamespace(one)));
          expect(isRuledOut(prohibitions, one)).toBe(isCovered);
        },
      ),
      { numRuns: 500 },
    );
  });

  test('the index of a policy does not grow with the segments of a uid that a request invents', () => {
    expect(rulesNaming([], `${'a:'.repeat(10_000)}v1`)).toEqual([]);
    expect(isRuledOut(['*:*:*:execute'], 'a:'.repeat(10_000))).toBe(false);
  });

  test('the index of a policy tells intents apart by method, tags and service', () => {
    const forbidden: Rule = {
      pointer: '/prohibition/0',
      kind: 'prohibition',
      entry: '*:*:*:execute',
      conditions: [condition({ subject: { of: 'tag' }, values: ['x'] })],
      charges: [],
      payments: [],
      needsApproval: false,
    };
    const list: Rule[] = [{ ...forbidden, pointer: '/permission/0', kind: 'permission', conditions: [] }, forbidden];
    const pointersFor = (tags: string[]) => rulesFor(list, { intentUid: 'a.example:pay:v1', tags }).map(({ pointer }) => pointer);
    expect([pointersFor(['x']), pointersFor(['y']), pointersFor(['x'])]).toEqual([
      ['/permission/0', '/prohibition/0'],
      ['/permission/0'],
      ['/permission/0', '/prohibition/0'],
    ]);
    const call = { intentUid: 'a.example:pay:v1', parameters: {}, account: '', nowMs: 0 };
    expect(judge(list, { ...call, tags: ['x'] })).toMatchObject({ isPermitted: false, reason: 'condition' });
    expect(judge(list, { ...call, tags: ['y'] })).toMatchObject({ isPermitted: true });
  });
});
