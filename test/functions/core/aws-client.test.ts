import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { DynamoDBClient, GetItemCommand } from '@aws-sdk/client-dynamodb';
import { afterEach, describe, expect, test } from '@jest/globals';
import { Sha256 as SdkSha256 } from '@smithy/core/checksum';
import { HttpRequest } from '@smithy/core/protocols';
import { SignatureV4 } from '@smithy/signature-v4';
import { awsClientSettings, Sha256 } from '../../../functions/core/aws-client.ts';
import { bounded, withinInvocation } from '../../../functions/core/invocation.ts';

let server: Server;
const asked: string[] = [];
const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };

async function clientOf(answer: RequestListener, requestTimeout = 200): Promise<DynamoDBClient> {
  asked.length = 0;
  server = createServer(async (request, response) => {
    asked.push(Buffer.concat(await request.toArray()).toString());
    answer(request, response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return new DynamoDBClient({ ...awsClientSettings({ requestTimeout }), endpoint, region: 'eu-west-1', credentials });
}

const get = new GetItemCommand({ TableName: 'Tägliches', Key: { pk: { S: '東京 🗼' } } });

afterEach(() => {
  server.close();
  server.closeAllConnections();
});

describe('a request of an AWS client', () => {
  test('and its answer pass whatever characters they hold', async () => {
    const client = await clientOf((_, response) => response.end('{"Item":{"pk":{"S":"東京 🗼"}}}'));
    expect((await client.send(get)).Item).toEqual({ pk: { S: '東京 🗼' } });
    expect(asked.map((text) => JSON.parse(text))).toEqual([{ TableName: 'Tägliches', Key: { pk: { S: '東京 🗼' } } }]);
  });

  test('without an answer in time is sent again, three times in all', async () => {
    const client = await clientOf(() => {}, 50);
    await expect(client.send(get)).rejects.toMatchObject({ name: 'TimeoutError', message: 'no answer in time' });
    expect(asked).toHaveLength(3);
  });

  test('is not sent again if the answer breaks off with the step that it is part of', async () => {
    const client = await clientOf((_, response) => response.writeHead(200, { 'Content-Length': 100 }).write('{'));
    const failed = bounded(100, () => client.send(get));
    await expect(failed).rejects.toMatchObject({ name: 'AbortError', cause: { name: 'TimeoutError' } });
    expect(asked).toHaveLength(1);
  });

  test('is not sent once the step that it is part of has ended', async () => {
    const client = await clientOf((_, response) => response.end('{}'));
    await expect(withinInvocation(AbortSignal.abort(), () => client.send(get))).rejects.toMatchObject({ name: 'AbortError' });
    expect(asked).toEqual([]);
  });

  test('that breaks off is sent again', async () => {
    const client = await clientOf((request, response) => (asked.length < 3 ? request.socket.destroy() : response.end('{}')));
    expect((await client.send(get)).$metadata.attempts).toBe(3);
  });

  test('is signed as by the SDK alone', async () => {
    const sign = (sha256: ConstructorParameters<typeof SignatureV4>[0]['sha256']) =>
      new SignatureV4({ service: 'dynamodb', region: 'eu-west-1', credentials, sha256 }).sign(
        new HttpRequest({
          method: 'POST',
          hostname: 'dynamodb.example',
          path: '/',
          headers: { host: 'dynamodb.example' },
          body: '{"ä":1}',
        }),
        { signingDate: new Date(0) },
      );
    const { headers } = await sign(SdkSha256);
    for (let time = 0; time < 2; time++) expect((await sign(Sha256)).headers).toEqual(headers);
  });
});
