import {
  ConditionalCheckFailedException,
  DynamoDBServiceException,
  GetItemCommand,
  PutItemCommand,
  TransactionCanceledException,
} from '@aws-sdk/client-dynamodb';
import { GetCommand } from '@aws-sdk/lib-dynamodb';
import { expect, test } from '@jest/globals';
import { Sha256 } from '@smithy/core/checksum';
import { HttpRequest, HttpResponse } from '@smithy/core/protocols';
import { ConfiguredRetryStrategy } from '@smithy/core/retry';
import { SignatureV4 } from '@smithy/signature-v4';
import { openSigner } from '../../../../functions/core/aws-signature.ts';
import { LeanDocumentClient, LeanDynamoDBClient } from '../../../../functions/core/table/dynamodb-client.ts';

const region = 'eu-west-1';
const service = 'dynamodb';
const first = { accessKeyId: 'first', secretAccessKey: 'secret' };
const rotated = { accessKeyId: 'second', secretAccessKey: 'other secret', sessionToken: 'session' };
const morning = new Date('2026-03-04T05:06:07.089Z');
const evening = new Date('2026-03-04T23:59:59.999Z');
const nextDay = new Date('2026-03-05T00:00:00Z');

/** A lean client, of which `answer` is what DynamoDB answers. */
function clientOf(answer: (request: HttpRequest) => { statusCode: number; body: string }, place: { endpoint?: string } = {}) {
  const sent: HttpRequest[] = [];
  const handle = async (request: HttpRequest) => {
    sent.push(request);
    const { statusCode, body } = answer(request);
    return { response: new HttpResponse({ statusCode, headers: { 'x-amzn-requestid': 'r1' }, body: Buffer.from(body) }) };
  };
  const retryStrategy = new ConfiguredRetryStrategy(3, () => 0);
  const options = { region, credentials: first, requestHandler: { handle } as never, retryStrategy, ...place };
  return { sent, client: new LeanDynamoDBClient(options) };
}

const get = new GetItemCommand({ TableName: 'table', Key: { pk: { S: 'a' } } });

test('sends and reads bytes, and attributes whose names are those of types', async () => {
  const bytes = Uint8Array.from([0, 127, 128, 255]);
  const item = { packed: { B: bytes }, B: { S: 'letter' }, text: { S: '"B":"AAE="' }, nested: { M: { B: { B: bytes } } } };
  const { client, sent } = clientOf(() => ({
    statusCode: 200,
    body: JSON.stringify({ Item: JSON.parse(String(sent[0]?.body)).Item }, null, 1),
  }));
  await client.send(new PutItemCommand({ TableName: 'table', Item: { ...item, packed: { B: Buffer.from(bytes) } } }));
  expect(JSON.parse(String(sent[0]?.body)).Item.packed).toEqual({ B: 'AH+A/w==' });
  const { Item } = await client.send(get);
  expect(Item).toEqual({ ...item, packed: { B: Buffer.from(bytes) }, nested: { M: { B: { B: Buffer.from(bytes) } } } });
});

test.each([
  ['ConditionalCheckFailedException', ConditionalCheckFailedException, {}],
  ['TransactionCanceledException', TransactionCanceledException, { CancellationReasons: [{ Code: 'None' }] }],
  ['UnknownException', DynamoDBServiceException, {}],
])('an error %s has its class, name, message and members', async (name, ErrorClass, members) => {
  const __type = `com.amazonaws.dynamodb.v20120810#${name}`;
  const { client, sent } = clientOf(() => ({ statusCode: 400, body: JSON.stringify({ __type, message: 'It failed.', ...members }) }));
  const error = await client.send(get).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ErrorClass);
  const $metadata = { httpStatusCode: 400, requestId: 'r1', attempts: 1 };
  expect(error).toMatchObject({ name, message: 'It failed.', $fault: 'client', $metadata, ...members });
  expect(sent).toHaveLength(1);
});

