import { globSync, readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { compilePolicy } from '../../../../functions/core/policy/compile.ts';
import { placeholder } from '../../../../functions/core/policy/placeholder.ts';
import { describePolicy } from '../../../../functions/core/policy/sentences.ts';
import { parsePolicyTemplate } from '../../../../functions/core/policy/template.ts';
import { issuesIn } from './policies.ts';

const intents = '{base_url}/api/intents';
const vocabulary = (term: string) => `{base_url}/vocabulary/${term}`;
const head = { '@context': 'http://www.w3.org/ns/odrl.jsonld', uid: '{base_url}/api/policy', type: 'Set' };
const parse = (value: object) => parsePolicyTemplate(JSON.stringify(value));

test.each(['policy.json', 'bin/local/policy.json', ...globSync('samples/policies/*.json')])('%s is served byte for byte', (file) => {
  const text = readFileSync(file, 'utf8');
  expect(JSON.stringify(parsePolicyTemplate(text))).toBe(JSON.stringify(JSON.parse(text)));
});

const when = (leftOperand: unknown, operator: unknown, rightOperand: unknown, more: object = {}) => ({
  leftOperand,
  operator,
  rightOperand,
  ...more,
});
const constraint = [
  when(vocabulary('count'), 'lte', 5),
  when(vocabulary('dateTime'), 'lt', '2030-01-01T00:00:00Z'),
  when(vocabulary('method'), 'within', ['GET']),
  when(vocabulary('rateLimit'), 'lte', 60, { unit: vocabulary('day') }),
];
const at = (members: object) => ({ ...head, permission: [{ target: intents, action: 'execute', constraint, ...members }] });
const canonical = at({});
const { permission } = canonical;
const odrl = { odrl: 'http://www.w3.org/ns/odrl/2/' };
const bare = [
  when('count', 'lteq', 5),
  when('dateTime', 'lt', '2030-01-01T00:00:00Z'),
  when('method', 'isAnyOf', 'GET'),
  when('rateLimit', 'lteq', 60, { unit: 'P1D' }),
];
const typed = (value: string, type: string) => ({ '@value': value, '@type': `xsd:${type}` });

describe('all spellings of a policy', () => {
  test.each<[string, object]>([
    ['bare terms', at({ constraint: bare })],
    [
      'numbers as RDF libraries write them',
      at({
        constraint: [
          when('count', 'lteq', typed('+05', 'integer')),
          ...bare.slice(1, 3),
          when('rateLimit', 'lteq', typed('6.0E1', 'double'), { unit: 'P1D' }),
        ],
      }),
    ],
    ['nothing but permissions', { permission: [{ target: intents, action: 'execute', constraint: bare }] }],
    ['$schema, @type and @id', { $schema: 'x', '@context': head['@context'], '@type': 'Set', '@id': head.uid, permission }],
    ['a policy', { ...canonical, type: 'Policy' }],
    ['prefixed names', { '@context': [head['@context'], odrl], '@type': 'odrl:Set', 'odrl:uid': head.uid, 'odrl:permission': permission }],
    [
      'prefixed and full terms',
      at({
        action: 'odrl:execute',
        constraint: [
          when('odrl:count', 'odrl:lteq', 5),
          when('http://www.w3.org/ns/odrl/2/dateTime', 'odrl:lt', '2030-01-01T00:00:00Z'),
          ...constraint.slice(2, 3),
          when('odrl:rateLimit', 'odrl:lteq', 60, { unit: 'odrl:day' }),
        ],
      }),
    ],
    ['a full action', at({ action: { '@id': 'http://www.w3.org/ns/odrl/2/execute' } })],
    ['single objects for lists', { ...head, permission: { ...permission[0], constraint } }],
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
          when({ '@id': vocabulary('count') }, { '@id': 'odrl:lteq' }, typed('5', 'integer'), { '@type': 'Constraint' }),
          when('dateTime', 'http://www.w3.org/ns/odrl/2/lt', typed('2030-01-01T00:00:00Z', 'dateTime')),
          when('method', 'isAnyOf', { '@list': [{ '@value': 'GET' }] }),
          when('rateLimit', 'lteq', '60.0', { dataType: 'xsd:decimal', unit: { '@id': vocabulary('day') } }),
        ],
      }),
    ],
  ])('a policy is served in the same form if it is written with %s', (_, written) => {
    expect(JSON.parse(JSON.stringify(parse(written)))).toEqual(canonical);
  });

  test('a policy is served in the same form if it begins with a byte order mark', () => {
    expect(parsePolicyTemplate(`\ufeff${JSON.stringify(canonical)}`)).toEqual(canonical);
  });

  test('lists of targets and assignees, of a rule or the whole policy, become separate rules', () => {
    const [a, b] = [`${intents}/x.example:a:v1`, `${intents}/x.example:b:v1`];
    const [one, other] = [
      { target: a, action: 'execute', assignee: 'one.example' },
      { target: b, action: 'execute', assignee: 'one.example' },
    ];
    const several = [one, { ...one, assignee: 'two.example' }, other, { ...other, assignee: 'two.example' }];
    const assignee = [{ uid: 'one.example' }, 'two.example'];
    const parties = [
      { '@type': 'Party', uid: 'one.example' },
      { '@type': 'PartyCollection', source: { '@id': 'two.example' } },
    ];
    for (const written of [
      { permission: { target: [a, { '@type': 'Asset', '@id': b }], action: 'execute', assignee } },
      { permission: { target: { '@set': [a, b] }, action: 'execute' }, assignee },
      { target: [a, b], assignee, permission: { action: 'execute' } },
      { permission: { target: [a, { uid: a }, b, a], action: 'execute', assignee } },
      { permission: { target: [a, b], action: 'execute', assignee: parties } },
    ])
      expect(JSON.parse(JSON.stringify(parse(written)))).toEqual({ ...head, permission: several });
  });

  test.each([
    ['a time zone that looks like a currency', when('timeOfDay', 'lt', '09:00', { unit: 'CET' }), '09:00', 'timeZone#CET'],
    ['a value in a list', when('timeOfDay', 'lt', [typed('09:30:00', 'time')], { unit: 'UTC' }), '09:30', 'timeZone#UTC'],
  ])('%s is read as what it is', (_, written, rightOperand, unit) => {
    const { permission } = parse({ permission: { target: intents, action: 'execute', constraint: written } });
    expect(permission?.[0]?.constraint).toEqual([when(vocabulary('timeOfDay'), 'lt', rightOperand, { unit: vocabulary(unit) })]);
  });

  test('the conflict strategy that the gate has may be stated', () => {
    const permission = { target: intents, action: 'execute' };
    expect(parse({ permission, conflict: { '@id': 'odrl:prohibit' } })).toEqual({
      ...head,
      permission: [permission],
      conflict: 'prohibit',
    });
  });

  test('prices, budgets, zones, parameters and keys are served in the same form, however they are spelt', () => {
    const target = `${intents}/a.example:pay:v1`;
    const budget = { action: 'pay', amount: { price: 3, budget: 100 }, timeInterval: 'P1M' };
    const refinement = [when('payAmount', 'eq', typed('5.00', 'decimal'), { unit: 'EUR' })];
    const written = {
      permission: {
        target,
        action: 'execute',
        constraint: [
          when('parameters/amount', 'lteq', 500),
          when('timeOfDay', 'gteq', typed('09:00:00', 'time'), { unit: 'Europe/Berlin' }),
        ],
        duty: [
          { ...budget, action: 'odrl:pay', unit: 'EUR', timeInterval: typed('P1M', 'duration') },
          { action: [{ 'rdf:value': { '@id': 'odrl:compensate' }, refinement }] },
        ],
      },
      obligation: { action: 'odrl:sign', constraint: when('odrl:publicKey', 'eq', 'agent_public_key') },
    };
    expect(JSON.parse(JSON.stringify(parse(written)))).toEqual({
      ...head,
      permission: [
        {
          target,
          action: 'execute',
          constraint: [
            when(`${target}/parameters/amount`, 'lte', 500),
            when(vocabulary('timeOfDay'), 'gte', '09:00', { unit: vocabulary('timeZone#Europe/Berlin') }),
          ],
          duty: [
            { ...budget, unit: vocabulary('currency#EUR') },
            { action: 'pay', amount: 5, unit: vocabulary('currency#EUR') },
          ],
        },
      ],
      obligation: [{ action: 'sign', constraint: [when(vocabulary('publicKey'), 'eq', 'agent_public_key')] }],
    });
  });
});

