import { createServer, type RequestListener, type Server } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { ConditionalCheckFailedException, DynamoDBClient, GetItemCommand } from '@aws-sdk/client-dynamodb';
import { afterEach, describe, expect, test } from '@jest/globals';
import { close, listen } from '../../../../bin/local/http.ts';
import { awsClientSettings } from '../../../../functions/core/aws/aws-client.ts';
import { bounded, withinInvocation } from '../../../../functions/core/runtime/invocation.ts';

let server: Server;
const asked: string[] = [];
const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };

async function clientOf(answer: RequestListener, silenceMs = 200): Promise<DynamoDBClient> {
  asked.length = 0;
  server = createServer(async (request, response) => {
    asked.push(Buffer.concat(await request.toArray()).toString());
    answer(request, response);
  });
  const endpoint = `http://127.0.0.1:${await listen(server)}`;
  return new DynamoDBClient({ ...awsClientSettings(silenceMs), endpoint, region: 'eu-west-1', credentials });
}

const get = new GetItemCommand({ TableName: 'Tägliches', Key: { pk: { S: '東京 🗼' } } });

const stop = () => close(server);
afterEach(stop);

describe('an AWS client', () => {
  test('an AWS client passes on whatever characters a request and its answer hold', async () => {
    const client = await clientOf((_, response) => response.end('{"Item":{"pk":{"S":"東京 🗼"}}}'));
    expect((await client.send(get)).Item).toEqual({ pk: { S: '東京 🗼' } });
    expect(asked.map((text) => JSON.parse(text))).toEqual([{ TableName: 'Tägliches', Key: { pk: { S: '東京 🗼' } } }]);
  });

  test('an AWS client sends a request without an answer in time three times in all', async () => {
    const client = await clientOf(() => {}, 50);
    await expect(client.send(get)).rejects.toMatchObject({ name: 'TimeoutError' });
    expect(asked).toHaveLength(3);
  });

  test('an AWS client sends a request again whose answer falls silent half-way', async () => {
    const client = await clientOf((_, response) =>
      asked.length < 2 ? response.writeHead(200, { 'Content-Length': 100 }).write('{') : response.end('{}'),
    );
    expect((await client.send(get)).$metadata.attempts).toBe(2);
  });

  test.each([
    ['an internal error', 500, '{"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError","message":"Again."}'],
    ['the page of a proxy', 503, '<html>no JSON</html>'],
    ['throttling', 400, '{"__type":"com.amazonaws.dynamodb.v20120810#ThrottlingException","message":"Slowly."}'],
  ])('an AWS client sends a request again after %s, three times in all and each time within a second', async (_, status, body) => {
    const failing = await clientOf((_, response) => response.writeHead(status).end(body));
    const startMs = performance.now();
    await expect(failing.send(get)).rejects.toMatchObject({ $metadata: { attempts: 3 } });
    expect([asked.length, performance.now() - startMs < 2_000]).toEqual([3, true]);
    await stop();
    const recovering = await clientOf((_, response) => (asked.length < 3 ? response.writeHead(status).end(body) : response.end('{}')));
    expect((await recovering.send(get)).$metadata.attempts).toBe(3);
  });

  test('an AWS client does not send a request again whose condition does not hold', async () => {
    const body = '{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException","message":"It does not hold."}';
    const client = await clientOf((_, response) => response.writeHead(400).end(body));
    await expect(client.send(get)).rejects.toBeInstanceOf(ConditionalCheckFailedException);
    expect(asked).toHaveLength(1);
  });

  test('an AWS client does not send a request again if its answer breaks off at the end of its step', async () => {
    const client = await clientOf((_, response) => response.writeHead(200, { 'Content-Length': 100 }).write('{'));
    const failed = bounded(100, () => client.send(get));
    await expect(failed).rejects.toMatchObject({ name: 'AbortError' });
    expect(asked).toHaveLength(1);
  });

  test('an AWS client sends nothing once its step has ended', async () => {
    const client = await clientOf((_, response) => response.end('{}'));
    await expect(withinInvocation(AbortSignal.abort(), () => client.send(get))).rejects.toMatchObject({ name: 'AbortError' });
    expect(asked).toEqual([]);
  });

  test('an AWS client sends a request again only while its step has time', async () => {
    const client = await clientOf(() => {}, 80);
    await expect(bounded(120, () => client.send(get))).rejects.toMatchObject({ name: 'AbortError' });
    expect(asked.length).toBeLessThan(3);
  });

  test('an AWS client sends nothing if its step ends before it begins', async () => {
    const client = await clientOf((_, response) => response.end('{}'));
    const late = bounded(1, async () => {
      await pause(20);
      return client.send(get);
    });
    await expect(late).rejects.toMatchObject({ name: 'AbortError' });
    expect(asked).toEqual([]);
  });

  test('an AWS client sends a request again whose connection breaks', async () => {
    const client = await clientOf((request, response) => (asked.length < 3 ? request.socket.destroy() : response.end('{}')));
    expect((await client.send(get)).$metadata.attempts).toBe(3);
  });
});
