import { globSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { compilePolicy, publishPolicy } from '../../../../functions/core/policy/compile.ts';
import type { Call } from '../../../../functions/core/policy/conditions.ts';
import { type Judgement, judge } from '../../../../functions/core/policy/judge.ts';
import { openPolicy as openPublished } from '../../../../functions/core/policy/policy.ts';
import { rulesOf } from '../../../../functions/core/policy/rule-index.ts';
import { fillTemplate, parsePolicyTemplate } from '../../../../functions/core/policy/template.ts';
import { writePublished } from '../../../../functions/core/policy/write-published.ts';
import { methods } from '../../../../schemas/intent.ts';
import { openPolicy } from '../../../support/policy.ts';
import { seededRandom } from '../../../support/random.ts';

const baseUrl = 'https://gate.example/$&';
const files = globSync('{policy.json,samples/policies/*.json}').sort();
const templates = files.map((file) => parsePolicyTemplate(readFileSync(file, 'utf8')));

const texts = files.flatMap((file) => [...readFileSync(file, 'utf8').matchAll(/[a-z.]+\.example:[a-z-]+:v1/g)].map(([uid]) => uid));
const uids = [...new Set([...texts, 'open.example:a:v1'])];

function randomCall(random: () => number): Call {
  const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)] as T;
  const maybe = <T>(value: T): T | undefined => (random() < 0.7 ? value : undefined);
  return {
    intentUid: pick(uids),
    method: pick(methods),
    tags: pick([[], ['money'], ['refund', 'read']]),
    service: { service_id: '1', service_name: pick(['GitHub', 'Payments']) },
    parameters: { amount: pick([1, 499, 500, 5_000, 'much']), currency: pick(['EUR', 'USD']), to: maybe('me') },
    account: pick(['', 'x'.repeat(43)]),
    agentDomain: maybe(pick(['bot.example', 'partner.example'])),
    agentId: pick(['agent-1', 'acme']),
    nowMs: Date.UTC(2026, 0, 1) + Math.floor(random() * 365 * 86_400_000),
  };
}

/** What decides, and how. Rules and conditions have pointers of their own. */
const nameOf = (judgement: Judgement): string =>
  judgement.isPermitted
    ? judgement.rules.map(({ pointer }) => pointer).join(' ')
    : [judgement.reason, judgement.rule?.pointer, ...[judgement.condition, ...(judgement.otherwise ?? [])].map((one) => one?.pointer)].join(
        ' ',
      );

test('100,000 calls are judged alike by published policies and by the files that they were published from', () => {
  const random = seededRandom(1);
  const each = Math.ceil(100_000 / templates.length);
  let permitted = 0;
  let refused = 0;
  for (const template of templates) {
    const ofFile = compilePolicy(fillTemplate(template, baseUrl), baseUrl);
    const published = openPolicy(template)(baseUrl);
    expect(published.rules).toEqual(ofFile.rules);
    for (let count = 0; count < each; count++) {
      const call = randomCall(random);
      const judgement = judge(rulesOf(published.rules, call), call);
      if (nameOf(judgement) !== nameOf(judge(rulesOf(ofFile.rules, call), call)))
        throw new Error(`${JSON.stringify(call)} is judged otherwise`);
      if (judgement.isPermitted) permitted++;
      else refused++;
    }
  }
  expect(Math.min(permitted, refused)).toBeGreaterThan(10_000);
}, 60_000);

test('only its own address is published as {base_url}, and not where it names an agent', () => {
  const gate = 'https://gate.example';
  const target = `${gate}/api/intents`;
  const assigned = (assignee: string) => ({ target, action: 'execute', assignee });
  const policy = { ...templates[0], uid: `${gate}.org/policy`, permission: [assigned(gate), assigned(`${gate}.org`)], prohibition: [] };
  const opened = openPublished(writePublished(publishPolicy(policy as never, gate)))('https://other.example');
  expect(opened.policy.uid).toBe(`${gate}.org/policy`);
  expect(opened.rules.flatMap(({ conditions }) => conditions)).toMatchObject([
    { subject: { of: 'agentDomain' }, values: ['gate.example'] },
    { subject: { of: 'agentDomain' }, values: ['gate.example.org'] },
  ]);
  expect(() => publishPolicy({ ...policy, permission: [assigned('{base_url}')] } as never, gate)).toThrow(
    '/permission/0/assignee must not contain {base_url}: no agent has the address of the gate',
  );
});

test('thousands of prohibitions are published and opened in a moment', () => {
  const prohibition = Array.from({ length: 3_000 }, (_, at) => ({ target: `{base_url}/api/intents?namespace=a${at}`, action: 'execute' }));
  const startedMs = performance.now();
  expect(openPolicy({ ...templates[0], prohibition } as never)(baseUrl).compiled.prohibited).toHaveLength(3_000);
  expect(performance.now() - startedMs).toBeLessThan(3_000);
});
