import { afterAll, afterEach, describe, expect, test } from '@jest/globals';
import type { Resolve } from '../../../../functions/core/relay/dial.ts';
import { openDocumentReader } from '../../../../functions/core/relay/fetch-document.ts';
import { makeCertificate } from '../../../support/certificate.ts';
import { startUpstream, watchSockets } from '../../../support/upstream.ts';

const hostname = 'host.example';
const tls = makeCertificate(hostname);
const upstream = await startUpstream(({ url }, response) => {
  if (url === '/slow') return;
  if (url === '/moved') response.writeHead(302, { Location: '/document' });
  else response.writeHead(200, { 'Content-Type': 'application/json; charset=utf-8' });
  response.end(url === '/large' ? JSON.stringify({ a: 'x'.repeat(1_000) }) : url === '/double' ? '{"a":1,"a":2}' : '{"a":1}');
}, tls);
afterAll(() => upstream.stop());

const sockets = watchSockets();
afterAll(sockets.stop);
let before = 0;
afterEach(() => {
  before = sockets.opened();
});

const at =
  (...addresses: string[]): Resolve =>
  async () =>
    addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));

const limits = { maxBytes: 500, timeoutMs: 1_000 };
const gate = 'https://gate.example';

describe('loopback, as in the local stack', () => {
  const read = openDocumentReader({
    rules: { ports: [443], allowLoopback: true, ownHosts: [] },
    resolve: at('127.0.0.1'),
    trustedCertificate: tls.cert,
    ...limits,
  });
  const address = (path: string) => new URL(`https://${hostname}:${upstream.port}${path}`);

  test('the request for a document says nothing about anybody', async () => {
    expect(await read(address('/document'), gate)).toEqual({ a: 1 });
    const { method, headers } = upstream.seen.at(-1) ?? {};
    const host = `${hostname}:${upstream.port}`;
    const sent = { accept: 'application/json', 'accept-encoding': 'identity', connection: 'keep-alive', host, 'user-agent': 'intent-gate' };
    expect({ method, headers }).toEqual({ method: 'GET', headers: sent });
  });

  test.each(['/moved', '/large', '/double', '/slow'])('a document at %s is refused', async (path) => {
    await expect(read(address(path), gate)).rejects.toThrow();
  });
});

describe('deployed gates', () => {
  const readAt = (...addresses: string[]) =>
    openDocumentReader({ rules: { ports: [443], allowLoopback: false, ownHosts: [] }, resolve: at(...addresses), ...limits });

  test.each([['169.254.169.254'], ['203.0.113.9', '10.0.0.1']])('a gate calls no name that leads to %s', async (...addresses) => {
    await expect(readAt(...addresses)(new URL('https://host.example/client.json'), gate)).rejects.toThrow();
    expect(sockets.opened()).toBe(before);
  });

  test.each(['https://gate.example/x', 'https://127.0.0.1/x', 'http://host.example/x'])('a gate does not call %s', async (address) => {
    await expect(readAt('127.0.0.1')(new URL(address), gate)).rejects.toMatchObject({ reason: 'refused_address' });
    expect(sockets.opened()).toBe(before);
  });
});
