import { createServer } from 'node:http';
import { listenForStack } from './guard.ts';
import { close, readBody } from './http.ts';

interface Entry {
  DetailType?: string;
  Detail?: string;
}

const maxRequestBytes = 256 * 1024;

/**
 * A stand-in for EventBridge on a loopback port that knows one operation, PutEvents.
 * @param onEvent - is passed each event: its type and its detail
 */
export async function startEvents(onEvent: (type: string, detail: unknown) => void) {
  const server = createServer(async (request, response) => {
    const body = await readBody(request, maxRequestBytes);
    if (request.headers['x-amz-target'] !== 'AWSEvents.PutEvents' || body === undefined) {
      response.writeHead(400, { 'Content-Type': 'application/x-amz-json-1.1' }).end('{"__type":"UnknownOperationException"}');
      return;
    }
    const { Entries = [] } = JSON.parse(body.toString()) as { Entries?: Entry[] };
    for (const { DetailType = '', Detail = 'null' } of Entries) onEvent(DetailType, JSON.parse(Detail));
    response.writeHead(200, { 'Content-Type': 'application/x-amz-json-1.1' }).end('{"FailedEntryCount":0,"Entries":[]}');
  });
  return { endpoint: await listenForStack(server), stop: () => close(server) };
}
