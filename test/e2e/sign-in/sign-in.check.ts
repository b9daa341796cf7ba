import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import {
  Client,
  type OAuthClientProvider,
  type StoredOAuthClientInformation,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client';
import { decodeJwt } from 'jose';
import type { StackDescription } from '../../../bin/local/stack-file.ts';
import { describeAuthorizationServer, describeResource } from '../../../functions/sign-in/metadata.ts';
import { authorizationServer, protectedResource } from '../../../schemas/sign-in/sign-in.ts';
import { makeCertificate } from '../../support/certificate.ts';
import { makeFolder } from '../../support/folder.ts';
import { startLocal } from '../../support/local-process.ts';
import { openProvider, redirectUri } from '../../support/sign-in/oauth-provider.ts';
import { decide, openAuthorization, openBrowser, startClientHost } from '../../support/sign-in/sign-in.ts';
import { toolCall } from '../../support/tool-call.ts';
import { startUpstream } from '../../support/upstream.ts';
import { openApi, startApi } from '../api.ts';

const [api, clientHost] = await Promise.all([startApi({ demo: true }), startClientHost()]);
const folder = makeFolder();
const tls = makeCertificate('localhost');
const secureHost = await startUpstream(({ url }, response) => {
  const client_id = `https://localhost:${secureHost.port}${url}`;
  response
    .writeHead(200, { 'Content-Type': 'application/json' })
    .end(JSON.stringify({ client_id, client_name: 'Test host', redirect_uris: ['http://127.0.0.1/callback'] }));
}, tls);
/** `npm start`, but that it trusts the certificate of the host of the client's description: what it trusts, a process decides when it starts. */
writeFileSync(join(folder, 'certificate.pem'), tls.cert);
const started = await startLocal(folder, [], { PORT: '0', NODE_EXTRA_CA_CERTS: join(folder, 'certificate.pem') });
afterAll(async () => {
  const ended = once(started.child, 'exit');
  started.child.kill();
  await Promise.all([clientHost.stop(), secureHost.stop(), ended]);
});

const country = { intent_uid: 'world.example:get-country:v1', parameters: { code: 'JP' } };

/** A new connection of a host, which ends at its first request if it has to sign in. */
async function connect({ base_url }: StackDescription, provider: OAuthClientProvider) {
  const transport = new StreamableHTTPClientTransport(new URL(`${base_url}/mcp/sign-in`), { authProvider: provider });
  const client = new Client({ name: 'host', version: '1' });
  const error = await client.connect(transport).catch((thrown: unknown) => thrown);
  return { client, transport, error };
}

/** A host without an id of its own but the address of its description: the client finds out that it can be used. */
function byDescription(): Parameters<typeof openProvider>[0] {
  let information: StoredOAuthClientInformation | undefined;
  return {
    clientMetadataUrl: `https://localhost:${secureHost.port}/client.json`,
    clientInformation: () => information,
    saveClientInformation: (saved) => {
      information = saved;
    },
  };
}

/** A host that has no id at all: the client registers it. */
function byRegistration(): Parameters<typeof openProvider>[0] {
  const { clientMetadataUrl, ...who } = byDescription();
  return who;
}

const local = clientHost.publish(['http://127.0.0.1/callback']);
const registered = { clientInformation: () => ({ client_id: 'intent-gate-public' }) };

describe.each<[string, StackDescription, () => Parameters<typeof openProvider>[0]]>([
  ['a client that publishes its description over https', started.description, byDescription],
  ['a client with a description on this machine', api.stack, () => ({ clientInformation: () => ({ client_id: local }) })],
  ['the client that is registered here', api.stack, () => registered],
  ['a client that registers itself', api.stack, byRegistration],
])('the official client, as %s', (_, stack, who) => {
  test('the official client signs in when it connects, searches and executes', async () => {
    const { provider, tokens, addressToOpen } = openProvider(who());
    const first = await connect(stack, provider);
    expect(first.error).toBeInstanceOf(UnauthorizedError);
    const asked = new URL(addressToOpen()).searchParams;
    expect(Object.fromEntries(asked)).toMatchObject({
      resource: `${stack.base_url}/mcp/sign-in`,
      code_challenge_method: 'S256',
      state: 'state-of-the-host',
    });

    const browser = openBrowser();
    const page = await openAuthorization(browser, stack, addressToOpen());
    expect(page.text).toContain('You may execute every intent, at most 60 times a minute.');
    const answer = new URL((await decide(browser, stack, page)).next ?? '');
    expect(`${answer.origin}${answer.pathname}`).toBe(redirectUri);
    expect(Object.fromEntries(answer.searchParams)).toEqual({
      code: expect.any(String),
      state: 'state-of-the-host',
      iss: `${stack.base_url}/oauth`,
    });

    await first.transport.finishAuth(answer.searchParams);
    expect(tokens()).toEqual({
      access_token: expect.stringMatching(/^ey/),
      token_type: 'Bearer',
      expires_in: 3_600,
      refresh_token: expect.stringMatching(/^[\w-]{43}\.[\w-]{43}$/),
      scope: '*:*:*:execute offline_access',
      issuer: `${stack.base_url}/oauth`,
    });
    const { client, error } = await connect(stack, provider);
    expect(error).toBeUndefined();
    const found = await client.callTool({ name: 'search_intents', arguments: { query: 'which country has this code' } });
    expect(found.isError).toBe(false);
    const executed = await client.callTool({ name: 'execute_intent', arguments: country });
    const { sub } = decodeJwt(tokens()?.access_token ?? '');
    const seen = await fetch(`${stack.base_url}/api/agents/${encodeURIComponent(String(sub))}`, {
      headers: { Authorization: `Bearer ${stack.admin_token}` },
    });
    expect(await seen.json()).toMatchObject({ usage: [{ used: 1 }] });
    expect(executed).toMatchObject({ isError: false, structuredContent: { name: 'Japan' } });
    await client.close();
  });
});

test('an answer in the name of another issuer is recognised by the official client', async () => {
  const { provider, tokens, addressToOpen } = openProvider(registered);
  const { stack } = api;
  const { transport, error } = await connect(stack, provider);
  expect(error).toBeInstanceOf(UnauthorizedError);
  const browser = openBrowser();
  const answer = new URL((await decide(browser, stack, await openAuthorization(browser, stack, addressToOpen()))).next ?? '').searchParams;
  answer.set('iss', 'https://other.example');
  await expect(transport.finishAuth(answer)).rejects.toThrow(/iss/i);
  expect(tokens()).toBeUndefined();
});

describe('/mcp/sign-in, through the gateway', () => {
  const challenge = `Bearer realm="intent-gate", resource_metadata="${api.stack.base_url}/.well-known/oauth-protected-resource/mcp/sign-in"`;
  const path = '/mcp/sign-in';
  const initialize = { jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {} } };

  test.each<[string, string, unknown]>([
    ['initialize', 'POST', initialize],
    ['tools/list', 'POST', { jsonrpc: '2.0', id: 1, method: 'tools/list' }],
    ['a search', 'POST', toolCall('search_intents', { query: 'country' })],
    ['an execution', 'POST', toolCall('execute_intent', country)],
    ['GET', 'GET', undefined],
    ['DELETE', 'DELETE', undefined],
  ])('/mcp/sign-in answers %s without a token with the 401 of the gateway, whose body has no id', async (_, method, body) => {
    const { status, headers, body: answered } = await api.call(method, path, body === undefined ? {} : { body });
    expect([status, headers.get('www-authenticate')]).toEqual([401, challenge]);
    expect(answered).toMatchObject({ jsonrpc: '2.0', error: { code: -32041, data: { error: { code: 'UNAUTHORIZED' } } } });
    expect(answered).not.toHaveProperty('id');
  });

  test.each<[string, string, string]>([
    ['that is no PAT', 'not.a.pat', 'invalid_token'],
    ['of an admin, from the user pool', api.stack.admin_token, 'invalid_token'],
  ])('/mcp/sign-in answers a token %s with the 401 of the function, whose body has the id', async (_, token, error) => {
    const answer = await api.call('POST', path, { token, body: initialize });
    expect(answer).toMatchObject({ status: 401, body: { jsonrpc: '2.0', id: 1, error: { code: -32041 } } });
    expect(answer.headers.get('www-authenticate')).toBe(challenge.replace(',', `, error="${error}",`));
  });

  test('/mcp/sign-in serves a PAT of a sign-in or of an agent, until it is revoked', async () => {
    const pat = await api.obtainPat();
    expect(await api.call('POST', path, { token: pat, body: initialize })).toMatchObject({
      status: 200,
      body: { id: 1, result: { protocolVersion: '2025-11-25' } },
    });
    expect((await api.call('GET', path, { token: pat })).status).toBe(405);
    const agent = encodeURIComponent(String(decodeJwt(pat).sub));
    expect((await api.call('POST', `/api/agents/${agent}/revoke`, { token: api.stack.admin_token })).status).toBe(200);
    expect((await api.call('POST', path, { token: pat, body: initialize })).status).toBe(401);
  });

  test('/mcp/sign-in answers a preflight as /mcp does, without asking for a token', async () => {
    const headers = { Origin: api.stack.base_url, 'Access-Control-Request-Method': 'POST' };
    const statuses = await Promise.all(
      ['/mcp', path].map(async (at) => (await fetch(api.stack.base_url + at, { method: 'OPTIONS', headers })).status),
    );
    expect(statuses).toEqual([405, 405]);
    const cors = await openApi({ background: false, context: { corsOrigins: 'https://host.example' } });
    const preflight = await fetch(`${cors.stack.base_url}${path}`, {
      method: 'OPTIONS',
      headers: { ...headers, Origin: 'https://host.example', 'Access-Control-Request-Headers': 'authorization,content-type' },
    });
    expect(preflight.status).toBe(204);
    expect(Object.fromEntries(preflight.headers)).toMatchObject({
      'access-control-allow-origin': 'https://host.example',
      'access-control-allow-methods': 'POST',
      'access-control-allow-headers': expect.stringContaining('Authorization'),
    });
    const refused = await fetch(`${cors.stack.base_url}${path}`, { method: 'POST', headers: { Origin: 'https://host.example' } });
    expect([refused.status, refused.headers.get('access-control-allow-origin')]).toEqual([401, '*']);
    await cors.stop();
  });

  test('/mcp/sign-in leaves /mcp open', async () => {
    for (const body of [initialize, toolCall('search_intents', { query: 'country' }), toolCall('execute_intent', country)])
      expect((await api.call('POST', '/mcp', { body })).status).toBe(200);
  });
});

