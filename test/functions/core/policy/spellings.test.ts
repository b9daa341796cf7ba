import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { compilePolicy } from '../../../../functions/core/policy/compile.ts';
import { describePolicy } from '../../../../functions/core/policy/describe.ts';
import { placeholder } from '../../../../functions/core/policy/placeholder.ts';
import type { PolicyError } from '../../../../functions/core/policy/reading.ts';
import { parsePolicyTemplate } from '../../../../functions/core/policy/template.ts';

const intents = '{base_url}/api/intents';
const vocabulary = (term: string) => `{base_url}/vocabulary/${term}`;
const head = { '@context': 'http://www.w3.org/ns/odrl.jsonld', uid: '{base_url}/api/policy', type: 'Set' };
const parse = (value: object) => parsePolicyTemplate(JSON.stringify(value));
const problemsOf = (value: object) => {
  try {
    compilePolicy(parse(value), placeholder);
    return [];
  } catch (error) {
    return (error as PolicyError).issues;
  }
};

const files = [
  'policy.json',
  'bin/local/policy.json',
  ...readdirSync('samples/policies')
    .filter((name) => name.endsWith('.json'))
    .map((name) => `samples/policies/${name}`),
];

test.each(files)('%s is served as it is written, byte for byte', (file) => {
  const text = readFileSync(file, 'utf8');
  expect(JSON.stringify(parsePolicyTemplate(text))).toBe(JSON.stringify(JSON.parse(text)));
});

const canonical = {
  ...head,
  permission: [
    {
      target: intents,
      action: 'execute',
      constraint: [
        { leftOperand: vocabulary('count'), operator: 'lte', rightOperand: 5 },
        { leftOperand: vocabulary('dateTime'), operator: 'lt', rightOperand: '2030-01-01T00:00:00Z' },
        { leftOperand: vocabulary('method'), operator: 'within', rightOperand: ['GET'] },
        { leftOperand: vocabulary('rateLimit'), operator: 'lte', rightOperand: 60, unit: vocabulary('day') },
      ],
    },
  ],
};
const [{ constraint }] = canonical.permission as [(typeof canonical.permission)[0]];
const at = (members: object) => ({ ...head, permission: [{ target: intents, action: 'execute', constraint, ...members }] });
const bare = [
  { leftOperand: 'count', operator: 'lteq', rightOperand: 5 },
  { leftOperand: 'dateTime', operator: 'lt', rightOperand: '2030-01-01T00:00:00Z' },
  { leftOperand: 'method', operator: 'isAnyOf', rightOperand: 'GET' },
  { leftOperand: 'rateLimit', operator: 'lteq', rightOperand: 60, unit: 'P1D' },
];

describe('one policy in many spellings is served in one', () => {
  test.each<[string, object]>([
    ['bare terms', at({ constraint: bare })],
    ['nothing but permissions', { permission: [{ target: intents, action: 'execute', constraint: bare }] }],
    [
      '$schema, @type and @id',
      { $schema: 'x', '@context': head['@context'], '@type': 'Set', '@id': head.uid, permission: canonical.permission },
    ],
    ['a policy', { ...canonical, type: 'Policy' }],
    [
      'prefixed names',
      {
        '@context': [head['@context'], { odrl: 'http://www.w3.org/ns/odrl/2/' }],
        '@type': 'odrl:Set',
        'odrl:uid': head.uid,
        'odrl:permission': canonical.permission,
      },
    ],
    ['full names', { ...head, 'http://www.w3.org/ns/odrl/2/permission': canonical.permission }],
    ['single objects for lists', { ...head, permission: { ...canonical.permission[0], constraint } }],
    ['lists of one', at({ target: [intents], action: ['execute'] })],
    ['references', at({ target: { '@id': intents }, action: { '@id': 'execute' } })],
    ['kinds and ids of rules', at({ '@type': 'Permission', '@id': 'urn:rule:1', target: { '@type': 'Asset', '@id': intents } })],
    [
      'an action that is refined',
      at({ constraint: bare.slice(0, 2), action: [{ 'rdf:value': { '@id': 'execute' }, refinement: bare.slice(2) }] }),
    ],
    [
      'a collection that is refined',
      at({ constraint: bare.slice(0, 3), target: { '@type': 'AssetCollection', source: intents, refinement: bare.slice(3) } }),
    ],
    ['constraints in a list that all have to hold', at({ constraint: { and: { '@list': bare } } })],
    ['the plurals of ODRL 2.1', { ...head, permissions: [{ target: intents, action: 'execute', constraints: bare }] }],
    [
      'typed values',
      at({
        constraint: [
          {
            '@type': 'Constraint',
            leftOperand: { '@id': vocabulary('count') },
            operator: { '@id': 'odrl:lteq' },
            rightOperand: { '@value': '5', '@type': 'xsd:integer' },
          },
          {
            leftOperand: 'dateTime',
            operator: 'http://www.w3.org/ns/odrl/2/lt',
            rightOperand: { '@value': '2030-01-01T00:00:00Z', '@type': 'xsd:dateTime' },
          },
          { leftOperand: 'method', operator: 'isAnyOf', rightOperand: { '@list': [{ '@value': 'GET' }] } },
          { leftOperand: 'rateLimit', operator: 'lteq', rightOperand: '60.0', dataType: 'xsd:decimal', unit: { '@id': vocabulary('day') } },
        ],
      }),
    ],
  ])('%s', (_, written) => {
    expect(JSON.parse(JSON.stringify(parse(written)))).toEqual(canonical);
  });

  test('prices, budgets, zones, parameters and keys', () => {
    const written = {
      permission: {
        target: `${intents}/a.example:pay:v1`,
        action: 'execute',
        constraint: [
          { leftOperand: 'parameters/amount', operator: 'lteq', rightOperand: 500 },
          {
            leftOperand: 'timeOfDay',
            operator: 'gteq',
            rightOperand: { '@value': '09:00:00', '@type': 'xsd:time' },
            unit: 'Europe/Berlin',
          },
        ],
        duty: [
          { action: 'pay', amount: { price: 3, budget: 100 }, unit: 'EUR', timeInterval: 'P1M' },
          {
            action: [
              {
                'rdf:value': { '@id': 'odrl:compensate' },
                refinement: [
                  { leftOperand: 'payAmount', operator: 'eq', rightOperand: { '@value': '5.00', '@type': 'xsd:decimal' }, unit: 'EUR' },
                ],
              },
            ],
          },
        ],
      },
      obligation: { action: 'sign', constraint: { leftOperand: 'publicKey', operator: 'eq', rightOperand: 'agent_public_key' } },
    };
    expect(JSON.parse(JSON.stringify(parse(written)))).toEqual({
      ...head,
      permission: [
        {
          target: `${intents}/a.example:pay:v1`,
          action: 'execute',
          constraint: [
            { leftOperand: `${intents}/a.example:pay:v1/parameters/amount`, operator: 'lte', rightOperand: 500 },
            { leftOperand: vocabulary('timeOfDay'), operator: 'gte', rightOperand: '09:00', unit: vocabulary('timeZone#Europe/Berlin') },
          ],
          duty: [
            { action: 'pay', amount: { price: 3, budget: 100 }, unit: vocabulary('currency#EUR'), timeInterval: 'P1M' },
            { action: 'pay', amount: 5, unit: vocabulary('currency#EUR') },
          ],
        },
      ],
      obligation: [
        { action: 'sign', constraint: [{ leftOperand: vocabulary('publicKey'), operator: 'eq', rightOperand: 'agent_public_key' }] },
      ],
    });
  });
});

