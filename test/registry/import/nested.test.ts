import { expect, test } from '@jest/globals';
import { compileParameters } from '../../../functions/core/parameters/compile.ts';
import { planImport } from '../../../registry/import/plan-import.ts';

const options = { rules: { ports: [443], allowLoopback: false, ownHosts: [] }, registryUrl: 'https://gate.example' };

function planBody(schema: object, schemas: object = {}, version = '3.1.0') {
  const post = { operationId: 'act', requestBody: { required: true, content: { 'application/json': { schema } } }, responses: { 204: {} } };
  const document = {
    openapi: version,
    info: { title: 'Things', version: '1' },
    servers: [{ url: 'https://things.example' }],
    paths: { '/a': { post } },
    components: { schemas },
  };
  const { intents, notes } = planImport(document, options);
  return { inputs: intents[0]?.input_parameters ?? [], notes };
}

const item = {
  type: 'object',
  required: ['name', 'price', 'id'],
  properties: {
    id: { type: 'integer', readOnly: true },
    name: { type: 'string', maxLength: 40, description: 'Shown to <b>people</b>' },
    price: { type: 'number', exclusiveMinimum: 0 },
    address: { $ref: '#/components/schemas/Address' },
  },
};
const address = {
  allOf: [{ properties: { street: { type: 'string' } } }, { required: ['street'], properties: { zip: { type: ['string', 'null'] } } }],
};

test('a list of objects keeps what its document says about them', () => {
  const { inputs, notes } = planBody({ type: 'array', items: { $ref: '#/components/schemas/Item' } }, { Item: item, Address: address });
  expect(inputs).toEqual([
    {
      name: 'body',
      type: 'array',
      required: true,
      schema: {
        type: 'array',
        items: {
          type: 'object',
          required: ['name', 'price'],
          properties: {
            name: { type: 'string', maxLength: 40, description: 'Shown to people' },
            price: { type: 'number', minimum: 0, exclusiveMinimum: 0 },
            address: {
              type: 'object',
              required: ['street'],
              properties: { street: { type: 'string' }, zip: { type: ['string', 'null'] } },
            },
          },
        },
      },
    },
  ]);
  expect(notes).toEqual([]);
  const validate = compileParameters(inputs);
  expect(validate({ body: [{ name: 'a', price: 1, id: 7, address: { street: 's', zip: null }, more: true }] }).issues).toBeUndefined();
  expect(validate({ body: [{ name: 'a', price: 0, address: {} }] }).issues?.map(({ path }) => path)).toEqual([
    '/parameters/body/0/price',
    '/parameters/body/0/address/street',
  ]);
});

test.each<{ what: string; member: object; version: string; value: unknown; isAccepted: boolean }>([
  {
    what: 'nullable of OpenAPI 3.0',
    member: { type: 'string', nullable: true, enum: ['a'] },
    version: '3.0.3',
    value: null,
    isAccepted: true,
  },
  {
    what: 'a value of either branch',
    member: { oneOf: [{ type: 'string' }, { type: 'object', properties: { a: { type: 'string' } } }] },
    version: '3.1.0',
    value: { a: 'x' },
    isAccepted: true,
  },
  {
    what: 'a member that only one branch requires',
    member: {
      oneOf: [
        { required: ['a'], properties: { a: {} } },
        { required: ['b'], properties: { b: {} } },
      ],
    },
    version: '3.1.0',
    value: {},
    isAccepted: true,
  },
  {
    what: 'members that are not described',
    member: { type: 'object', properties: { a: {} }, additionalProperties: false },
    version: '3.1.0',
    value: { b: 1 },
    isAccepted: true,
  },
  { what: 'a format that nobody knows', member: { type: 'string', format: 'colour' }, version: '3.1.0', value: 'x', isAccepted: true },
  {
    what: 'a map of texts',
    member: { type: 'object', additionalProperties: { type: 'string' } },
    version: '3.1.0',
    value: { a: 1 },
    isAccepted: false,
  },
  {
    what: 'an exclusive bound of OpenAPI 3.0',
    member: { type: 'number', minimum: 0, exclusiveMinimum: true },
    version: '3.0.3',
    value: 0,
    isAccepted: false,
  },
  {
    what: 'a pattern too long for the registry',
    member: { type: 'string', pattern: 'a|'.repeat(501) },
    version: '3.1.0',
    value: 'x',
    isAccepted: true,
  },
  { what: 'a multiple', member: { type: 'number', multipleOf: 5 }, version: '3.1.0', value: 7, isAccepted: false },
])('a nested schema takes the values that its document allows: $what', ({ member, version, value, isAccepted }) => {
  const { inputs } = planBody({ type: 'array', items: { type: 'object', required: ['m'], properties: { m: member } } }, {}, version);
  expect(compileParameters(inputs)({ body: [{ m: value }] }).issues === undefined).toBe(isAccepted);
});

