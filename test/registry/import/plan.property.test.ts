import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { checkIntent } from '../../../functions/core/relay/check-intent.ts';
import { DocumentError } from '../../../registry/import/document.ts';
import type { ImportOptions } from '../../../registry/import/plan.ts';
import { planImport } from '../../../registry/import/plan-import.ts';
import { intentInput } from '../../../schemas/intent.ts';

const options: ImportOptions = { rules: { ports: [443], allowLoopback: false, ownHosts: [] }, registryUrl: 'https://gate.example' };

const name = fc.oneof(
  fc.constantFrom('id', 'name', 'ID', 'a.b', 'a[b]', '$top', '__proto__', 'constructor', ' ', 'é', 'e\u0301', 'x'.repeat(201)),
  fc.string({ unit: 'grapheme', maxLength: 12 }),
);
const text = fc.oneof(fc.string({ unit: 'binary', maxLength: 20 }), fc.constant('long '.repeat(900)));
const types = fc.constantFrom('string', 'number', 'integer', 'boolean', 'array', 'object', 'null', 'file', 'nonsense');
const bound = fc.oneof(fc.integer({ min: -5, max: 5 }), fc.double({ noNaN: true }), fc.boolean());

const { schema } = fc.letrec((tie) => ({
  schema: fc.oneof(
    { maxDepth: 2 },
    fc.constantFrom(
      { $ref: '#/components/schemas/A' },
      { $ref: '#/components/schemas/B' },
      { $ref: 'elsewhere.yaml' },
      { $ref: '#anchor' },
      {},
      true,
      null,
      7,
    ),
    fc.record(
      {
        type: fc.oneof(types, fc.array(types, { maxLength: 3 })),
        nullable: fc.boolean(),
        description: text,
        default: fc.jsonValue(),
        enum: fc.array(fc.jsonValue(), { maxLength: 4 }),
        const: fc.jsonValue(),
        minimum: bound,
        maximum: bound,
        exclusiveMinimum: bound,
        exclusiveMaximum: bound,
        minLength: bound,
        maxLength: bound,
        pattern: fc.constantFrom('^a+$', '(a', '(?=b)', '\\p{L}', '(a{500}){500}'),
        format: fc.constantFrom('date', 'int32', 'binary', 'uri'),
        readOnly: fc.boolean(),
        writeOnly: fc.boolean(),
        required: fc.array(name, { maxLength: 3 }),
        properties: fc.dictionary(name, tie('schema'), { maxKeys: 2 }),
        items: tie('schema'),
        allOf: fc.array(tie('schema'), { maxLength: 2 }),
        oneOf: fc.array(tie('schema'), { maxLength: 2 }),
        anyOf: fc.array(tie('schema'), { maxLength: 2 }),
      },
      { requiredKeys: [] },
    ),
  ),
}));

const parameter = fc.record(
  {
    name,
    in: fc.constantFrom('path', 'query', 'header', 'cookie', 'formData', 'body', 'elsewhere'),
    required: fc.boolean(),
    schema,
    type: types,
    style: fc.constantFrom('form', 'simple', 'matrix', 'deepObject'),
    explode: fc.boolean(),
    collectionFormat: fc.constantFrom('csv', 'multi', 'pipes'),
    description: text,
  },
  { requiredKeys: ['name', 'in'] },
);

const media = fc.dictionary(
  fc.constantFrom(
    'application/json',
    'application/x-www-form-urlencoded',
    'multipart/form-data',
    '*/*',
    'text/plain',
    'application/hal+json; v=2',
  ),
  fc.record({ schema }),
  { maxKeys: 3 },
);

const operation = fc.record(
  {
    operationId: text,
    summary: text,
    description: text,
    tags: fc.array(text, { maxLength: 3 }),
    deprecated: fc.boolean(),
    consumes: fc.array(fc.constantFrom('application/json', 'text/xml'), { maxLength: 2 }),
    parameters: fc.array(parameter, { maxLength: 3 }),
    requestBody: fc.record({ required: fc.boolean(), content: media }),
    responses: fc.dictionary(fc.constantFrom('200', '201', '204', '2XX', '404', 'default'), fc.record({ content: media, schema }), {
      maxKeys: 3,
    }),
  },
  { requiredKeys: [] },
);

const path = fc.constantFrom(
  '/',
  '/things',
  '/things/{id}',
  '/things/{id}/{name}',
  '/things/:id/{name?}',
  '/things.{ id }',
  '/a b/{pet id}',
  '/x.{ }',
  '/é/{id}{id}',
  '/q?x={id}',
  '/{id',
);

const document = fc.record({
  dialect: fc.constantFrom({ openapi: '3.0.3' }, { openapi: '3.1.0' }, { swagger: '2.0', host: 'things.example' }),
  info: fc.record({ title: text, version: text, description: text }, { requiredKeys: [] }),
  servers: fc.constant([{ url: 'https://things.example/{v}' }, { url: 'https://things.example' }]),
  paths: fc.dictionary(path, fc.dictionary(fc.constantFrom('get', 'post', 'put', 'delete', 'patch'), operation, { maxKeys: 3 }), {
    maxKeys: 4,
  }),
  schemas: fc.record({ A: schema, B: schema }),
});

/** Eventually, every member of these documents is combined with every other. */
test('every operation is planned or skipped, and the registry accepts every planned intent', () => {
  fc.assert(
    fc.property(document, ({ dialect, schemas, ...rest }) => {
      const operations = Object.values(rest.paths).flatMap((item) => Object.keys(item));
      const { intents, skipped } = planImport(
        { ...dialect, ...rest, components: { schemas } },
        { ...options, baseUrl: 'https://things.example' },
      );
      expect(intents.length + skipped.length).toBe(operations.length);
      expect(new Set(intents.map(({ intent_uid }) => intent_uid)).size).toBe(intents.length);
      for (const intent of intents) {
        expect(intentInput.parse(intent)).toEqual(intent);
        checkIntent(intent, options.rules, options.registryUrl);
      }
    }),
    { numRuns: 60 },
  );
}, 60_000);

test('no document throws anything but DocumentError', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.jsonValue(),
        fc.record({ openapi: fc.constantFrom('3.0.1', '3.1.0', 3), servers: fc.jsonValue(), paths: fc.jsonValue(), info: fc.jsonValue() }),
        fc.record({ 'service-info': fc.jsonValue(), intents: fc.jsonValue() }),
      ),
      (input) => {
        try {
          planImport(input, options);
        } catch (error) {
          if (!(error instanceof DocumentError)) throw error;
        }
      },
    ),
  );
});
