import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { Validator } from '@seriousme/openapi-schema-validator';
import { toOpenApi } from '../../../lib/documents/document.ts';
import { answerOf, exampleOf, noExample } from '../../../lib/endpoints/endpoint.ts';
import { type Endpoint, endpoints, tags } from '../../../lib/endpoints.ts';
import { errorTable } from '../../../schemas/errors.ts';
import type { ApiOperation, ApiResponse } from '../../../schemas/openapi.ts';

const policy = readFileSync('policy.json', 'utf8');
const document = toOpenApi({ protocol: 'proto', aliases: true, policy });

const operationOf = ({ path, method }: Endpoint): ApiOperation => {
  const found = document.paths[path]?.[method.toLowerCase()];
  if (!found) throw new Error(`no ${method} ${path}`);
  return found;
};

/** Endpoints of sign-in, which takes several requests. */
const pagesAndForms = [
  ...['authorize', 'finish-sign-in', 'accept-policy', 'issue-token'],
  ...['show-connection', 'begin-connection', 'finish-connection'],
];

/** The target of a reference. */
function follow(reference: string): unknown {
  return reference
    .replace(/^#\//, '')
    .split('/')
    .reduce<unknown>((place, name) => (place as Record<string, unknown> | undefined)?.[name], document);
}

describe('the document', () => {
  test.each(['proto', 'uim'])('the OpenAPI document is valid OpenAPI 3.1 if the protocol is called %s', async (protocol) => {
    expect(await new Validator().validate({ ...toOpenApi({ protocol, aliases: true, policy }) })).toEqual({ valid: true });
  });

  test('the OpenAPI document in the repository is up to date (npm run openapi)', () => {
    expect(JSON.parse(readFileSync('openapi.json', 'utf8'))).toEqual(JSON.parse(JSON.stringify(document)));
  });

  test('the OpenAPI document uses the name of the protocol everywhere', () => {
    const text = JSON.stringify(toOpenApi({ protocol: 'uim', aliases: true, policy }));
    expect(text).not.toMatch(/proto-|PROTO-/);
    expect(text).toContain('"uim-pat"');
    expect(text).toContain('"UIM-VAL-002"');
  });

  test('the OpenAPI document has no broken references', () => {
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map(([, reference = '']) => reference);
    expect(references.length).toBeGreaterThan(100);
    expect(references.filter((reference) => follow(reference) === undefined)).toEqual([]);
  });

  test('the OpenAPI document has the operations of the table of endpoints, and no other', () => {
    const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method} ${path}`),
    );
    expect(operations.sort()).toEqual(endpoints.map(({ method, path }) => `${method.toLowerCase()} ${path}`).sort());
  });
});

describe.each(endpoints)('$name', (endpoint) => {
  const operation = operationOf(endpoint);
  const example = exampleOf(endpoint, { protocol: 'proto', policy });
  const answer = answerOf(endpoint, 'proto');

  test('an operation has its tag, and requires its credential', () => {
    expect(tags.map(({ name }) => [name])).toContainEqual(operation.tags);
    const optional = endpoint.needs.adminTokens && !endpoint.runs ? [{}, { admin: [] }] : [];
    expect(operation.security).toEqual(endpoint.credential === 'none' ? optional : [{ [endpoint.credential]: [] }]);
  });

  test('an operation lists each of its refusals, with code and meaning', () => {
    const answers = Object.entries(operation.responses).map(([status, response]) => ({
      status,
      response: ('$ref' in response ? follow(response.$ref) : response) as ApiResponse,
    }));
    for (const code of endpoint.errors) {
      const found = answers.find(({ status }) => status === String(errorTable[code].status))?.response;
      expect(found?.description).toContain(`**${code}**: ${errorTable[code].meaning}`);
      expect(found?.content?.['application/json']?.examples).toHaveProperty(code);
    }
    for (const { response } of answers.filter(({ status }) => status !== '304')) expect(response.headers).toHaveProperty('X-Request-Id');
  });

  test('an operation has a parameter for each variable in its path', () => {
    const named = (operation.parameters ?? []).filter((parameter) => 'in' in parameter && parameter.in === 'path');
    expect(named).toHaveLength(endpoint.path.split('{').length - 1);
  });

  test('an operation allows every query parameter to be empty, as the gate does', () => {
    for (const parameter of operation.parameters ?? []) {
      if (!('in' in parameter) || parameter.in !== 'query') continue;
      const isEmptyFit = endpoint.query?.shape[parameter.name]?.safeParse('').success;
      expect([parameter.name, isEmptyFit || parameter.allowEmptyValue]).toEqual([parameter.name, true]);
    }
  });

  test('an operation has examples of its request and its answer that are valid', () => {
    const hasExample = ![
      'get-openapi',
      'get-root',
      'get-console',
      'get-docs',
      'get-docs-asset',
      'get-log',
      'get-proof',
      'mcp',
      ...pagesAndForms,
    ].includes(endpoint.name);
    expect(example !== noExample).toBe(hasExample);
    if (!hasExample) return;
    expect(Object.keys(example.path ?? {})).toEqual([...endpoint.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name));
    expect(example.body !== undefined).toBe(endpoint.body !== undefined);
    expect(example.answer !== undefined).toBe(endpoint.success !== 204);
    expect(() => endpoint.body?.parse(example.body)).not.toThrow();
    expect(() => answer?.parse(example.answer)).not.toThrow();
  });
});