test('a recursive schema is cut where it comes again, and says so', () => {
  const node = {
    type: 'object',
    properties: { name: { type: 'string' }, children: { type: 'array', items: { $ref: '#/components/schemas/Node' } } },
  };
  const { inputs } = planBody({ type: 'object', properties: { root: { $ref: '#/components/schemas/Node' } } }, { Node: node });
  expect(JSON.stringify(inputs[0]?.schema)).toContain('"$comment":"truncated: the same structure repeats inside"');
  const deep = { name: 'a', children: [{ name: 'b', children: [{ name: 7 }] }] };
  expect(compileParameters(inputs)({ root: deep }).issues).toBeUndefined();
});

test('what does not fit into 16 KB is left out by level, and that is noted', () => {
  const wide = (depth: number): object => ({
    type: 'object',
    properties: Object.fromEntries(
      Array.from({ length: 8 }, (_, at) => [`member_${at}`, depth === 0 ? { type: 'string', description: 'Something' } : wide(depth - 1)]),
    ),
  });
  const { inputs, notes } = planBody({ type: 'object', properties: { whole: wide(4) } });
  const written = JSON.stringify(inputs[0]?.schema);
  expect(written.length).toBeLessThanOrEqual(16 * 1024);
  expect(written).toContain('truncated: deeper levels are not described');
  expect(notes).toEqual([
    {
      path: '/paths/~1a/post',
      note: expect.stringMatching(/^its nested inputs are described only to level \d, because more takes over 16 KB$/),
    },
  ]);
});

/** The body schemas of operations that refer to these schemas, in one document and in a document each. */
function planShared(names: readonly string[], schemas: object) {
  const planPaths = (chosen: readonly string[]) => {
    const paths = chosen.map((name, at) => {
      const schema = { type: 'object', properties: { value: { $ref: `#/components/schemas/${name}` } } };
      const requestBody = { required: true, content: { 'application/json': { schema } } };
      return [`/${name}/${at}`, { post: { operationId: `act-${name}-${at}`, requestBody, responses: { 204: {} } } }];
    });
    const document = {
      ...{ openapi: '3.1.0', info: { title: 'Things', version: '1' }, servers: [{ url: 'https://things.example' }] },
      ...{ paths: Object.fromEntries(paths), components: { schemas } },
    };
    return planImport(document, options).intents.map(({ input_parameters }) => input_parameters);
  };
  return { together: planPaths(names), alone: names.flatMap((name) => planPaths([name])) };
}

const to = (name: string) => ({ $ref: `#/components/schemas/${name}` });
const wide = (count: number, member: (at: number) => object) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`member_${at}`, member(at)]));

test.each<[title: string, names: string[], schemas: object]>([
  ['that is small', ['A', 'A', 'A'], { A: { type: 'object', required: ['name'], properties: { name: { type: 'string', maxLength: 5 } } } }],
  [
    'that is part of another one',
    ['A', 'B', 'A'],
    { A: { properties: { b: to('B') } }, B: { description: 'Inside', properties: { size: { type: 'integer' } } } },
  ],
  [
    'that leads back to itself, wherever one begins',
    ['A', 'B', 'A'],
    { A: { properties: { b: to('B') } }, B: { properties: { a: to('A') } } },
  ],
  [
    'with a description beside the reference',
    ['A', 'B', 'C'],
    { A: { ...to('C'), description: 'One' }, B: { ...to('C'), description: 'Another' }, C: { properties: { x: { type: 'boolean' } } } },
  ],
  ['that may be null', ['A', 'B'], { A: { anyOf: [to('B'), { type: 'null' }] }, B: { properties: { x: { type: 'number' } } } }],
  ['that refers to itself only', ['A', 'B'], { A: to('A'), B: to('A') }],
  ['that does not exist', ['A', 'B'], { A: to('Missing'), B: { properties: { x: to('Missing') } } }],
  [
    'of which only the first level fits',
    ['A', 'B', 'A'],
    { A: { properties: wide(60, () => to('B')) }, B: { properties: wide(60, () => ({ type: 'string', description: 'Some text.' })) } },
  ],
  ['of which not even the first level fits', ['A', 'A'], { A: { properties: wide(1_000, (at) => ({ const: `value ${at}` })) } }],
])('operations that share a schema %s are described as they are alone', (_, names, schemas) => {
  const { together, alone } = planShared(names, schemas);
  expect(together).toEqual(alone);
  expect(together).toHaveLength(names.length);
});