test('the policies of docs/policy.md can be pasted', () => {
  const blocks = [...readFileSync('docs/policy.md', 'utf8').matchAll(/```json\n([\s\S]*?)```/g)].map(([, text = '']) => text);
  const policies = blocks.filter((text) => text.includes('"permission"'));
  expect(policies).toHaveLength(2);
  const [first, readOnly] = policies.map((text) => describePolicy(parsePolicyTemplate(text), placeholder).slice(1));
  expect(first).toEqual([
    'You may execute every intent, at most 60 times a minute.',
    'You may execute every intent of the namespace payments.example if parameter amount is at most 500, at most 5 times a day, for 3 EUR each time, at most 100 EUR in any month.',
    'You must not execute the intent payments.example:close-account:v1, whatever else is permitted.',
    'You must sign the policy with the key that you present as agent_public_key.',
  ]);
  expect(readOnly).toEqual([
    'You may execute every intent if the service is GitHub, at most 60 times a minute.',
    'You must not execute every intent if the method is not GET, whatever else is permitted.',
  ]);
});

describe('what has no meaning here is refused by name', () => {
  test.each<[string, object, string]>([
    ['another action', at({ action: 'odrl:play' }), '/permission/0/action'],
    ['an assigner', at({ assigner: 'urn:somebody' }), '/permission/0/assigner'],
    ['a choice', at({ constraint: [{ or: { '@list': bare } }] }), '/permission/0/constraint/0/or'],
    ['another operator', at({ constraint: [{ ...bare[0], operator: 'isNoneOf' }] }), '/permission/0/constraint/0/operator'],
    ['another operand', at({ constraint: [{ ...bare[0], leftOperand: 'spatial' }] }), '/permission/0/constraint/0/leftOperand'],
    ['another unit', at({ constraint: [{ ...bare[3], unit: 'P2D' }] }), '/permission/0/constraint/0/unit'],
    [
      'another type of value',
      at({ constraint: [{ ...bare[0], rightOperand: { '@value': '5', '@type': 'xsd:hexBinary' } }] }),
      '/permission/0/constraint/0/rightOperand',
    ],
    [
      'a number that is rounded',
      at({ constraint: [{ ...bare[0], rightOperand: { '@value': '9007199254740993', '@type': 'xsd:integer' } }] }),
      '/permission/0/constraint/0/rightOperand',
    ],
    [
      'a text in a language',
      at({ constraint: [{ ...bare[2], rightOperand: { '@value': 'GET', '@language': 'en' } }] }),
      '/permission/0/constraint/0/rightOperand/@language',
    ],
    ['two targets', at({ target: [intents, `${intents}/a.example:b:v1`] }), '/permission/0/target'],
    ['a prohibition in the place of a permission', at({ '@type': 'Prohibition' }), '/permission/0/type'],
    ['two names of one member', { ...canonical, '@id': head.uid }, '/@id'],
    ['another context', { ...canonical, '@context': [head['@context'], { count: 'urn:x' }] }, '/@context'],
    ['another kind of policy', { ...canonical, type: 'Ticket' }, '/type'],
    ['a duty to do something else', at({ duty: { action: 'inform' } }), '/permission/0/duty/0/action'],
    [
      'an unknown refinement',
      at({ duty: { action: { 'rdf:value': 'pay', refinement: bare[0] } } }),
      '/permission/0/duty/0/action/refinement/0',
    ],
  ])('%s', (_, written, path) => {
    expect(problemsOf(written).map((issue) => issue.path)).toContain(path);
  });
});
