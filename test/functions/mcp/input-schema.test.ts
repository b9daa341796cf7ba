import { describe, expect, test } from '@jest/globals';
import * as z from 'zod';
import { describeInput } from '../../../functions/mcp/input-schema.ts';
import { type Endpoints, openTools } from '../../../functions/mcp/tools.ts';
import { findRefused } from '../../support/model-providers.ts';
import { openPolicy } from '../../support/policy.ts';

const toolsOf = (isSignInOffered: boolean) =>
  openTools({} as Endpoints, { findPolicy: openPolicy(), isFreshRequired: false, isSignInOffered });
const refusedFor = (inputSchema: object, name = 'sing') => findRefused({ name, inputSchema });

describe('what providers of models accept', () => {
  test.each([...toolsOf(false), ...toolsOf(true)])('no provider of models refuses the tool $name', ({ name, input }) => {
    expect(refusedFor(describeInput(input), name)).toEqual([]);
  });

  test.each<[string, z.ZodType]>([
    ['members of any name', z.record(z.string(), z.unknown())],
    ['members of some names', z.record(z.string().regex(/^[\w-]+$/), z.number())],
    ['a pattern with a class', z.string().regex(/^\d+\s\w$/)],
    ['a pattern with a look-ahead', z.string().regex(/^(?=a)[a-z]+$/)],
    ['a long text', z.string().min(2_000).max(100_000)],
    ['a long text in a list of objects', z.array(z.object({ text: z.string().max(5_000) }))],
    ['a format', z.email()],
    ['a default', z.int().default(5)],
    ['a greater number', z.number().gt(0).multipleOf(0.5)],
  ])('no provider of models refuses an argument with %s', (_, argument) => {
    expect(refusedFor(describeInput(z.strictObject({ argument })))).toEqual([]);
  });
});

test.each<[string, object, string]>([
  ['names of members', { propertyNames: { type: 'string' } }, '/properties/argument/propertyNames'],
  ['a pattern', { pattern: '^\\w+$' }, '/properties/argument/pattern'],
  ['a long text', { maxLength: 10_240 }, '/properties/argument/maxLength above 1000'],
  ['a reference', { $ref: '#/$defs/a' }, '/properties/argument/$ref'],
  ['two types', { type: ['string', 'null'] }, '/properties/argument, which has no single type'],
  ['a constant', { const: 'a' }, '/properties/argument/const'],
])('the table of providers has one that refuses an argument with %s', (_, more, problem) => {
  const refused = refusedFor({ type: 'object', properties: { argument: { type: 'string', ...more } } });
  expect(refused.filter((text) => text.endsWith(`refuses sing: ${problem}`))).not.toEqual([]);
});

test.each<{ what: string; more?: object; name: string; problem: string }>([
  { what: 'alternatives at the top', more: { anyOf: [{ required: ['a'] }] }, name: 'sing', problem: 'anyOf at the top' },
  { what: 'conditions for all', more: { allOf: [{ required: ['a'] }] }, name: 'sing', problem: 'allOf at the top' },
  { what: 'no properties', more: { properties: undefined }, name: 'sing', problem: 'its input, which is no object with properties' },
  { what: 'a long name', name: 's'.repeat(41), problem: 'its name' },
  { what: 'a name with a space', name: 'sing a song', problem: 'its name' },
])('the table of providers has one that refuses a tool with $what', ({ more = {}, name, problem }) => {
  const refused = refusedFor({ type: 'object', properties: {}, ...more }, name);
  expect(refused.filter((text) => text.endsWith(`refuses ${name}: ${problem}`))).not.toEqual([]);
});

test('an advertised schema keeps what helps a model to fill in the arguments', () => {
  const input = z.strictObject({
    text: z.string().max(10_000).describe('what to sing'),
    times: z.int().min(1).max(20).default(5).optional(),
    voice: z.enum(['high', 'low']).optional(),
    notes: z.array(z.string()).min(1).max(9).optional(),
    rest: z.record(z.string(), z.unknown()),
  });
  expect(describeInput(input)).toEqual({
    type: 'object',
    properties: {
      text: { type: 'string', description: 'what to sing' },
      times: { type: 'integer', minimum: 1, maximum: 20 },
      voice: { type: 'string', enum: ['high', 'low'] },
      notes: { type: 'array', items: { type: 'string' }, minItems: 1, maxItems: 9 },
      rest: { type: 'object', additionalProperties: true },
    },
    required: ['text', 'rest'],
    additionalProperties: false,
  });
});
