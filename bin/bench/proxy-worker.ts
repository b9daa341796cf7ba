/**
 * A thread with a plain reverse proxy in front of `workerData.target`: the minimum that any gateway in Node costs. Its first message is its address.
 */
import { Agent, createServer, request as send } from 'node:http';
import { parentPort, workerData } from 'node:worker_threads';
import { listen } from '../local/http.ts';

const agent = new Agent({ keepAlive: true });

const server = createServer((incoming, response) => {
  const { method, headers, url = '/' } = incoming;
  const outgoing = send(new URL(url, workerData.target), { method, headers, agent }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
  });
  outgoing.on('error', () => response.writeHead(502).end());
  incoming.pipe(outgoing);
});
server.keepAliveTimeout = 60_000;
parentPort?.postMessage(`http://127.0.0.1:${await listen(server)}`);
