import { DynamoDBClient, GetItemCommand } from '@aws-sdk/client-dynamodb';
import { GetCommand } from '@aws-sdk/lib-dynamodb';
import { expect, test } from '@jest/globals';
import { Sha256 } from '@smithy/core/checksum';
import { HttpRequest, HttpResponse } from '@smithy/core/protocols';
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

test('the lean client does without three steps of the SDK', () => {
  const settings = { region, credentials: first };
  const left = new LeanDynamoDBClient(settings).middlewareStack.identify();
  const steps = new DynamoDBClient(settings).middlewareStack.identify();
  expect(steps.filter((step) => !left.includes(step))).toEqual([
    'loggerMiddleware - initialize',
    'getUserAgentMiddleware - build',
    'recursionDetectionMiddleware - build',
  ]);
  expect(left.filter((step) => !steps.includes(step))).toEqual([]);
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
  ['of AWS', undefined],
  ['that is configured', 'http://127.0.0.1:8000'],
])('signs for its region and service at an endpoint %s', async (_, endpoint) => {
  const seen: HttpRequest[] = [];
  const requestHandler = {
    handle: async (request: HttpRequest) => {
      seen.push(request);
      return { response: new HttpResponse({ statusCode: 200, headers: {}, body: Buffer.from('{}') }) };
    },
  };
  const client = new LeanDynamoDBClient({ region, credentials: first, requestHandler, ...(endpoint !== undefined && { endpoint }) });
  await client.send(new GetItemCommand({ TableName: 'table', Key: { pk: { S: 'a' } } }));
  const [{ headers, hostname, method, path, body } = requestOf('')] = seen;
  const day = headers['x-amz-date']?.slice(0, 8);
  expect(headers.authorization).toContain(`Credential=first/${day}/${region}/${service}/aws4_request, `);
  const signed = Object.fromEntries(Object.entries(headers).filter(([name]) => name === 'host' || name === 'x-amz-target'));
  const sdk = new SignatureV4({ service, region, credentials: first, sha256: Sha256, applyChecksum: false });
  const [, year, month, date, hour, minute, second] = /(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z/.exec(headers['x-amz-date'] ?? '') ?? [];
  const signingDate = new Date(`${year}-${month}-${date}T${hour}:${minute}:${second}Z`);
  const expected = await sdk.sign(new HttpRequest({ method, hostname, path, headers: signed, body }), { signingDate });
  expect(headers.authorization).toBe(expected.headers.authorization);
});

test('signs a request again for its next attempt', async () => {
  const own = openSigner(service, { credentials: async () => first, region: async () => region });
  const at = (signingDate: Date) => ({ signingDate });
  const again = await own.sign(await own.sign(requestOf('{}'), at(morning)), at(evening));
  expect(again.headers).toEqual((await own.sign(requestOf('{}'), at(evening))).headers);
});

test('the document client sends each command with its own input, and reads each answer', async () => {
  const requestHandler = {
    handle: async ({ body }: HttpRequest) => {
      const { Key } = JSON.parse(String(body));
      return { response: new HttpResponse({ statusCode: 200, headers: {}, body: Buffer.from(JSON.stringify({ Item: Key })) }) };
    },
  };
  const client = new LeanDocumentClient(new LeanDynamoDBClient({ region, credentials: first, requestHandler }));
  const read = (pk: string) => client.send(new GetCommand({ TableName: 'table', Key: { pk } }));
  expect(await Promise.all(['a', 'b', 'c'].map(read))).toMatchObject(['a', 'b', 'c'].map((pk) => ({ Item: { pk } })));
});
