import { request as httpRequest } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, describe, expect, test } from '@jest/globals';
import { startIdentity } from '../../../bin/local/identity.ts';
import { startInvocations } from '../../../bin/local/invocations.ts';
import { startKms } from '../../../bin/local/kms.ts';
import { startS3 } from '../../../bin/local/s3.ts';
import { startSecrets } from '../../../bin/local/secrets.ts';
import { startDynamo } from '../../../bin/local/table.ts';
import { makeFolder } from '../../support/folder.ts';

const folder = makeFolder();
const invoked: string[] = [];

const kms = await startKms();

/** Every stand-in of a local stack, with a request that it supports. */
const services = {
  DynamoDB: { running: await startDynamo(), target: 'DynamoDB_20120810.ListTables', body: '{}' },
  KMS: { running: kms, target: 'TrentService.GetPublicKey', body: JSON.stringify({ KeyId: kms.keyIds[0] }) },
  'Secrets Manager': {
    running: await startSecrets(),
    target: 'secretsmanager.PutSecretValue',
    body: '{"SecretId":"a","SecretString":"b"}',
    status: 400,
  },
  S3: { running: await startS3({ folder, buckets: ['kept'] }), method: 'PUT', path: '/kept/a', body: 'x' },
  Lambda: {
    running: await startInvocations(async (name) => {
      invoked.push(name);
      return '{}';
    }),
    path: '/2015-03-31/functions/any/invocations',
    body: '{}',
  },
  Cognito: {
    running: await startIdentity(folder, [], []),
    target: 'AWSCognitoIdentityProviderService.CreateGroup',
    body: '{}',
    status: 400,
  },
};

afterAll(() => Promise.all(Object.values(services).map(({ running }) => running.stop())));

interface Sent {
  endpoint: string;
  method?: string;
  path?: string;
  target?: string;
  body: string;
  headers?: Record<string, string>;
}

async function send({ endpoint, method = 'POST', path = '/', target, body, headers = {} }: Sent) {
  const outgoing = httpRequest(endpoint + path, {
    method,
    headers: {
      'Content-Type': 'application/x-amz-json-1.0',
      ...(target !== undefined && { 'X-Amz-Target': target }),
      Authorization: 'AWS4-HMAC-SHA256 Credential=a/20261123/eu-west-1/x/aws4_request, SignedHeaders=host, Signature=x',
      'X-Amz-Date': '20261123T000000Z',
      ...headers,
    },
  });
  const { promise, resolve, reject } = Promise.withResolvers<import('node:http').IncomingMessage>();
  outgoing.on('response', resolve).on('error', reject).end(body);
  const response = await promise;
  return { status: response.statusCode, headers: response.headers, body: await text(response) };
}

const origin = 'http://evil.example';

describe.each(Object.entries(services))('%s', (_, { running: { endpoint }, ...known }) => {
  const { origin: address, pathname: key } = new URL(endpoint);
  const { status, ...request } = { path: '/', status: 200, ...known };

  test('a stand-in answers programs with its key, without letting pages read the response', async () => {
    const answer = await send({ endpoint, ...request });
    expect(answer.status).toBe(status);
    expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
  });

  test.each<[string, Partial<Sent>]>([
    ['no key', { endpoint: address }],
    ['a wrong key', { endpoint: `${address}/${'A'.repeat(32)}` }],
    ['its key in another case', { endpoint: address + (key === key.toLowerCase() ? key.toUpperCase() : key.toLowerCase()) }],
    ['a part of its key', { endpoint: address + key.slice(0, -1) }],
    ['more than its key', { endpoint: `${endpoint}A` }],
    ['its key in the query', { endpoint: address, path: `/?${key}` }],
    ['its key after another path', { endpoint: `${address}/x${key}` }],
    ['its key, from a page', { headers: { Origin: origin } }],
    ['its key, from a page without an origin', { headers: { Origin: 'null' } }],
    ['its key, by a name that leads here', { headers: { Host: `evil.example:${new URL(address).port}` } }],
    ['a preflight request', { endpoint: address, method: 'OPTIONS', headers: { Origin: origin, 'Access-Control-Request-Method': 'POST' } }],
    ['a preflight request with its key', { method: 'OPTIONS', headers: { Origin: origin, 'Access-Control-Request-Method': 'POST' } }],
    [
      'a preflight request to a private network',
      { method: 'OPTIONS', headers: { Origin: origin, 'Access-Control-Request-Private-Network': 'true' } },
    ],
    ['a read without its key', { endpoint: address, method: 'GET', body: '' }],
    ['a form', { endpoint: address, headers: { 'Content-Type': 'text/plain', Origin: origin } }],
  ])('a stand-in refuses %s', async (_, changes) => {
    invoked.length = 0;
    const answer = await send({ endpoint, ...request, ...changes });
    expect({ status: answer.status, body: JSON.parse(answer.body) }).toEqual({
      status: 403,
      body: {
        __type: 'AccessDeniedException',
        message:
          'Only the local stack that started this service can call it. Its address, with the key for this run, is in .local/stack.json.',
      },
    });
    expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
    expect(invoked).toEqual([]);
  });
});

test('no two stand-ins have the same key', () => {
  const keys = Object.values(services).map(({ running }) => new URL(running.endpoint).pathname);
  expect(new Set(keys).size).toBe(keys.length);
  for (const key of keys) expect(key).toMatch(/^\/[\w-]{32}$/);
});
