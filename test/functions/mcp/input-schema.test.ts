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

test.each<[string, object, string, string]>([
  ['alternatives at the top', { anyOf: [{ required: ['a'] }] }, 'sing', 'anyOf at the top'],
  ['conditions for all', { allOf: [{ required: ['a'] }] }, 'sing', 'allOf at the top'],
  ['no properties', { properties: undefined }, 'sing', 'its input, which is no object with properties'],
  ['a long name', {}, 's'.repeat(41), 'its name'],
  ['a name with a space', {}, 'sing a song', 'its name'],
])('the table of providers has one that refuses a tool with %s', (_, more, name, problem) => {
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
