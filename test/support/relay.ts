import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** A gate that is none: it shows what another gate answers, and keeps what it is sent. */
export async function startRelay(victim: string) {
  const seen: { path: string; body: string }[] = [];
  const server = createServer(async (incoming, outgoing) => {
    const { method = 'GET', url: path = '/' } = incoming;
    const body = await text(incoming);
    seen.push({ path, body });
    const answer = await fetch(victim + path, {
      method,
      headers: { 'Content-Type': 'application/json', Authorization: incoming.headers.authorization ?? '' },
      ...(body !== '' && { body }),
    });
    outgoing.writeHead(answer.status, { 'Content-Type': 'application/json' }).end(await answer.text());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** the bodies that were to become PATs */
    issueRequests: () => seen.filter(({ path }) => path === '/api/pat/issue').map(({ body }) => body),
    stop: () => new Promise((resolve) => server.close(resolve)),
  };
}
