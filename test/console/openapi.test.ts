import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { listOperations, toCurl, toRequest } from '../../console/app/openapi.ts';
import type { ApiDocument } from '../../schemas/openapi.ts';

const document: ApiDocument = JSON.parse(readFileSync('openapi.json', 'utf8'));
const operations = listOperations(document);

function find(id: string) {
  const operation = operations.find(({ operationId }) => operationId === id);
  if (!operation) throw new Error(`no operation ${id}`);
  return operation;
}

test('all operations are listed, and all bodies have members', () => {
  expect(operations.map(({ method, path }) => `${method.toLowerCase()} ${path}`)).toEqual(
    Object.entries(document.paths).flatMap(([path, methods]) => Object.keys(methods).map((method) => `${method} ${path}`)),
  );
  const withBody = operations.filter(({ mediaType }) => mediaType !== undefined);
  expect(withBody.filter(({ body }) => body.members.length === 0)).toEqual([]);
  const texts = operations.flatMap(({ parameters, body, responses }) => [
    ...parameters.map(({ hint }) => hint),
    ...[body, ...responses.map((response) => response.body)].flatMap(({ members }) => members.map(({ type }) => type)),
  ]);
  expect(texts.filter((text) => /undefined|\[object/.test(text ?? 'undefined'))).toEqual([]);
});

test.each([
  ['execute-intent', 'pat', true],
  ['list-changes', 'admin', true],
  ['get-intent', 'admin', false],
  ['search-intents', undefined, false],
])('%s accepts the token %s; required: %s', (id, scheme, isTokenRequired) => {
  expect(find(id)).toMatchObject({ scheme, isTokenRequired });
});

test.each([
  { id: 'create-intent', name: 'intent_uid', type: 'string', isRequired: true },
  { id: 'create-intent', name: 'endpoint.method', type: '"GET" or "POST" or "PUT" or "DELETE" or "PATCH"', isRequired: true },
  { id: 'create-intent', name: 'input_parameters[].name', type: 'string, at least 1 characters, at most 200 characters', isRequired: true },
  { id: 'create-intent', name: 'deprecated', type: 'boolean', isRequired: false },
])('the body of $id has the member $name', ({ id, name, type, isRequired }) => {
  const member = find(id).body.members.find((one) => one.name === name);
  expect(member).toMatchObject({ type: expect.stringContaining(type), isRequired });
});

test('a recursive schema is listed once', () => {
  const names = find('create-intent').body.members.map(({ name }) => name);
  expect(names).toContain('input_parameters[].schema.items');
  expect(names.length).toBeLessThan(200);
});

const hostile = `it's "quoted" $(id) \`id\` & ? / #`;

test('a request has each value at its location, whatever it contains', () => {
  const operation = find('list-service-intents');
  const values = { 'path service_id': hostile, 'query after': hostile };
  const { path, body } = toRequest(operation, values, '');
  const url = new URL(path, 'https://gate.example');
  expect([decodeURIComponent(url.pathname), Object.fromEntries(url.searchParams)]).toEqual([
    `/api/services/${hostile}/intents`,
    { after: hostile },
  ]);
  expect(body).toBe(undefined);
});

test('the curl command sends the same request, with the token from a variable', () => {
  const operation = find('execute-intent');
  const request = toRequest(operation, { 'header Idempotency-Key': hostile }, hostile);
  expect(request.headers).toEqual({ 'Idempotency-Key': hostile, 'Content-Type': 'application/json' });
  const command = `curl() { printf '%s\\n' "$@"; }\n${toCurl('https://gate.example', request, operation.scheme)}`;
  const words = execFileSync('sh', ['-c', command], { encoding: 'utf8', env: { PAT: 'the PAT' } })
    .trimEnd()
    .split('\n');
  expect(words).toEqual([
    '-sS',
    '-i',
    '-X',
    'POST',
    'https://gate.example/api/intents/execute',
    '-H',
    'Authorization: Bearer the PAT',
    '-H',
    `Idempotency-Key: ${hostile}`,
    '-H',
    'Content-Type: application/json',
    '-d',
    hostile,
  ]);
});
