/**
 * A thread with the stand-in for DynamoDB. Its first message is its address; it answers any message with the {@link TableWork} since the
 * last one.
 */
import type { ServerResponse } from 'node:http';
import { parentPort } from 'node:worker_threads';
import { listen } from '../../bin/local/http.ts';
import { serveTables } from '../../bin/local/transactions.ts';
import { addOperation, newTableWork } from './table-work.ts';

const server = serveTables({});
let work = newTableWork();

server.prependListener('request', (request, response: ServerResponse) => {
  const startedMs = performance.now();
  const asked: Buffer[] = [];
  request.on('data', (chunk: Buffer) => asked.push(chunk));
  const { end } = response;
  response.end = (answer: unknown) => {
    const operation = String(request.headers['x-amz-target']).split('.').at(-1) ?? '';
    addOperation(work, operation, Buffer.concat(asked).toString(), String(answer), performance.now() - startedMs);
    return Reflect.apply(end, response, [answer]);
  };
});
parentPort?.on('message', () => {
  parentPort?.postMessage(work);
  work = newTableWork();
});
parentPort?.postMessage(`http://127.0.0.1:${await listen(server)}`);
