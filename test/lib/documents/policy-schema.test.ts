import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { Ajv } from 'ajv';
import { comparisons } from '../../../functions/core/policy/conditions.ts';
import { operands } from '../../../functions/core/policy/constraints.ts';
import { parsePolicyTemplate } from '../../../functions/core/policy/template.ts';
import { policyFileSchema } from '../../../lib/documents/policy-schema.ts';
import { prepareFiles } from '../../../lib/function-code.ts';
import { parseSettings } from '../../../lib/settings.ts';

const schema = policyFileSchema();
const accepts = new Ajv({ allErrors: true }).compile(schema);

const files = readdirSync('samples/policies').filter((name) => name.endsWith('.json'));
const inDocs = [...readFileSync('docs/policy.md', 'utf8').matchAll(/```json\n([\s\S]*?)```/g)]
  .map(([, text = '']) => text)
  .filter((text) => text.includes('"permission"'));

const target = '{base_url}/api/intents';
const constraint = { leftOperand: 'rateLimit', operator: 'lteq', rightOperand: 60, unit: 'minute' };
const permission = { target, action: 'execute', constraint: [constraint] };
const duty = { action: 'pay', amount: { price: 3, budget: 100 }, unit: 'EUR', timeInterval: 'P1M' };
const odrl = 'http://www.w3.org/ns/odrl/2/';

describe('accepted policies', () => {
  test.each([
    ...['policy.json', 'bin/local/policy.json', ...files.map((name) => `samples/policies/${name}`)].map((file) => [
      file,
      readFileSync(file, 'utf8'),
    ]),
    ...inDocs.map((text, at) => [`policy ${at} of docs/policy.md`, text]),
  ])('the schema accepts %s', (_, text) => {
    accepts(JSON.parse(text));
    expect(accepts.errors).toBeNull();
  });

  const withConstraint = (members: object) => ({ permission: { ...permission, constraint: { ...constraint, ...members } } });

  test.each<[string, object]>([
    ['a schema', { $schema: 'https://gate.example/docs/policy.schema.json', permission }],
    ['prefixes', withConstraint({ leftOperand: `${odrl}count`, operator: 'odrl:lteq', unit: undefined })],
    ['members with prefixes', { '@id': 'urn:policy', '@type': 'odrl:Set', 'odrl:permission': [permission] }],
    ['plurals of ODRL 2.1', { permissions: [permission] }],
    ['references', { permission: { ...permission, target: { '@id': target }, action: [{ '@id': 'odrl:execute' }] } }],
    ['typed values', withConstraint({ rightOperand: { '@value': '60', '@type': 'xsd:integer' } })],
    ['parameters', withConstraint({ leftOperand: 'parameters/amount', unit: undefined })],
    ['time zones', withConstraint({ leftOperand: 'timeOfDay', operator: 'gteq', rightOperand: '09:00', unit: 'Europe/Berlin' })],
    ['durations as units', withConstraint({ unit: 'PT1H' })],
    ['conditions that are joined', { permission: { ...permission, constraint: { and: { '@list': [constraint] } } } }],
    ['refined actions', { permission: { target, action: { 'rdf:value': { '@id': 'odrl:execute' }, refinement: [constraint] } } }],
    [
      'refined targets',
      { permission: { action: 'execute', target: { '@type': 'AssetCollection', source: target, refinement: constraint } } },
    ],
    ['parties', { permission: { ...permission, assignee: [{ '@type': 'Party', uid: 'a.example' }, { source: 'b.example' }] } }],
    ['a budget', { permission: { ...permission, duty } }],
    ['a typed duration', { permission: { ...permission, duty: { ...duty, timeInterval: { '@value': 'P1M', '@type': 'xsd:duration' } } } }],
  ])('the schema accepts %s, as synthesis does', (_, policy) => {
    const text = JSON.stringify(policy);
    expect(() => parsePolicyTemplate(text)).not.toThrow();
    accepts(JSON.parse(text));
    expect(accepts.errors).toBeNull();
  });
});

test.each<[string, object]>([
  ['/permision', { permision: [permission] }],
  ['/permission/0/traget', { permission: [{ traget: target, action: 'execute' }] }],
  ['/permission/0/assigner', { permission: [{ ...permission, assigner: 'urn:somebody' }] }],
  ['/permission/0/action', { permission: [{ ...permission, action: 'excute' }] }],
  ['/permission/0/target', { permission: [{ ...permission, target: '{baseurl}/api/intents' }] }],
  [
    '/permission/0/constraint/0/leftOperand',
    { permission: [{ ...permission, constraint: [{ ...constraint, leftOperand: 'rateLimits' }] }] },
  ],
  ['/permission/0/constraint/0/operator', { permission: [{ ...permission, constraint: [{ ...constraint, operator: 'leq' }] }] }],
  ['/permission/0/constraint/0/unit', { permission: [{ ...permission, constraint: [{ ...constraint, unit: 'minutes' }] }] }],
  ['/permission/0/constraint/0/right', { permission: [{ ...permission, constraint: [{ ...constraint, right: 1 }] }] }],
  ['/permission/0/duty/0/unit', { permission: [{ ...permission, duty: [{ ...duty, unit: 'euros' }] }] }],
  ['/permission/0/duty/0/amount/bugdet', { permission: [{ ...permission, duty: [{ ...duty, amount: { price: 3, bugdet: 9 } }] }] }],
  ['/prohibition/0/duty', { prohibition: [{ target, action: 'execute', duty }] }],
  ['/obligation/0/action', { obligation: [{ action: 'signs' }] }],
])('the schema marks %s', (place, policy) => {
  expect(accepts(policy)).toBe(false);
  const marked = accepts.errors?.map(
    ({ instancePath, params: { additionalProperty: name } }) => `${instancePath}${name ? `/${name}` : ''}`,
  );
  expect(marked).toContain(place);
});

test('the schema offers bare terms, each with its meaning', () => {
  const meanings = new Map<unknown, unknown>();
  JSON.stringify(schema, (_, value) => {
    if (value?.const !== undefined) meanings.set(value.const, value.description);
    return value;
  });
  const words = expect.stringMatching(/\w/);
  const terms = [...operands, ...comparisons, 'lteq', 'execute', 'observeRateLimit', 'sign', 'pay', 'minute', 'P1D'];
  expect(Object.fromEntries(meanings)).toMatchObject(Object.fromEntries(terms.map((term) => [term, words])));
});

test('the schema is written beside the function that serves it', () => {
  const filesOf = prepareFiles({
    settings: parseSettings({}),
    policy: readFileSync('policy.json', 'utf8'),
    build: { bundle: () => {}, buildPages: () => ({}), wordVectors: 'functions/core/search/word-vectors.bin' },
  });
  expect(JSON.parse(String(filesOf({ documents: 'assets' })['assets/policy.schema.json']))).toEqual(schema);
});
