/** A thread with the upstream of benchmarks, which echoes JSON objects, or makes them of as many bytes as a query asks for. Its first message is its address. */
import { createServer } from 'node:http';
import { parentPort } from 'node:worker_threads';
import { listen, readBody } from '../../bin/local/http.ts';

/** Records as web services answer them, of about so many bytes. */
const recordsOf = (bytes: number): string =>
  JSON.stringify({
    items: Array.from({ length: Math.ceil(bytes / 100) }, (_, id) => ({
      id,
      name: `Record ${id}`,
      price: id / 4,
      tags: ['one', 'two'],
      isOpen: id % 2 === 0,
    })),
  });

const prepared = new Map<number, string>();

const server = createServer(async (request, response) => {
  const bytes = Number(new URL(request.url ?? '', 'http://upstream').searchParams.get('bytes') ?? 0);
  if (bytes > 0 && !prepared.has(bytes)) prepared.set(bytes, recordsOf(bytes));
  const body = prepared.get(bytes) ?? (await readBody(request, 1024 * 1024)) ?? '{}';
  response.writeHead(200, { 'Content-Type': 'application/json' }).end(body);
});
server.keepAliveTimeout = 60_000;
parentPort?.postMessage(`http://127.0.0.1:${await listen(server)}`);
