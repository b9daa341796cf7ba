import { describe, expect, test } from '@jest/globals';
import { readDocument } from '../../../registry/import/document.ts';
import { planImport } from '../../../registry/import/plan-import.ts';

const options = { rules: { ports: [443], allowLoopback: false, ownHosts: [] }, registryUrl: 'https://gate.example' };

describe('documents', () => {
  test.each([
    ['1.10', '1.10'],
    ['12345678901234567890', '12345678901234567890'],
    ['-0.30', '-0.30'],
    ['1e400', '1e400'],
    ['1.0E+2', '1.0E+2'],
    ['42', '42'],
    ['0.1', '0.1'],
  ])('a document keeps every digit of %s in JSON and in YAML', (written, expected) => {
    expect(JSON.stringify(readDocument(`{"x": [${written}]}`))).toBe(`{"x":[${expected}]}`);
    expect(JSON.stringify(readDocument(`x: [${written}]`))).toBe(`{"x":[${expected}]}`);
  });

  test.each([
    ['+12345678901234567890', '12345678901234567890'],
    ['.10', '0.10'],
    ['-.5', '-0.5'],
    ['5.', '5'],
    ['1.e3', '1e3'],
    ['007', '7'],
    ['00.50', '0.50'],
    ['0x1F', '31'],
    ['"1.10"', '"1.10"'],
    ['1.2.3', '"1.2.3"'],
    ['.', '"."'],
  ])('the number %s in YAML is read as %s', (written, expected) => {
    expect(JSON.stringify(readDocument(`x: ${written}`))).toBe(`{"x":${expected}}`);
  });

  test('a document keeps every digit however deep it is', () => {
    const text = `${'{"x":['.repeat(400)}0.50${']}'.repeat(400)}`;
    expect(JSON.stringify(readDocument(text))).toBe(text);
  });

  test('a document keeps every digit also in the names of members', () => {
    expect(JSON.stringify(readDocument('1.10: a\n200: b\n'))).toBe('{"200":"b","1.10":"a"}');
  });
});

describe('intents', () => {
  const planOf = (schema: string) => {
    const text = `
openapi: 3.0
info: { title: Amounts, version: 1.10 }
servers: [{ url: 'https://amounts.example/{release}', variables: { release: { default: 2.10 } } }]
paths:
  /a:
    get:
      operationId: a
      parameters: [{ name: x, in: query, schema: ${schema} }]
      responses: { '204': { description: Done } }
`;
    const { intents, notes } = planImport(readDocument(text), options);
    return { intent: intents[0], notes };
  };

  test.each([
    ['{ type: number, default: 1.10 }', '{"name":"x","type":"number","description":"Default: 1.10"}'],
    ['{ type: integer, default: 12345678901234567890 }', '{"name":"x","type":"integer","description":"Default: 12345678901234567890"}'],
    ['{ type: number, enum: [1.10, 2] }', '{"name":"x","type":"number","enum":[1.10,2]}'],
    ['{ enum: [12345678901234567890] }', '{"name":"x","type":"integer","enum":[12345678901234567890]}'],
    ['{ type: integer, maximum: 9223372036854775807 }', '{"name":"x","type":"integer","maximum":9223372036854775807}'],
    [
      '{ type: integer, exclusiveMaximum: true, maximum: 9223372036854775808 }',
      '{"name":"x","type":"integer","maximum":9223372036854775807}',
    ],
    ['{ type: integer, exclusiveMinimum: 1.0 }', '{"name":"x","type":"integer","minimum":2}'],
    ['{ type: string, minLength: 1.0, maxLength: 2e1 }', '{"name":"x","type":"string","minLength":1,"maxLength":20}'],
    [
      '{ type: number, multipleOf: 0.010, exclusiveMinimum: 0.10 }',
      '{"name":"x","type":"number","minimum":0.10,"schema":{"type":"number","exclusiveMinimum":0.10,"multipleOf":0.010}}',
    ],
    [
      '{ allOf: [{ type: number, default: 2.0, minimum: 1.50 }, { minimum: 1.10 }] }',
      '{"name":"x","type":"number","description":"Default: 2.0","minimum":1.50}',
    ],
    [
      '{ oneOf: [{ type: number, default: 1.0 }, { type: number, default: 1 }] }',
      '{"name":"x","type":"number","description":"Default: 1.0"}',
    ],
  ])('an intent keeps every digit of %s', (schema, expected) => {
    const { intent, notes } = planOf(schema);
    expect(JSON.stringify(intent?.input_parameters)).toBe(`[${expected}]`);
    expect(notes).toEqual([]);
  });

  test('a version and the default in an address are taken as written', () => {
    const { intent } = planOf('{ type: string }');
    expect(intent).toMatchObject({ intent_uid: 'amounts.example:a:v2', endpoint: { url: 'https://amounts.example/2.10/a' } });
  });
});
