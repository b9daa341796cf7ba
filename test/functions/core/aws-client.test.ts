import { createServer, type RequestListener, type Server } from 'node:http';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { DynamoDBClient, GetItemCommand } from '@aws-sdk/client-dynamodb';
import { afterEach, describe, expect, test } from '@jest/globals';
import { HttpRequest } from '@smithy/core/protocols';
import { close, listen } from '../../../bin/local/http.ts';
import { awsClientSettings, openStreams } from '../../../functions/core/aws-client.ts';
import { bounded, withinInvocation } from '../../../functions/core/invocation.ts';

let server: Server;
const asked: string[] = [];
const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };

async function clientOf(answer: RequestListener, requestTimeout = 200): Promise<DynamoDBClient> {
  asked.length = 0;
  server = createServer(async (request, response) => {
    asked.push(Buffer.concat(await request.toArray()).toString());
    answer(request, response);
  });
  const endpoint = `http://127.0.0.1:${await listen(server)}`;
  return new DynamoDBClient({ ...awsClientSettings({ requestTimeout }), endpoint, region: 'eu-west-1', credentials });
}

const get = new GetItemCommand({ TableName: 'Tägliches', Key: { pk: { S: '東京 🗼' } } });

const stop = () => close(server);
afterEach(stop);

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

  test('is sent again only while its step has time', async () => {
    const client = await clientOf(() => {}, 80);
    await expect(bounded(120, () => client.send(get))).rejects.toMatchObject({ name: 'AbortError', cause: { name: 'TimeoutError' } });
    expect(asked).toHaveLength(2);
    const late = bounded(1, async () => {
      await pause(20);
      return client.send(get);
    });
    await expect(late).rejects.toMatchObject({ name: 'AbortError', cause: { name: 'TimeoutError' } });
    expect(asked).toHaveLength(2);
  });

  test('that breaks off is sent again', async () => {
    const client = await clientOf((request, response) => (asked.length < 3 ? request.socket.destroy() : response.end('{}')));
    expect((await client.send(get)).$metadata.attempts).toBe(3);
  });
});

describe('a request whose body and answer are streams', () => {
  async function sendTo(answer: RequestListener, body?: Readable, silenceMs = 5_000) {
    asked.length = 0;
    server = createServer(answer);
    const request = new HttpRequest({
      method: body ? 'PUT' : 'GET',
      protocol: 'http:',
      hostname: '127.0.0.1',
      port: await listen(server),
      path: '/a',
      headers: {},
    });
    return openStreams(silenceMs)(request, body);
  }

  test('passes both on as they come', async () => {
    const body = Readable.from(
      (async function* () {
        yield 'first ';
        yield 'second';
      })(),
    );
    const answer = await sendTo((request, response) => request.pipe(response.writeHead(201)), body);
    expect([answer.statusCode, await text(answer)]).toEqual([201, 'first second']);
  });

  test('fails if nothing comes for long, before the answer or within it', async () => {
    const silent = { name: 'TimeoutError', message: 'the connection was silent for too long' };
    await expect(sendTo(() => {}, undefined, 50)).rejects.toMatchObject(silent);
    await stop();
    const begun = await sendTo((_, response) => response.write('begun'), undefined, 50);
    await expect(text(begun)).rejects.toThrow();
  });

  test('ends with the step that it is part of, before the answer or within it', async () => {
    await expect(bounded(50, () => sendTo(() => {}))).rejects.toMatchObject({ name: 'AbortError' });
    await stop();
    await expect(bounded(100, async () => text(await sendTo((_, response) => response.write('begun'))))).rejects.toThrow();
  });

  test('is not sent once its step has ended', async () => {
    const sending = withinInvocation(AbortSignal.abort(), () => sendTo((request, response) => response.end(asked.push(request.url ?? ''))));
    await expect(sending).rejects.toMatchObject({ name: 'AbortError' });
    expect(asked).toEqual([]);
  });

  test('fails with its body', async () => {
    const body = Readable.from(
      (async function* () {
        yield 'first';
        throw new Error('the file is damaged');
      })(),
    );
    await expect(sendTo((request) => request.resume(), body)).rejects.toThrow('the file is damaged');
  });

  test('has its answer even if that comes before all of the body', async () => {
    const body = Readable.from(
      (async function* () {
        for (let chunk = 0; chunk < 100; chunk++) yield Buffer.alloc(100_000);
      })(),
    );
    const answer = await sendTo((_, response) => response.writeHead(403).end('no'), body);
    expect(answer.statusCode).toBe(403);
    answer.destroy();
  });
});
