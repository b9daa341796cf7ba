import { createServer, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { afterAll, describe, expect, test } from '@jest/globals';
import { close, listen } from '../../bin/local/http.ts';
import type { Unreachable } from '../../client/errors.ts';
import { openHttp } from '../../client/http.ts';
import { makeCertificate } from '../support/certificate.ts';

const cutting = createServer((request) => request.destroy());
const tls = createTlsServer(makeCertificate('localhost'), (_, response) => response.end('{}'));
const denying = createServer().on('connect', (_, socket) => socket.end('HTTP/1.1 403 Forbidden\r\n\r\n'));
const portOf = new Map<Server, number>();
for (const server of [cutting, tls, denying]) portOf.set(server as Server, await listen(server as Server));
afterAll(async () => {
  for (const server of portOf.keys()) await close(server);
});
const at = (server: unknown) => `127.0.0.1:${portOf.get(server as Server)}`;

/** The failure of a change, which is sent to this address with this proxy. */
async function failureAt(url: string, proxy?: string): Promise<Unreachable> {
  const { HTTPS_PROXY } = process.env;
  if (proxy) process.env.HTTPS_PROXY = proxy;
  try {
    const http = openHttp({ url, maxAttempts: 1 });
    return await http.send('POST', '/api/services', { body: {} }).then(
      () => Promise.reject(new Error('answered')),
      (error: Unreachable) => error,
    );
  } finally {
    if (HTTPS_PROXY === undefined) delete process.env.HTTPS_PROXY;
    else process.env.HTTPS_PROXY = HTTPS_PROXY;
  }
}

describe('a request that was not answered', () => {
  test.each<[string, string, proxy?: string]>([
    ['nothing listens', 'http://127.0.0.1:2'],
    ['the certificate is not trusted', `https://${at(tls)}`],
    ['the server speaks no TLS', `https://${at(cutting)}`],
    ['the proxy does not answer', 'https://gate.example', 'http://127.0.0.1:2'],
    ['the proxy denies the tunnel', 'https://gate.example', `http://${at(denying)}`],
    ['the proxy is of no known kind', 'https://gate.example', 'socks5://127.0.0.1:1'],
  ])('a request that was not answered has had no effect if %s', async (_, url, proxy = '') => {
    const { code, effect, message } = await failureAt(url, proxy);
    expect({ code, effect }).toEqual({ code: 'UNREACHABLE', effect: undefined });
    expect(message).toMatch(/Check the address,( the proxy,)? and whether the gate is running\.$/);
  });

  test.each([
    ['the attempt to connect ran out of time', 'ETIMEDOUT', 'connect', undefined],
    ['the network has no way to the gate', 'ENETUNREACH', 'connect', undefined],
    ['several addresses were tried', 'ENETUNREACH', undefined, undefined],
    ['the handshake of TLS was refused', 'ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE', undefined, undefined],
    ['the way was lost while the answer was read', 'EHOSTUNREACH', 'read', 'change'],
    ['the answer took too long', 'ETIMEDOUT', 'read', 'change'],
  ])('a request that was not answered may have had its effect if it was sent: %s', async (_, code, syscall, effect) => {
    const fetch = () => Promise.reject(new TypeError('fetch failed', { cause: { code, syscall } }));
    const http = openHttp({ url: 'https://gate.example', fetch, maxAttempts: 1 });
    await expect(http.send('POST', '/api/services', { body: {} })).rejects.toMatchObject({ code: 'UNREACHABLE', effect });
  });

  test('a request that was not answered may have had its effect if it was sent', async () => {
    const { effect, message } = await failureAt(`http://${at(cutting)}`);
    expect([effect, message]).toEqual([
      'change',
      `Nothing answers at http://${at(cutting)}. The change may have been made. Look at the record before you repeat it.`,
    ]);
  });

  test.each<[string, string, object]>([
    ['a read', '/api/services', { method: 'GET' }],
    ['a dry run', '/api/policy', { query: { dry_run: 'true' } }],
    ['a test', '/api/services/s/credential/test', {}],
  ])('a request that was not answered has no effect if it is %s', async (_, path, { method = 'POST', ...options }: { method?: string }) => {
    const http = openHttp({ url: `http://${at(cutting)}`, maxAttempts: 1 });
    await expect(http.send(method, path, options)).rejects.toMatchObject({ code: 'UNREACHABLE', effect: undefined });
  });
});
