import { describe, expect, test } from '@jest/globals';
import { writePython } from '../../../bin/cli/declarations/python.ts';
import { readSchema, type Shape } from '../../../bin/cli/declarations/shape.ts';
import { writeTypeScript } from '../../../bin/cli/declarations/typescript.ts';
import type { NestedSchema, Parameter } from '../../../schemas/parameter.ts';
import { intentOf } from '../../support/records.ts';

const any: Shape = { kind: 'any' };
const string: Shape = { kind: 'string' };
const nothing: Shape = { kind: 'null' };
const member = (name: string, shape: Shape, isRequired = false) => ({ name, description: undefined, isRequired, shape });

describe('the type of a schema', () => {
  test.each<[string, unknown, Shape]>([
    ['a type', { type: 'integer', minimum: 1 }, { kind: 'integer' }],
    ['several types', { type: ['string', 'null'] }, { kind: 'union', of: [string, nothing] }],
    ['an enum', { type: 'string', enum: ['a', 'b', 'a', null] }, { kind: 'literals', values: ['a', 'b', null] }],
    ['an enum of objects', { enum: [{ a: 1 }] }, any],
    ['a list', { type: 'array', items: { type: 'string' } }, { kind: 'list', of: string }],
    ['a list of anything', { type: 'array' }, { kind: 'list', of: any }],
    [
      'an object',
      { type: 'object', properties: { a: { type: 'string' }, b: { type: 'string', default: 'x' }, c: {} }, required: ['a', 'b'] },
      { kind: 'object', members: [member('a', string, true), member('b', string), member('c', any)], rest: undefined },
    ],
    ['a map', { type: 'object', additionalProperties: { type: 'string' } }, { kind: 'object', members: [], rest: string }],
    ['any object', { type: 'object' }, { kind: 'object', members: [], rest: any }],
    ['alternatives', { anyOf: [{ type: 'string' }, { type: 'null' }] }, { kind: 'union', of: [string, nothing] }],
    ['alternatives of which one is anything', { anyOf: [{ type: 'string' }, {}] }, any],
    ['alternatives beside a type', { type: 'string', anyOf: [{ minLength: 1 }] }, string],
    ['a keyword that the gate ignores', { allOf: [{ type: 'string' }] }, any],
    ['no schema', 'string', any],
    ['a type that does not exist', { type: 'date' }, any],
  ])('the type of a schema is declared for %s', (_, schema, shape) => {
    expect(readSchema(schema)).toEqual(shape);
  });

  test('a schema of any depth can be read', () => {
    let deep: object = { type: 'string' };
    for (let depth = 0; depth < 5000; depth++) deep = { type: 'array', items: deep };
    expect(JSON.stringify(readSchema(deep)).match(/list/g)?.length).toBeLessThan(20);
  });
});

test('a parameter with the schema of its document has the type of that schema', () => {
  const schema: NestedSchema = {
    type: 'object',
    properties: { city: { type: 'string' }, lines: { type: 'array', items: { enum: [1, 2] } } },
    required: ['city'],
  };
  const address = { name: 'address', type: 'object', required: true, schema } as const;
  const kind = { name: 'kind', type: 'string', required: true, enum: ['a'], schema: { type: ['string', 'null'] } } as const;
  const intents = [intentOf('a.example:b:v1', { input_parameters: [address, kind] as unknown as Parameter[] })];
  expect([...writeTypeScript(intents, 'client')].join('')).toContain(`
        address: {
          city: string;
          lines?: readonly (1 | 2)[] | undefined;
        };
        kind: "a" | null;
`);
  const python = [...writePython(intents)].join('');
  expect(python).toContain('_P1_1 = TypedDict("_P1_1", {"city": str, "lines": NotRequired[Sequence[Literal[1, 2]]]})\n');
  expect(python).toContain('_P1 = TypedDict("_P1", {"address": _P1_1, "kind": Union[Literal["a"], None]})\n');
});

test.each([
  ['TypeScript', (intents: ReturnType<typeof intentOf>[]) => [...writeTypeScript(intents, 'intent-gate-client')].join('')],
  ['Python', (intents: ReturnType<typeof intentOf>[]) => [...writePython(intents)].join('')],
])('texts in declarations for %s cannot be anything but texts', (_, write) => {
  const texts = ['*/ export const x = 1; /*', '"""\nimport os', '@deprecated', 'a\u2028b\u202ec', "'); import os #", '\\'];
  const intents = texts.map((text, at) =>
    intentOf(`a.example:b${at}:v1`, {
      intent_name: text,
      description: text,
      input_parameters: [{ name: text.replace('\n', ''), type: 'string', description: text, enum: [text] }],
    }),
  );
  const written = write(intents);
  expect(written).not.toMatch(/[\u2028\u202e]/);
  expect(written).not.toMatch(/^\s*(export|import os)/m);
  expect(written).toBe(write(structuredClone(intents)));
});
