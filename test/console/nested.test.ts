import { expect, test } from '@jest/globals';
import { exampleOf, hasFields, typeOf, unfold } from '../../console/app/nested.ts';
import type { NestedSchema, Parameter } from '../../schemas/parameter.ts';

const text: NestedSchema = { type: 'string' };

test.each<[Omit<Parameter, 'name'>, unknown]>([
  [{ type: 'string', default: 'usual', enum: ['a'] }, 'usual'],
  [{ type: 'integer', enum: [3, 4] }, 3],
  [{ type: 'number', minimum: 0.5 }, 0.5],
  [{ type: 'string', description: 'A time zone, for example Asia/Tokyo.' }, 'Asia/Tokyo'],
  [{ type: 'string', description: 'A street (such as "1 High Street")' }, '1 High Street'],
  [{ type: 'string', format: 'date' }, '2026-01-31'],
  [{ type: 'array', schema: { items: text } }, ['…']],
  [{ type: 'array', schema: { minItems: 2, items: { properties: { a: text }, required: ['a'] } } }, [{ a: '…' }, { a: '…' }]],
  [{ type: 'object', schema: { properties: { a: { type: ['integer', 'null'] }, b: text }, required: ['a'] } }, { a: 1 }],
  [
    { type: 'object', schema: { anyOf: [{ type: 'null' }, { type: 'object', properties: { a: { enum: ['x'] } }, required: ['a'] }] } },
    { a: 'x' },
  ],
])('an example of %j is %j', (definition, example) => expect(exampleOf(definition)).toEqual(example));

test.each<[NestedSchema, Parameter['type'], boolean]>([
  [{ properties: { a: text } }, 'object', true],
  [{ type: 'object' }, 'object', false],
  [{ type: 'array', items: {} }, 'array', true],
  [{ type: ['string', 'integer'] }, 'any', false],
  [{ anyOf: [text, { type: 'integer' }] }, 'any', false],
  [{ anyOf: [{ type: 'null' }, { properties: { a: text } }] }, 'object', true],
])('the schema %j has type %s, and fields: %s', (schema, type, isWithFields) => {
  expect([typeOf(unfold(schema)), hasFields(schema)]).toEqual([type, isWithFields]);
});