test('nothing at the root of the host makes a client take /mcp for an address that needs a sign-in', async () => {
  const places = ['oauth-protected-resource', 'oauth-protected-resource/mcp', 'openid-configuration'];
  for (const place of places) expect((await api.call('GET', `/.well-known/${place}`)).status).toBe(404);
  const path = '/.well-known/oauth-authorization-server';
  const moved = await fetch(api.stack.base_url + path, { redirect: 'manual' });
  expect([moved.status, moved.headers.get('location')]).toEqual([308, `${path}/oauth`]);
  expect((await fetch(api.stack.base_url + path)).url).toBe(`${api.stack.base_url}${path}/oauth`);
});

test('each document belongs to its place (RFC 8414 section 3.3, RFC 9728 section 3.3), and names the address at which it was called', async () => {
  for (const baseUrl of [api.stack.base_url, api.stack.base_url.replace('127.0.0.1', 'localhost')]) {
    const read = async (path: string): Promise<unknown> => (await fetch(baseUrl + path)).json();
    const server = await read('/.well-known/oauth-authorization-server/oauth');
    const resource = await read('/.well-known/oauth-protected-resource/mcp/sign-in');
    expect(authorizationServer.parse(server)).toEqual(describeAuthorizationServer(baseUrl));
    expect(protectedResource.parse(resource)).toEqual(describeResource(baseUrl));
    expect(server).toMatchObject({ issuer: `${baseUrl}/oauth` });
    expect(resource).toMatchObject({ resource: `${baseUrl}/mcp/sign-in`, authorization_servers: [`${baseUrl}/oauth`] });
  }
});
