import { expect, test } from '@jest/globals';
import { compareService, type Registered } from '../../registry/compare.ts';
import { describeDefaults, hasDefaults, removedDefaults } from '../../registry/describe.ts';
import type { FullIntent } from '../../schemas/intent.ts';
import type { Parameter } from '../../schemas/parameter.ts';
import { intentOf, serviceNamed } from '../support/records.ts';

const withInputs = (name: string, input_parameters: Parameter[]) => intentOf(`world.example:${name}:v1`, { input_parameters });

/** Compares a document with what an earlier import registered. */
async function reimport(before: readonly (readonly [string, Parameter[]])[], after: readonly (readonly [string, Parameter[]])[]) {
  const records = before.map(([name, inputs]) => ({ ...withInputs(name, inputs), service_id: 'world' }) as unknown as FullIntent);
  const registered: Registered = {
    service: { record: { ...serviceNamed('World'), service_id: 'world' } as never, etag: '"1"' },
    intents: new Map(records.map((record) => [record.intent_uid, { record, etag: '"1"' }])),
  };
  const context = { api: {} as never, terminal: { progress: () => ({ step() {}, end() {} }) } };
  const intents = after.map(([name, inputs]) => withInputs(name, inputs));
  return compareService(context, { service: serviceNamed('World'), intents, isOfDocument: true }, 1, false, registered);
}

const flag: Parameter = { name: 'private', type: 'boolean' };
const list: Parameter = { name: 'a/b~c', type: 'array' };

test.each<{
  what: string;
  before: readonly (readonly [string, Parameter[]])[];
  after: readonly (readonly [string, Parameter[]])[];
  lines?: string[];
}>([
  {
    what: 'those of every intent',
    before: [
      [
        'one',
        [
          { ...flag, default: false },
          { ...list, default: [] },
        ],
      ],
      ['two', [{ ...flag, default: true }]],
    ],
    after: [
      ['one', [{ ...flag, description: 'Default: false' }, list]],
      ['two', [flag]],
    ],
    lines: ['private of world.example:one:v1: false', 'a/b~c of world.example:one:v1: []', 'private of world.example:two:v1: true'],
  },
  {
    what: 'objects, and lists of named things',
    before: [['one', [{ ...list, default: [{ name: 'x' }] }]]],
    after: [['one', [list]]],
    lines: ['a/b~c of world.example:one:v1: [{"name":"x"}]'],
  },
  {
    what: 'long values in part',
    before: [['one', [{ ...list, default: 'x'.repeat(99) }]]],
    after: [['one', [list]]],
    lines: [`a/b~c of world.example:one:v1: "${'x'.repeat(58)}…`],
  },
  {
    what: 'none that are changed or stay',
    before: [
      [
        'one',
        [
          { ...flag, default: false },
          { ...list, default: 1 },
        ],
      ],
    ],
    after: [
      [
        'one',
        [
          { ...flag, default: true },
          { ...list, default: 1 },
        ],
      ],
    ],
  },
  { what: 'none of parameters that are no longer there', before: [['one', [{ ...flag, default: false }]]], after: [['one', []]] },
  { what: 'none of other members', before: [['one', [{ ...flag, schema: { default: 1 } }]]], after: [['one', [flag]]] },
])('importing again names the defaults that it removes: $what', async ({ before, after, lines = [] }) => {
  const changes = await reimport(before, after);
  expect(describeDefaults(changes)).toEqual(lines);
  expect(removedDefaults(changes).map(({ parameter, intent_uid }) => `${parameter} of ${intent_uid}`)).toEqual(
    lines.map((line) => line.split(': ')[0]),
  );
});

const header: Parameter = { name: 'X-A', type: 'string', in: 'header', required: true, enum: ['1'], default: '1' };

test.each<[string, Parameter[], boolean]>([
  ['without a default', [flag], false],
  ['with one', [flag, { ...list, default: [] }], true],
  ['with false', [{ ...flag, default: false }], true],
  ['with the only value of a required header field', [header], false],
  ['with that of an optional one', [{ ...header, required: false }], true],
  ['with one of two values', [{ ...header, enum: ['1', '2'] }], true],
])('an intent has a default that calls send if it has an input %s: %s', (_, input_parameters, has) => {
  expect(hasDefaults({ input_parameters })).toBe(has);
});
