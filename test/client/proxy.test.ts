import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, describe, expect, test } from '@jest/globals';
import { close, listen } from '../../bin/local/http.ts';
import { openHttp } from '../../client/http.ts';
import { findProxy, throughProxy } from '../../client/proxy.ts';
import { exclusions, unclearProxies } from './proxies.ts';

const gate = 'https://gate.example';
const proxy = 'http://proxy.example:3128';
const named = (variable: string) => `the proxy proxy.example:3128 (${variable})`;
const unusable = (variable: string) =>
  `the proxy in ${variable}, which must be an address such as http://proxy.example:3128, with / ? # in a password as %2F %3F %23`;

describe('the proxy of the environment', () => {
  test.each<[string, string, Record<string, string>, string]>([
    ['in capitals', gate, { HTTPS_PROXY: proxy }, named('HTTPS_PROXY')],
    ['in small letters', gate, { https_proxy: proxy }, named('https_proxy')],
    [
      'in both, of which small letters take precedence',
      gate,
      { HTTPS_PROXY: 'http://other.example', https_proxy: proxy },
      named('https_proxy'),
    ],
    ['for http', 'http://gate.example', { HTTP_PROXY: proxy, HTTPS_PROXY: 'http://other.example' }, named('HTTP_PROXY')],
    ['without a scheme', gate, { HTTPS_PROXY: 'proxy.example:3128' }, named('HTTPS_PROXY')],
    ['with a name and a password', gate, { HTTPS_PROXY: 'http://me:s3cret@proxy.example:3128' }, named('HTTPS_PROXY')],
    ['that is reached by TLS', gate, { HTTPS_PROXY: 'https://proxy.example:3128' }, named('HTTPS_PROXY')],
    ['with a path', gate, { HTTPS_PROXY: `${proxy}/?a#b` }, named('HTTPS_PROXY')],
    ['with an at sign in the password', gate, { HTTPS_PROXY: 'http://me:s3@cret@proxy.example:3128' }, named('HTTPS_PROXY')],
    ['that is none', gate, { HTTPS_PROXY: 'socks5://me:s3cret@proxy.example:1080' }, unusable('HTTPS_PROXY')],
    ['that is no address', gate, { https_proxy: 'http://' }, unusable('https_proxy')],
    ...unclearProxies.map(([has, address]): [string, string, Record<string, string>, string] => [
      `that has ${has}`,
      gate,
      { HTTPS_PROXY: address },
      unusable('HTTPS_PROXY'),
    ]),
  ])('the environment names a proxy %s', (_, address, env, name) => {
    expect(findProxy(address, env)?.name).toBe(name);
  });

  test.each<[string, string, Record<string, string>]>([
    ['no variable is set', gate, {}],
    ['a variable is empty', gate, { HTTPS_PROXY: '', https_proxy: '' }],
    ['only the other scheme has one', gate, { HTTP_PROXY: proxy }],
    ['the host is excluded in small letters', gate, { HTTPS_PROXY: proxy, NO_PROXY: 'other.example', no_proxy: 'gate.example' }],
    ['it is localhost', 'https://localhost:8443', { HTTPS_PROXY: proxy }],
    ['it is 127.0.0.1', 'http://127.0.0.1:8080', { HTTP_PROXY: proxy, HTTPS_PROXY: proxy }],
    ['it is another address of this machine', 'http://127.3.2.1', { HTTP_PROXY: proxy }],
    ['it is ::1', 'https://[::1]:8443', { HTTPS_PROXY: proxy }],
  ])('the environment names no proxy for an address if %s', (_, address, env) => {
    expect(findProxy(address, env)).toBeUndefined();
  });

  test.each(exclusions)('NO_PROXY may exclude %s: %s, %s', (_, address, list, isExcluded) => {
    expect(findProxy(address, { HTTPS_PROXY: proxy, NO_PROXY: list }) === undefined).toBe(isExcluded);
  });

  test('a message names the proxy only if it is used', () => {
    expect(throughProxy('http://127.0.0.1:8080')).toBe('');
  });
});

describe('a fetch through a proxy', () => {
  const seen: object[] = [];
  const server = createServer(async (request, response) => {
    const { method, url, headers } = request;
    seen.push({ method, url, authorization: headers['proxy-authorization'], type: headers['content-type'], body: await text(request) });
    if (url?.endsWith('/slow')) return;
    if (url?.endsWith('/away')) response.writeHead(302, { Location: 'http://other.example/' }).end();
    else if (url?.endsWith('/empty')) response.writeHead(204).end();
    else response.writeHead(200, { 'Set-Cookie': ['a=1', 'b=2'], Date: 'Thu, 01 Jan 2026 00:00:00 GMT' }).end('é');
  });
  const port = listen(server);
  afterAll(() => close(server));
  const send = async (path: string, init: RequestInit = {}) =>
    findProxy('http://gate.example', { HTTP_PROXY: `me:s3cret%40@127.0.0.1:${await port}` })?.fetch(`http://gate.example${path}`, init);

  test('a fetch through a proxy sends the whole address, the method, the body and the credential of the proxy', async () => {
    const answer = await send('/a?b=c', { method: 'POST', headers: { 'Content-Type': 'text/plain' }, body: 'é' });
    expect([answer?.status, await answer?.text(), answer?.headers.getSetCookie()]).toEqual([200, 'é', ['a=1', 'b=2']]);
    const authorization = `Basic ${Buffer.from('me:s3cret@').toString('base64')}`;
    expect(seen).toEqual([{ method: 'POST', url: 'http://gate.example/a?b=c', authorization, type: 'text/plain', body: 'é' }]);
  });

  test('a fetch through a proxy does not follow a redirect, and reads an answer without content', async () => {
    const [moved, empty] = [await send('/away'), await send('/empty')];
    expect([moved?.status, moved?.headers.get('location')]).toEqual([302, 'http://other.example/']);
    expect([empty?.status, await empty?.text()]).toEqual([204, '']);
  });

  test('a fetch through a proxy can be aborted', async () => {
    const stop = new AbortController();
    const answer = send('/slow', { signal: stop.signal });
    stop.abort();
    await expect(answer).rejects.toMatchObject({ name: 'AbortError' });
  });

  test('the client uses the proxy, unless the program has a fetch of its own', async () => {
    const { HTTPS_PROXY } = process.env;
    process.env.HTTPS_PROXY = 'http://me:s3cret@127.0.0.1:1';
    try {
      const message = `Nothing answers at ${gate} through the proxy 127.0.0.1:1 (HTTPS_PROXY). Check the address, the proxy, and whether the gate is running.`;
      await expect(openHttp({ url: gate }).exchange('GET', '/')).rejects.toMatchObject({ code: 'UNREACHABLE', message });
      const own = openHttp({ url: gate, fetch: async () => Response.json({ is: 'well' }) });
      expect(await own.exchange('GET', '/')).toMatchObject({ status: 200, body: { is: 'well' } });
    } finally {
      if (HTTPS_PROXY === undefined) delete process.env.HTTPS_PROXY;
      else process.env.HTTPS_PROXY = HTTPS_PROXY;
    }
  });
});
