import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import {
  Client,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
  type OAuthTokens,
  type StoredOAuthClientInformation,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client';
import { decodeJwt } from 'jose';
import type { StackDescription } from '../../bin/local/stack-file.ts';
import { describeAuthorizationServer, describeResource } from '../../functions/core/sign-in/metadata.ts';
import { authorizationServer, protectedResource } from '../../schemas/sign-in.ts';
import { makeCertificate } from '../support/certificate.ts';
import { makeFolder } from '../support/folder.ts';
import { startLocal } from '../support/local-process.ts';
import { decide, openAuthorization, openBrowser, startClientHost } from '../support/sign-in.ts';
import { toolCall } from '../support/tool-call.ts';
import { startUpstream } from '../support/upstream.ts';
import { startApi } from './api.ts';

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

const redirectUri = 'http://127.0.0.1:43117/callback';
const country = { intent_uid: 'world.example:get-country:v1', parameters: { code: 'JP' } };

/** What a host keeps for the official client: who it is itself, and nothing of the gate. */
function openProvider(who: Pick<OAuthClientProvider, 'clientMetadataUrl' | 'clientInformation' | 'saveClientInformation'>) {
  let tokens: OAuthTokens | undefined;
  let discovered: OAuthDiscoveryState | undefined;
  let verifier = '';
  let address: URL | undefined;
  const provider: OAuthClientProvider = {
    ...who,
    saveDiscoveryState: (state) => {
      discovered = state;
    },
    discoveryState: () => discovered,
    redirectUrl: redirectUri,
    clientMetadata: { client_name: 'Test host', redirect_uris: [redirectUri], token_endpoint_auth_method: 'none' },
    state: () => 'state-of-the-host',
    tokens: () => tokens,
    saveTokens: (saved) => {
      tokens = saved;
    },
    redirectToAuthorization: (url) => {
      address = url;
    },
    saveCodeVerifier: (text) => {
      verifier = text;
    },
    codeVerifier: () => verifier,
  };
  return { provider, tokens: () => tokens, addressToOpen: () => address?.href ?? '' };
}

async function connect({ base_url }: StackDescription, provider: OAuthClientProvider) {
  const transport = new StreamableHTTPClientTransport(new URL(`${base_url}/mcp/sign-in`), { authProvider: provider });
  const client = new Client({ name: 'host', version: '1' });
  await client.connect(transport);
  return { client, transport };
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
  test('searches without signing in, signs in when it executes, and executes', async () => {
    const { provider, tokens, addressToOpen } = openProvider(who());
    const { client, transport } = await connect(stack, provider);
    const found = await client.callTool({ name: 'search_intents', arguments: { query: 'which country has this code' } });
    expect(found.isError).toBe(false);
    expect(addressToOpen()).toBe('');

    await expect(client.callTool({ name: 'execute_intent', arguments: country })).rejects.toThrow(UnauthorizedError);
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

    await transport.finishAuth(answer.searchParams);
    expect(tokens()).toEqual({
      access_token: expect.stringMatching(/^ey/),
      token_type: 'Bearer',
      expires_in: 3_600,
      refresh_token: expect.stringMatching(/^[\w-]{43}\.[\w-]{43}$/),
      scope: '*:*:*:execute offline_access',
      issuer: `${stack.base_url}/oauth`,
    });
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
  const { client, transport } = await connect(stack, provider);
  await expect(client.callTool({ name: 'execute_intent', arguments: country })).rejects.toThrow(UnauthorizedError);
  const browser = openBrowser();
  const answer = new URL((await decide(browser, stack, await openAuthorization(browser, stack, addressToOpen()))).next ?? '').searchParams;
  answer.set('iss', 'https://other.example');
  await expect(transport.finishAuth(answer)).rejects.toThrow(/iss/i);
  expect(tokens()).toBeUndefined();
  await client.close();
});

test('/mcp/sign-in asks for a sign-in only if a tool needs a PAT', async () => {
  const challenge = `Bearer realm="intent-gate", resource_metadata="${api.stack.base_url}/.well-known/oauth-protected-resource/mcp/sign-in"`;
  for (const [name, args] of [
    ['search_intents', { query: 'country' }],
    ['get_intent', { intent_uid: country.intent_uid }],
    ['accept_policy', {}],
  ] as const) {
    expect(await api.call('POST', '/mcp/sign-in', { body: toolCall(name, args) })).toMatchObject({
      status: 200,
      body: { result: { isError: false } },
    });
  }
  const missing = await api.call('POST', '/mcp/sign-in', { body: toolCall('execute_intent', country) });
  expect(missing).toMatchObject({ status: 401, body: { jsonrpc: '2.0', id: 1, error: { data: { error: { code: 'UNAUTHORIZED' } } } } });
  expect(missing.headers.get('www-authenticate')).toBe(challenge);
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
