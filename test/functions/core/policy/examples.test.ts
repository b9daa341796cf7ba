import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { compilePolicy } from '../../../../functions/core/policy/compile.ts';
import { findContradictions } from '../../../../functions/core/policy/contradictions.ts';
import { chargesOf, judge, rulesRequiringApproval } from '../../../../functions/core/policy/judge.ts';
import { fillTemplate, parsePolicyTemplate } from '../../../../functions/core/policy/template.ts';

const folder = 'samples/policies';
const baseUrl = 'https://gate.example';
const sections = readFileSync(`${folder}/README.md`, 'utf8').split(/^## /m).slice(1);
const code = (cell = '') => cell.trim().replace(/^`(.*)`$/, '$1');

test('each of the twenty-one examples has a table', () => {
  const files = readdirSync(folder).filter((file) => file.endsWith('.json'));
  expect(files.sort()).toEqual(sections.map((section) => `${section.split('\n')[0]}.json`).sort());
  expect(files).toHaveLength(21);
});

describe.each(sections.map((section): [string, string] => [section.split('\n')[0] ?? '', section]))('%s', (name, section) => {
  const policy = fillTemplate(parsePolicyTemplate(readFileSync(`${folder}/${name}.json`, 'utf8')), baseUrl);
  const { rules } = compilePolicy(policy, baseUrl);
  const rows = [...section.matchAll(/^\| (`.*) \|$/gm)].map(([, row = '']) => row.split(' | ').map(code));

  test.each(rows)('the policy judges %s %s %s: %s', (intentUid = '', parameters = '{}', circumstance = '', outcome = '', decisive = '') => {
    const atMs = Date.parse(circumstance);
    const judgement = judge(rules, {
      intentUid,
      parameters: JSON.parse(parameters),
      account: Number.isNaN(atMs) ? circumstance : '',
      nowMs: Number.isNaN(atMs) ? 0 : atMs,
    });
    if (judgement.isPermitted) {
      const limits = chargesOf(judgement.rules).map((charge) => charge.name);
      expect([rulesRequiringApproval(judgement.rules).length > 0 ? 'approval' : 'permitted', limits.join(', ')]).toEqual([
        outcome,
        decisive,
      ]);
    } else {
      expect([judgement.reason, (judgement.condition ?? judgement.rule)?.pointer ?? '']).toEqual([outcome, decisive]);
    }
  });

  test('the example policy does not contradict itself', () => {
    const problems = findContradictions(policy, baseUrl, 0).map(({ path }) => path);
    expect(problems).toEqual(name === 'all-but-one' ? ['/permission/1'] : []);
  });
});
