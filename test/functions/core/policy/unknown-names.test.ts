import { expect, test } from '@jest/globals';
import { compilePolicy } from '../../../../functions/core/policy/compile.ts';
import { judgedIntent } from '../../../../functions/core/policy/conditions.ts';
import { parsePolicyTemplate } from '../../../../functions/core/policy/template.ts';
import { findUnknownNames } from '../../../../functions/core/policy/unknown-names.ts';
import { placeholder } from '../../../../schemas/policy.ts';

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

test('names that something has are none', () => {
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

test('twenty names that nothing has are all reported, with the nearest', () => {
  const permission = [
    rule(intents, on('service', 'GitHub REST'), on('tag', ['repo', 'Repos', 'issues'], 'isAnyOf'), on('parameters/amuont', 5)),
    rule(`${intents}?namespace=api.gihub.com`, on('parameters/x', 1)),
    rule(`${intents}/api.github.com:repos-get:v1`, on('parameters/onwer', 'x')),
  ];
  const prohibition = Array.from({ length: 14 }, (_, at) => rule(`${intents}/api.github.com:repo-delet${at}:v1`));
  const found = unknownIn({ permission, prohibition });
  expect(found).toHaveLength(20);
  expect(found.slice(0, 7)).toEqual([
    {
      path: '/permission/0/constraint/0/rightOperand',
      problem: 'names the service "GitHub REST", which does not exist; the nearest is "GitHub REST API"',
    },
    { path: '/permission/0/constraint/1/rightOperand', problem: 'names the tag "repo", which does not exist; the nearest is "Repos"' },
    { path: '/permission/0/constraint/1/rightOperand', problem: 'names the tag "issues", which does not exist; the nearest is "Repos"' },
    {
      path: '/permission/0/constraint/2/leftOperand',
      problem: 'names the parameter "amuont", which does not exist; the nearest is "amount"',
    },
    { path: '/permission/1/target', problem: 'names the namespace "api.gihub.com", which does not exist; the nearest is "api.github.com"' },
    {
      path: '/permission/2/constraint/0/leftOperand',
      problem: 'names the parameter "onwer", which does not exist; the nearest is "owner"',
    },
    {
      path: '/prohibition/0/target',
      problem: 'names the intent "api.github.com:repo-delet0:v1", which does not exist; the nearest is "api.github.com:repos-delete:v1"',
    },
  ]);
});