test.each([
  ['an internal error', 500, '{"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError","message":"Again."}', 'InternalServerError'],
  ['a proxy', 503, '<html>no JSON</html>', 'SyntaxError'],
  ['throttling', 400, '{"__type":"com.amazonaws.dynamodb.v20120810#ThrottlingException","message":"Slowly."}', 'ThrottlingException'],
])('sends a request again after the answer of %s, signed anew, three times in all', async (_, statusCode, body, name) => {
  const failing = clientOf(() => ({ statusCode, body }));
  await expect(failing.client.send(get)).rejects.toMatchObject({ name, $metadata: { attempts: 3 } });
  expect(failing.sent.map(({ headers }) => headers.authorization)).toEqual(Array(3).fill(expect.stringContaining('Credential=first/')));
  const recovering = clientOf(() => (recovering.sent.length < 3 ? { statusCode, body } : { statusCode: 200, body: '{}' }));
  expect((await recovering.client.send(get)).$metadata.attempts).toBe(3);
});

test('requests that succeed at once earn what retries have cost', async () => {
  let isDown = true;
  const { client } = clientOf(() => ({ statusCode: isDown ? 500 : 200, body: '{}' }));
  const strategy = (await client.config.retryStrategy()) as ConfiguredRetryStrategy;
  await client.send(get).catch(() => {});
  const left = strategy.getCapacity();
  isDown = false;
  await client.send(get);
  expect(left).toBeLessThan(500);
  expect(strategy.getCapacity()).toBe(left + 1);
});

const requestOf = (body: string | Uint8Array) =>
  new HttpRequest({
    method: 'POST',
    hostname: 'dynamodb.example',
    path: '/',
    headers: { host: 'dynamodb.example', 'content-type': 'application/json', 'x-amz-target': 'DynamoDB_20120810.GetItem' },
    body,
  });

test('signs as the SDK does, whatever the day, the body and the credentials', async () => {
  let credentials: typeof first = first;
  const own = openSigner(service, { credentials: async () => credentials, region: async () => region });
  for (const [signingDate, body, used] of [
    [morning, '{"ä":1}', first],
    [evening, '{"ä":1}', first],
    [evening, Buffer.from('{"東京":"🗼"}'), rotated],
    [nextDay, '{}', rotated],
    [nextDay, '{}', first],
  ] as const) {
    credentials = used;
    const sdk = new SignatureV4({ service, region, credentials, sha256: Sha256, applyChecksum: false });
    const unsignableHeaders = new Set(['content-type']);
    const expected = await sdk.sign(requestOf(body), { signingDate, unsignableHeaders });
    expect((await own.sign(requestOf(body), { signingDate })).headers).toEqual(expected.headers);
  }
});

test.each([
  ['of AWS', {}],
  ['that is configured', { endpoint: 'http://127.0.0.1:8000' }],
])('signs for its region and service at an endpoint %s', async (_, place) => {
  const { client, sent } = clientOf(() => ({ statusCode: 200, body: '{}' }), place);
  await client.send(get);
  const [{ headers, hostname, method, path, body } = requestOf('')] = sent;
  const { host = '', 'x-amz-target': target = '', 'x-amz-date': date = '' } = headers;
  expect(headers.authorization).toContain(`Credential=first/${date.slice(0, 8)}/${region}/${service}/aws4_request, `);
  const sdk = new SignatureV4({ service, region, credentials: first, sha256: Sha256, applyChecksum: false });
  const signingDate = new Date(date.replace(/(....)(..)(..T..)(..)(..Z)/, '$1-$2-$3:$4:$5'));
  const unsigned = new HttpRequest({ method, hostname, path, headers: { host, 'x-amz-target': target }, body });
  expect(headers.authorization).toBe((await sdk.sign(unsigned, { signingDate })).headers.authorization);
});

test('signs a request again for its next attempt', async () => {
  const own = openSigner(service, { credentials: async () => first, region: async () => region });
  const at = (signingDate: Date) => ({ signingDate });
  const again = await own.sign(await own.sign(requestOf('{}'), at(morning)), at(evening));
  expect(again.headers).toEqual((await own.sign(requestOf('{}'), at(evening))).headers);
});

test('the document client sends each command with its own input, and reads each answer', async () => {
  const keyAsItem = (body: unknown) => JSON.stringify({ Item: JSON.parse(String(body)).Key });
  const client = new LeanDocumentClient(clientOf(({ body }) => ({ statusCode: 200, body: keyAsItem(body) })).client);
  const read = (pk: string) => client.send(new GetCommand({ TableName: 'table', Key: { pk } }));
  expect(await Promise.all(['a', 'b', 'c'].map(read))).toMatchObject(['a', 'b', 'c'].map((pk) => ({ Item: { pk } })));
});
