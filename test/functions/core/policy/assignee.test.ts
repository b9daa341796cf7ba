import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { agentOf, readAssignee } from '../../../../functions/core/policy/assignee.ts';
import { compilePolicy } from '../../../../functions/core/policy/compile.ts';
import { compileRules } from '../../../../functions/core/policy/compiled-policy.ts';
import type { JudgedAgent } from '../../../../functions/core/policy/conditions.ts';
import { findContradictions } from '../../../../functions/core/policy/contradictions.ts';
import { judge, mayBeExecuted } from '../../../../functions/core/policy/judge.ts';
import { rulesOf } from '../../../../functions/core/policy/rule-index.ts';
import { describePolicy } from '../../../../functions/core/policy/sentences.ts';
import { fillTemplate, parsePolicyTemplate } from '../../../../functions/core/policy/template.ts';

const address = 'https://gate.example';
const key = 'k'.repeat(43);
const read = (policy: object) => fillTemplate(parsePolicyTemplate(JSON.stringify(policy), address), address);
const rule = (assignee?: unknown, ...constraint: object[]) => ({
  target: '{base_url}/api/intents?namespace=a.example',
  action: 'execute',
  ...(assignee !== undefined && { assignee }),
  ...(constraint.length > 0 && { constraint }),
});
const rate = (rightOperand: number) => ({ leftOperand: 'rateLimit', operator: 'lteq', rightOperand, unit: 'minute' });
const rulesIn = (policy: object) => compilePolicy(read(policy), address).rules;
const intentUid = 'a.example:b:v1';
const callOf = (agent: JudgedAgent) => ({ intentUid, parameters: {}, nowMs: 0, ...agent });

test.each<[string, string, string]>([
  [key, 'agentKey', key],
  ['bot.example', 'agentDomain', 'bot.example'],
  ['https://Bot.example/', 'agentDomain', 'bot.example'],
  ['https://bot.example:8443', 'agentDomain', 'bot.example:8443'],
  ['my.agent', 'agentDomain', 'my.agent'],
  ['Acme  Agent', 'agentId', 'acme agent'],
  ['https://bot.example/agents/1', 'agentId', 'https://bot.example/agents/1'],
  ['urn:agent', 'agentId', 'urn:agent'],
  ['acme', 'agentId', 'acme'],
])('the party %j means the %s %j', (party, of, value) => {
  expect(readAssignee(party)).toEqual({ subject: { of }, values: [value] });
});

const facts: fc.Arbitrary<JudgedAgent> = fc.record(
  {
    account: fc.constantFrom('', key, 'l'.repeat(43)),
    agentId: fc.constantFrom('acme', 'Acme', 'bot.example', key, 'other'),
    agentDomain: fc.constantFrom('bot.example', 'www.bot.example', 'other.example'),
  },
  { requiredKeys: ['account'] },
);
const parties = fc.constantFrom('acme', 'bot.example', key);
const isMeant = (party: string, { account, agentId, agentDomain }: JudgedAgent): boolean =>
  ({ acme: agentId?.toLowerCase() === 'acme', 'bot.example': agentDomain === 'bot.example', [key]: account === key })[party] ?? false;

test('a rule with an assignee permits, prohibits and limits that agent only', () => {
  fc.assert(
    fc.property(parties, facts, (party, agent) => {
      const isThis = isMeant(party, agent);
      const judgedBy = (policy: object) => {
        const rules = rulesIn(policy);
        const granted = compileRules(rulesOf(rules, agent));
        const isPermitted = judge(rules, callOf(agent)).isPermitted;
        expect(judge(granted.rules, callOf(agent)).isPermitted).toBe(isPermitted);
        expect(granted.scope.length > 0).toBe(isPermitted);
        return { ...granted, isPermitted };
      };
      const permitted = judgedBy({ permission: [rule(party)] });
      expect([permitted.isPermitted, mayBeExecuted(permitted.rules, { intentUid })]).toEqual([isThis, isThis]);
      const prohibited = judgedBy({ permission: [rule()], prohibition: [rule(party)] });
      expect([prohibited.isPermitted, prohibited.prohibited.length > 0]).toEqual([!isThis, isThis]);
      const { lmt, rules } = judgedBy({ permission: [rule(undefined, rate(60)), rule(party, rate(5))] });
      expect([lmt, rules.length]).toEqual([{ rate: isThis ? 5 : 60, period: 60 }, isThis ? 2 : 1]);
    }),
  );
});

test('each assignee has separate limits, and obligations and ODRL objects can name agents', () => {
  const rules = rulesIn({
    permission: [rule({ '@id': 'bot.example' }, rate(5)), rule(key, rate(5))],
    obligation: [{ action: 'observeRateLimit', assignee: 'acme', constraint: [rate(1)] }],
  });
  expect(new Set(rules.flatMap(({ charges }) => charges.map(({ id }) => id))).size).toBe(3);
  expect(rulesOf(rules, agentOf(['acme', 'bot.example'])).map(({ pointer }) => pointer)).toEqual(['/permission/0', '/obligation/0']);
});

test('the words name the agents, and permissions that add or allow nothing are reported', () => {
  const policy = read({ permission: [rule('bot.example', rate(5)), rule(key)], prohibition: [rule('acme')] });
  expect(describePolicy(policy, address)).toEqual([
    'Agents verified for bot.example may execute every intent of the namespace a.example, at most 5 times a minute.',
    `The agent with the key ${key} may execute every intent of the namespace a.example.`,
    'The agent acme must not execute any intent of the namespace a.example, whatever else is permitted.',
  ]);
  expect(findContradictions(policy, address, 0)).toEqual([]);
  const voided = read({ permission: [rule('bot.example')], prohibition: [rule('bot.example')] });
  expect(findContradictions(voided, address, 0)).toMatchObject([{ path: '/permission/0' }]);
  expect(() => rulesIn({ permission: [rule(), rule('bot.example')] })).toThrow('/permission/1/assignee restricts nothing');
});