test('the policies of docs/policy.md are valid', () => {
  const blocks = [...readFileSync('docs/policy.md', 'utf8').matchAll(/```json\n([\s\S]*?)```/g)].map(([, text = '']) => text);
  const policies = blocks.filter((text) => text.includes('"permission"'));
  expect(policies).toHaveLength(2);
  const [first, readOnly] = policies.map((text) => describePolicy(parsePolicyTemplate(text), placeholder));
  expect(first).toEqual([
    'You may execute every intent, at most 60 times a minute.',
    'You may execute every intent of the namespace payments.example if parameter amount is at most 500, at most 5 times a day, for 3 EUR each time, at most 100 EUR per month.',
    'You must not execute the intent payments.example:close-account:v1, whatever else is permitted.',
    "Sign this policy with your agent's key before the first call.",
  ]);
  expect(readOnly).toEqual(['You may execute every intent if the service is GitHub and the method is GET, at most 60 times a minute.']);
});

describe('unsupported members and terms', () => {
  const first = '/permission/0/constraint/0';
  const permit = (members: object) => at({ constraint: [{ ...bare[0], ...members }] });
  test.each<[string, object, string]>([
    ['another action', at({ action: 'odrl:play' }), '/permission/0/action'],
    ['the name of a method of every object', at({ toString: 1 }), '/permission/0/toString'],
    ['another name of that kind', { ...canonical, __defineGetter__: 1 }, '/__defineGetter__'],
    ['a number of endless zeros', permit({ rightOperand: typed(`${'0'.repeat(200_000)}x`, 'double') }), `${first}/rightOperand`],
    ['the operator of such a name', permit({ operator: 'constructor' }), `${first}/operator`],
    ['an assigner', at({ assigner: 'urn:somebody' }), '/permission/0/assigner'],
    ['no conditions at all', at({ constraint: [{ and: [] }] }), `${first}/and`],
    ['none in a list', at({ constraint: { and: { '@list': [] } } }), `${first}/and`],
    ['another conflict strategy', { ...canonical, conflict: 'perm' }, '/conflict'],
    ['a choice', at({ constraint: [{ or: { '@list': bare } }] }), `${first}/or`],
    ['another operator', permit({ operator: 'isNoneOf' }), `${first}/operator`],
    ['another operand', permit({ leftOperand: 'spatial' }), `${first}/leftOperand`],
    ['an operand that is an object', permit({ leftOperand: { toString: 1 }, unit: 'day' }), `${first}/leftOperand`],
    ['another unit', permit({ ...bare[3], unit: 'P2D' }), `${first}/unit`],
    ['another type of value', permit({ rightOperand: typed('5', 'hexBinary') }), `${first}/rightOperand`],
    ['a number that is rounded', permit({ rightOperand: typed('9007199254740993', 'integer') }), `${first}/rightOperand`],
    ['a number with an exponent', permit({ rightOperand: typed('5e0', 'integer') }), `${first}/rightOperand`],
    ['a text in a language', permit({ rightOperand: { '@value': '5', '@language': 'en' } }), `${first}/rightOperand/@language`],
    ['several texts with a type', permit({ rightOperand: { '@value': ['a', 'b'], '@type': 'xsd:string' } }), `${first}/rightOperand`],
    ['no value, with a type', at({ constraint: [{ leftOperand: 'method', operator: 'eq', dataType: 'string' }] }), `${first}/rightOperand`],
    ['no targets', at({ target: [] }), '/permission/0/target'],
    ['no assignees of the policy', { ...canonical, assignee: [] }, '/permission/0/assignee'],
    ['a set of no assignees of the policy', { ...canonical, assignee: { '@set': [] } }, '/permission/0/assignee'],
    ['refinements of a list of targets', at({ target: { '@set': [intents], refinement: bare } }), '/permission/0/target/@set'],
    ['an assignee without an id', at({ assignee: { '@type': 'Party' } }), '/permission/0/assignee'],
    ['refinements of an assignee', at({ assignee: { source: 'a.example', refinement: bare } }), '/permission/0/assignee/refinement'],
    ['another kind of assignee', at({ assignee: { '@type': 'Asset', uid: 'a.example' } }), '/permission/0/assignee/type'],
    ['more of a list of assignees', at({ assignee: { '@list': ['a.example'], refinement: bare } }), '/permission/0/assignee'],
    ['more of a list of constraints', at({ constraint: { '@list': [], ...bare[0] } }), `${first}/@list`],
    ['more of a list of values', permit({ operator: 'isAnyOf', rightOperand: { '@list': ['a'], '@set': ['b'] } }), `${first}/rightOperand`],
    ['a list that is none', permit({ operator: 'isAnyOf', rightOperand: { '@list': 'a' } }), `${first}/rightOperand`],
    ['a target twice', { ...canonical, target: intents }, '/permission/0/target'],
    ['a prohibition in the place of a permission', at({ '@type': 'Prohibition' }), '/permission/0/type'],
    ['two names of one member', { ...canonical, '@id': head.uid }, '/@id'],
    ['another context', { ...canonical, '@context': [head['@context'], { count: 'urn:x' }] }, '/@context'],
    ['another kind of policy', { ...canonical, type: 'Ticket' }, '/type'],
    ['a duty to do something else', at({ duty: { action: 'inform' } }), '/permission/0/duty/0/action'],
    ['an unknown refinement', at({ duty: { action: { value: 'pay', refinement: bare[0] } } }), '/permission/0/duty/0/action/refinement/0'],
  ])('an unsupported member or term is refused by name: %s', (_, written, path) => {
    expect(issuesIn(() => compilePolicy(parse(written), placeholder)).map((issue) => issue.path)).toContain(path);
  });
});
