/** A thread with the upstream of benchmarks, which echoes JSON objects. Its first message is its address. */
import { createServer } from 'node:http';
import { parentPort } from 'node:worker_threads';
import { listen, readBody } from '../../bin/local/http.ts';

const server = createServer(async (request, response) => {
  const body = (await readBody(request, 1024 * 1024)) ?? '{}';
  response.writeHead(200, { 'Content-Type': 'application/json' }).end(body);
});
server.keepAliveTimeout = 60_000;
parentPort?.postMessage(`http://127.0.0.1:${await listen(server)}`);
