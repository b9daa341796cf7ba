import { describe, expect, test } from '@jest/globals';
import { DocumentError, readDocument } from '../../../registry/import/document.ts';
import { document, json, operation, plan, planBody, text } from './planning.ts';

test('a schema that uses the same one many times is resolved once', () => {
  const twice = (name: string) => [{ $ref: `#/components/schemas/${name}` }, { $ref: `#/components/schemas/${name}` }];
  const levels = Array.from({ length: 60 }, (_, at) => [
    [`A${at}`, { allOf: twice(`O${at}`) }],
    [`O${at}`, { oneOf: twice(`A${at + 1}`) }],
  ]).flat();
  const schemas = Object.fromEntries([...levels, ['A60', { properties: { kind: { enum: ['a', 'b'] } } }]]);
  const { inputs } = planBody(json({ $ref: '#/components/schemas/A0' }), { schemas });
  expect(inputs).toEqual([{ name: 'kind', type: 'string', enum: ['a', 'b'] }]);
});

describe('documents that could crash a reader', () => {
  test('a document with 20,000 lists in each other is refused', () => {
    const text = `{"openapi":"3.0.0","x":${'['.repeat(20_000)}${']'.repeat(20_000)}}`;
    expect(() => plan(readDocument(text))).toThrow(new DocumentError('The document is nested more than 500 deep.'));
  });

  test('a map of 40,000 keys in YAML is read in time', () => {
    const keys = Array.from({ length: 40_000 }, (_, at) => `k${at}`);
    const startedMs = performance.now();
    expect(readDocument(keys.map((key) => `${key}: 1\n`).join(''))).toEqual(Object.fromEntries(keys.map((key) => [key, 1])));
    // a second or two; a minute if each key were compared with all previous ones
    expect(performance.now() - startedMs).toBeLessThan(20_000);
  }, 120_000);

  test('a text of six million escapes is read', () => {
    const text = `{"a":"${String.raw`\n`.repeat(6_000_000)}"`;
    expect(Object.keys(readDocument(`${text},"b":1}`) as object)).toEqual(['a', 'b']);
    expect(() => readDocument(`${text},"a":1}`)).toThrow(/^The document has the member \/a a second time at line 1, column 12000009\./);
  });

  test.each([':a', '{', '{:', '{a:', ':a(', '{a*', '/:a?', ' :'])('an operation whose path is %s many times is skipped in time', (part) => {
    const item = { get: operation({ parameters: [{ name: 'id', in: 'path', required: true, schema: text }] }) };
    expect(plan(document({ [`/${part.repeat(50_000)}`]: item })).skipped).toHaveLength(1);
  });

  test('3,000 schemas nested in each other are read in part', () => {
    const schemas = Object.fromEntries(
      Array.from({ length: 3_000 }, (_, at) => [
        `S${at}`,
        { properties: { [`p${at}`]: text }, allOf: [{ $ref: `#/components/schemas/S${at + 1}` }] },
      ]),
    );
    const { inputs, notes } = planBody(json({ $ref: '#/components/schemas/S0' }), { schemas });
    expect(inputs).toHaveLength(100);
    expect(notes.map(({ note }) => note)).toContain('the schema is made of too many others; that part of it was left out');
  });
});
