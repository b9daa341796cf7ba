import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type Recording, startRecording } from '../../support/imported.ts';

let recording: Recording;
/** names of the header fields of any call */
let ownHeaders: Set<string>;

const document = (operation: object, openapi = '3.1.0') => {
  const info = { title: 'Case', version: '1' };
  // further operations, so that no header field becomes one of the service
  const rest = { get: { operationId: 'b', responses: {} }, delete: { operationId: 'c', responses: {} } };
  return {
    openapi,
    info,
    servers: [{ url: recording.origin }],
    paths: { '/a': { post: { operationId: 'act', responses: {}, ...operation }, ...rest } },
  };
};

beforeAll(async () => {
  recording = await startRecording();
  const [intent] = recording.plan(
    document({ requestBody: { content: { 'application/json': { schema: { properties: { a: {} } } } } } }),
  ).intents;
  if (intent === undefined) throw new Error('nothing was planned');
  ownHeaders = new Set(Object.keys((await recording.execute(intent, { a: 1 })).headers));
});

afterAll(() => recording.stop());

/** A schema, and a value that it allows. */
interface Described {
  schema: Record<string, unknown>;
  value: unknown;
}

const word = fc.oneof(fc.stringMatching(/^[a-z ]{1,8}$/), fc.constantFrom('null', '007', 'é&=%', 'a,b', '"', ' '));
const scalar: fc.Arbitrary<Described> = fc.oneof(
  word.map((value) => ({ schema: { type: 'string' }, value })),
  fc.integer().map((value) => ({ schema: { type: 'integer' }, value })),
  fc.boolean().map((value) => ({ schema: { type: 'boolean' }, value })),
  word.map((value) => ({ schema: { enum: [value, 'other'] }, value })),
);

const withDefault = (described: fc.Arbitrary<Described>): fc.Arbitrary<Described> =>
  fc
    .record({ one: described, other: fc.jsonValue({ maxDepth: 1 }), kind: fc.constantFrom('own', 'other', 'none') })
    .map(({ one, other, kind }) => ({
      value: one.value,
      schema: kind === 'none' ? one.schema : { ...one.schema, default: kind === 'own' ? one.value : other },
    }));

const names = fc.constantFrom('id', 'label', 'due', 'size', 'x');

interface Member extends Described {
  isRequired: boolean;
  isGiven: boolean;
}

const member = (described: fc.Arbitrary<Described>): fc.Arbitrary<Member> =>
  fc
    .record({ one: withDefault(described), isRequired: fc.boolean(), isGiven: fc.boolean() })
    .map(({ one, ...more }) => ({ ...one, ...more }));

const given = (members: Record<string, Member>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(members).flatMap(([name, { isRequired, isGiven, value }]) => (isRequired || isGiven ? [[name, value]] : [])),
  );

const schemaOf = (members: Record<string, Member>): Described['schema'] => ({
  type: 'object',
  properties: Object.fromEntries(Object.entries(members).map(([name, { schema }]) => [name, schema])),
  required: Object.entries(members).flatMap(([name, { isRequired }]) => (isRequired ? [name] : [])),
});

const { described } = fc.letrec<{ described: Described }>((tie) => ({
  described: fc.oneof(
    { maxDepth: 3 },
    scalar,
    scalar.map(({ schema, value }) => ({ schema: { oneOf: [schema, { type: 'null' }] }, value: value === true ? null : value })),
    fc.array(tie('described'), { minLength: 1, maxLength: 3 }).map((items) => ({
      schema: { type: 'array', items: { anyOf: items.map(({ schema }) => schema) } },
      value: items.map(({ value }) => value),
    })),
    fc.dictionary(names, member(tie('described')), { maxKeys: 3 }).map((members) => ({ schema: schemaOf(members), value: given(members) })),
    tie('described').map(({ schema, value }) => ({ schema: { allOf: [schema, { description: 'Combined' }] }, value })),
  ),
}));

const listOfWords = fc
  .array(word, { minLength: 1, maxLength: 3 })
  .map((value) => ({ schema: { type: 'array', items: { type: 'string' } }, value }));

const operation = fc.record({
  body: fc.dictionary(names, member(described), { minKeys: 1, maxKeys: 4 }),
  query: fc.dictionary(
    names.map((name) => `q_${name}`),
    member(fc.oneof(scalar, listOfWords)),
    { maxKeys: 3 },
  ),
  header: fc.dictionary(
    names.map((name) => `x-h-${name}`),
    member(fc.integer().map((value) => ({ schema: { type: 'integer' }, value }))),
    { maxKeys: 2 },
  ),
  type: fc.constantFrom('application/json', 'application/merge-patch+json', 'application/vnd.case+json'),
  isSwapped: fc.boolean(),
});

const parameters = (members: Record<string, Member>, carrier: string) =>
  Object.entries(members).map(([name, { schema, isRequired }]) => ({ name, in: carrier, required: isRequired, schema }));

test('a request, read by other parsers, has what the caller gave and nothing else', async () => {
  await fc.assert(
    fc.asyncProperty(operation, async ({ body, query, header, type, isSwapped }) => {
      const schema = isSwapped ? { allOf: [schemaOf(body)], default: { id: 1 } } : schemaOf(body);
      const operation = {
        parameters: [...parameters(query, 'query'), ...parameters(header, 'header')],
        requestBody: { required: true, content: { [type]: { schema } } },
      };
      const intent = recording
        .plan(structuredClone(document(operation)))
        .intents.find(({ intent_uid }) => intent_uid === 'case.example:act:v1');
      if (intent === undefined) throw new Error('the operation was skipped');
      const seen = await recording.execute(intent, { ...given(body), ...given(query), ...given(header) });
      expect(JSON.parse(seen.body)).toEqual(JSON.parse(JSON.stringify(given(body))));
      expect([...new URL(seen.url, 'http://case.example').searchParams]).toEqual(
        expect.arrayContaining(Object.entries(given(query)).flatMap(([name, value]) => [value].flat().map((one) => [name, String(one)]))),
      );
      expect([...new URL(seen.url, 'http://case.example').searchParams].length).toBe(Object.values(given(query)).flat().length);
      const added = Object.entries(seen.headers).filter(([name]) => !ownHeaders.has(name));
      expect(Object.fromEntries(added)).toEqual(
        Object.fromEntries(Object.entries(given(header)).map(([name, value]) => [name, String(value)])),
      );
    }),
    { numRuns: 150 },
  );
}, 60_000);
