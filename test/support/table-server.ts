import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { close, listen } from '../../bin/local/http.ts';
import { serveTables } from '../../bin/local/transactions.ts';

/** A request as the SDK hands it to what sends it. */
interface Sent {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: string | Uint8Array;
}

/** Starts a table engine (dynalite, in memory) on a loopback port of its own. */
export async function startTableServer() {
  const server = serveTables({});
  const port = await listen(server);
  const operations: string[] = [];
  server.on('request', ({ headers }) => operations.push(String(headers['x-amz-target']).split('.').at(-1) ?? ''));
  let isStopped = false;

  /** What HTTP would do, which takes more time than the table: hands requests of this process over, with the date of their answers. */
  const handle = ({ method, path: url, headers, body }: Sent) =>
    new Promise((resolve, reject) => {
      if (isStopped) return reject(Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }));
      const lowered = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
      const request = Object.assign(Readable.from([typeof body === 'string' ? Buffer.from(body) : Buffer.concat([body])]), {
        method,
        url,
        headers: lowered,
      });
      const answered: Record<string, string> = { date: new Date().toUTCString() };
      const response = {
        statusCode: 200,
        setHeader: (name: string, value: unknown) => {
          answered[name.toLowerCase()] = String(value);
        },
        writeHead: (status: number, given: Record<string, string>) => {
          response.statusCode = status;
          for (const [name, value] of Object.entries(given)) response.setHeader(name, value);
          return response;
        },
        end: (text = '') => resolve({ response: { statusCode: response.statusCode, headers: answered, body: Buffer.from(text) } }),
      };
      return server.emit('request', request as unknown as IncomingMessage, response as unknown as ServerResponse);
    });

  return {
    endpoint: `http://127.0.0.1:${port}`,
    operations,
    handle,
    stop: () => {
      isStopped = true;
      return close(server);
    },
  };
}
