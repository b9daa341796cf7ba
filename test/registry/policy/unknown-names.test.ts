import { expect, test } from '@jest/globals';
import { compilePolicy } from '../../../functions/core/policy/compile.ts';
import { judgedIntent } from '../../../functions/core/policy/conditions.ts';
import { placeholder } from '../../../functions/core/policy/placeholder.ts';
import { parsePolicyTemplate } from '../../../functions/core/policy/template.ts';
import { findUnknownNames } from '../../../registry/policy/unknown-names.ts';

const github = { service_id: '01JGITHUB', service_name: 'GitHub REST API' };
const intent = (slug: string, method: string, parameters: string[]) => ({
  ...judgedIntent({ intent_uid: `api.github.com:${slug}:v1`, endpoint: { method }, tags: ['Repos'] }, github),
  parameters,
});
const known = {
  services: [github],
  intents: [intent('repos-get', 'GET', ['owner']), intent('repos-delete', 'DELETE', ['owner', 'amount'])],
};
const intents = '{base_url}/api/intents';
const on = (leftOperand: string, rightOperand: unknown, operator = 'eq') => ({ leftOperand, operator, rightOperand });
const rule = (target: string, ...constraint: object[]) => ({ target, action: 'execute', constraint });
const unknownIn = (policy: object) =>
  findUnknownNames(compilePolicy(parsePolicyTemplate(JSON.stringify(policy)), placeholder).rules, known);

test('known names are not reported', () => {
  const permission = [
    rule(
      intents,
      on('tag', 'repos'),
      on('service', ['github rest api', '01JGITHUB'], 'isAnyOf'),
      on('parameters/amount', 5, 'lt'),
      on('method', 'DELETE'),
    ),
  ];
  const prohibition = [
    rule(`${intents}/API.GitHub.com:repos-delete:v1`),
    rule(`${intents}?namespace=api.github.com`, on('parameters/owner', 'x')),
  ];
  expect(unknownIn({ permission, prohibition })).toEqual([]);
});

test('all unknown names are reported with the nearest known one', () => {
  const permission = [
    rule(intents, on('service', 'GitHub REST'), on('tag', ['repo', 'Repos', 'issues'], 'isAnyOf'), on('parameters/amuont', 5)),
    rule(`${intents}?namespace=api.gihub.com`, on('parameters/x', 1)),
    rule(`${intents}/api.github.com:repos-get:v1`, on('parameters/onwer', 'x')),
  ];
  const prohibition = [rule(`${intents}/api.github.com:repo-delete:v1`)];
  const found = unknownIn({ permission, prohibition }).map(({ path, problem }) => `${path} ${problem}`);
  const names = (kind: string, name: string, nearest: string) =>
    `names the ${kind} "${name}", which does not exist; the nearest is "${nearest}"`;
  expect(found).toEqual([
    `/permission/0/constraint/0/rightOperand ${names('service', 'GitHub REST', 'GitHub REST API')}`,
    `/permission/0/constraint/1/rightOperand ${names('tag', 'repo', 'Repos')}`,
    `/permission/0/constraint/1/rightOperand ${names('tag', 'issues', 'Repos')}`,
    `/permission/0/constraint/2/leftOperand ${names('parameter', 'amuont', 'amount')}`,
    `/permission/1/target ${names('namespace', 'api.gihub.com', 'api.github.com')}`,
    `/permission/2/constraint/0/leftOperand ${names('parameter', 'onwer', 'owner')}`,
    `/prohibition/0/target ${names('intent', 'api.github.com:repo-delete:v1', 'api.github.com:repos-delete:v1')}`,
  ]);
});
