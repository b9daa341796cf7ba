import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { close, listen } from '../../bin/local/http.ts';

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
  return {
    url: `http://127.0.0.1:${await listen(server)}`,
    /** the bodies that were to become PATs */
    issueRequests: () => seen.filter(({ path }) => path === '/api/pat/issue').map(({ body }) => body),
    stop: () => close(server),
  };
}
