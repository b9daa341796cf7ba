import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { DynamoDBClient, paginateScan } from '@aws-sdk/client-dynamodb';
import { afterAll, expect, test } from '@jest/globals';
import { localCredentials } from '../../../bin/local/functions.ts';
import { region } from '../../../bin/local/json-service.ts';
import { variables } from '../../../functions/core/runtime/environment.ts';
import { startIssuer } from '../../support/connections/issuer.ts';
import { makeFolder } from '../../support/folder.ts';
import { json, type McpServer, resultOf, startMcpServer } from '../../support/mcp-upstreams/server.ts';
import { sequenceReceipts } from '../../support/receipts/sequence.ts';
import { decide, makeVerifier, openAuthorization, openBrowser, readForm, type TestBrowser } from '../../support/sign-in/sign-in.ts';
import { startUpstream } from '../../support/upstream.ts';
import { bodyOf, startApi } from '../api.ts';

// The functions as they are deployed: bundles, roles' environments, a real browser session.

const issuer = await startIssuer();
/** What a careless service says of the credential that it was sent. */
const echo = (seen = '') => ({
  seen,
  token: seen.slice(7),
  base64: Buffer.from(seen).toString('base64'),
  percent: encodeURIComponent(seen),
});
const upstream = await startUpstream(({ url, headers: { authorization } }, response) => {
  const body = { name: issuer.holderOf(authorization) ?? 'nobody', ...echo(authorization) };
  response.writeHead(url.startsWith('/fails') ? 400 : 200, { 'content-type': 'application/json', link: `<?${authorization}>; rel="next"` });
  response.end(JSON.stringify(body));
});
const server: McpServer = {
  kind: 'sessions',
  call(rpc, response, { headers }) {
    const text = JSON.stringify(echo(headers.authorization));
    json(response, resultOf(rpc, { content: [{ type: 'text', text }], isError: rpc.params.name === 'fails' }));
  },
};
const mcpServer = await startMcpServer(server);

const dataFolder = makeFolder();
/** All that the gate has said: log lines, events, and answers. */
const said: string[] = [];
const api = await startApi({
  dataFolder,
  onLog: (line) => said.push(line),
  onEvent: (type, detail) => said.push(JSON.stringify([type, detail])),
});
const { stack } = api;
const request = globalThis.fetch;
globalThis.fetch = async (...call) => {
  const response = await request(...call);
  if (response.url.startsWith(stack.base_url)) said.push(JSON.stringify([...response.headers]), await response.clone().text());
  return response;
};
const client = new DynamoDBClient({ endpoint: stack.dynamodb_endpoint, region, credentials: localCredentials() });
afterAll(() => {
  globalThis.fetch = request;
  client.destroy();
  return Promise.all([issuer.stop(), upstream.stop(), mcpServer.stop()]);
});
const origin = `http://127.0.0.1:${upstream.port}`;

let count = 0;

async function newService(grant: string): Promise<{ id: string; uid: string; others: string[] }> {
  const id = await api.createService();
  count++;
  const oauth = { issuer: issuer.issuer, client_id: 'gate', client_secret: issuer.clientSecret, grant };
  const origins = [origin, new URL(mcpServer.url).origin];
  expect(await api.asAdmin('PUT', `/api/services/${id}/credential`, { oauth, origins })).toMatchObject({ status: 200 });
  const post = { url: mcpServer.url, method: 'POST', content_type: 'application/json' };
  const endpoints = {
    look: { url: `${origin}/places`, method: 'GET' },
    fails: { url: `${origin}/fails`, method: 'GET' },
    tool: { ...post, mcp: { tool: 'look' } },
    'tool-fails': { ...post, mcp: { tool: 'fails' } },
  };
  const uids = Object.keys(endpoints).map((name) => `connected.example:${name}-${count}:v1`);
  for (const [at, endpoint] of Object.values(endpoints).entries()) {
    const texts = { intent_name: `Look up ${uids[at]}`, description: 'Looks up', input_parameters: [], output_parameters: [] };
    bodyOf(await api.asAdmin('POST', `/api/services/${id}/intents`, { ...texts, intent_uid: uids[at], endpoint }), 201);
  }
  const [uid = '', ...others] = uids;
  return { id, uid, others };
}

/** Connects the person of a browser. @returns the last page */
async function connect(browser: TestBrowser, id: string) {
  const address = `${stack.base_url}/connect/${id}`;
  const page = await openAuthorization(browser, stack, address);
  expect(page).toMatchObject({ status: 200, text: expect.stringContaining('Signed in as') });
  const leading = await browser.request(address, readForm(page));
  const agreed = await fetch(String(leading.next), { redirect: 'manual' });
  return browser.request(String(agreed.headers.get('location')));
}

test('a call carries the token that the gate has obtained for itself, and an admin tries the client', async () => {
  const { id, uid } = await newService('client');
  const pat = await api.obtainPat();
  for (let times = 0; times < 3; times++) expect(await api.execute(pat, uid, {})).toMatchObject({ status: 200, body: { name: 'gate' } });
  expect(issuer.grants).toEqual(['client_credentials']);
  expect(await api.asAdmin('POST', `/api/services/${id}/credential/test`)).toMatchObject({ status: 200, body: { ok: true } });
  expect(await api.asAdmin('GET', `/api/services/${id}/connections`)).toMatchObject({
    status: 200,
    body: { renew_at: expect.any(String) },
  });
});

const asPerson = (method: string, path: string) => api.call(method, path, { token: stack.user_token });

test('a person signs in, connects, sees the connection, and ends it', async () => {
  const { id, uid } = await newService('person');
  expect(await api.execute(await api.obtainPat(), uid, {})).toMatchObject({
    status: 403,
    body: { error: { details: { reason: 'person_required' } } },
  });
  expect(await connect(openBrowser(), id)).toMatchObject({ status: 200, text: expect.stringContaining('You are connected to') });
  expect(await asPerson('GET', '/api/connections')).toMatchObject({
    status: 200,
    body: { connections: [{ service_id: id, state: 'connected' }] },
  });
  expect(await api.asAdmin('GET', `/api/services/${id}/connections`)).toMatchObject({ status: 200, body: { people: 1 } });
  issuer.revoked.length = 0;
  expect(await asPerson('DELETE', `/api/connections/${id}`)).toMatchObject({ status: 204 });
  expect(issuer.revoked).toHaveLength(1);
  expect(await asPerson('GET', '/api/connections')).toMatchObject({ status: 200, body: { connections: [] } });
  expect(await api.call('GET', '/api/connections', {})).toMatchObject({ status: 401, body: { error: { code: 'UNAUTHORIZED' } } });
});

/** Every item of both tables and every object of the buckets, unpacked. */
async function dump(): Promise<{ items: string[]; objects: string[] }> {
  const unpack = (bytes: Uint8Array) =>
    (bytes[0] === 0x1f && bytes[1] === 0x8b ? gunzipSync(bytes) : Buffer.from(bytes)).toString('latin1');
  const { environment } = stack.definitionOf('execute-intent');
  const items: string[] = [];
  for (const name of [variables.registryTable, variables.activityTable])
    for await (const { Items = [] } of paginateScan({ client }, { TableName: environment[name] }))
      items.push(
        ...Items.map((item) => JSON.stringify(item, (_, value) => (ArrayBuffer.isView(value) ? unpack(value as Uint8Array) : value))),
      );
  const files = readdirSync(join(dataFolder, 'buckets'), { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return { items, objects: files.map(({ parentPath, name }) => unpack(readFileSync(join(parentPath, name)))) };
}

/** The PAT of a program in which the person of a browser signs in. */
async function signInProgram(browser: TestBrowser): Promise<string> {
  const { verifier, challenge } = makeVerifier();
  const known = { client_id: 'intent-gate-public', redirect_uri: 'http://127.0.0.1/callback', resource: `${stack.base_url}/mcp` };
  const asked = { ...known, response_type: 'code', code_challenge: challenge, code_challenge_method: 'S256', state: 'state-of-the-host' };
  const page = await openAuthorization(browser, stack, `${stack.base_url}/oauth/authorize?${new URLSearchParams(asked)}`);
  const code = new URL(String((await decide(browser, stack, page)).next)).searchParams.get('code') ?? '';
  const body = new URLSearchParams({ ...known, grant_type: 'authorization_code', code, code_verifier: verifier });
  const { access_token } = (await (await fetch(`${stack.base_url}/oauth/token`, { method: 'POST', body })).json()) as Record<
    string,
    string
  >;
  return String(access_token);
}

test('no token, secret, code or verifier is in what the gate says or stores, although issuers and services repeat them', async () => {
  const repeat = (form: URLSearchParams) => ({ status: 400, body: { error: 'invalid_request', error_description: `You sent ${form}` } });
  const isRefused = { body: { error: { details: { reason: 'no_token', issuer_error: 'invalid_request' } } } };
  // each call obtains another token, and the secret is in the form
  const metadata = { token_endpoint_auth_methods_supported: ['client_secret_post'] };
  Object.assign(issuer.behaviour, { path: '/realms/a', metadata, authentication: 'post', lifeSeconds: 0, before: repeat });
  const browser = openBrowser();
  const services = [await newService('client'), await newService('person')];
  const { id = '' } = services[1] ?? {};
  expect((await connect(browser, id)).text).toContain('The service refused (invalid_request). You sent ');
  issuer.behaviour.before = undefined;
  expect((await connect(browser, id)).text).toContain('You are connected to');
  const pats = [await api.obtainPat(), await signInProgram(browser)];
  for (const [at, { id: service, uid, others }] of services.entries()) {
    const statuses: number[] = [];
    for (const one of [uid, ...others]) statuses.push((await api.execute(String(pats[at]), one, {}, { 'Idempotency-Key': one })).status);
    expect(statuses).toEqual([200, 422, 200, 422]);
    issuer.behaviour.before = repeat;
    expect(await api.execute(String(pats[at]), uid, {})).toMatchObject(isRefused);
    await api.asAdmin('POST', `/api/services/${service}/credential/test`);
    expect(await api.asAdmin('GET', `/api/services/${service}/connections`)).toMatchObject({
      body: { failure: { error: 'invalid_request' } },
    });
    issuer.behaviour.before = undefined;
  }
  expect(await asPerson('GET', '/api/connections')).toMatchObject({ body: { connections: [{ service_id: id }] } });
  const during = await dump();
  expect(await asPerson('DELETE', `/api/connections/${id}`)).toMatchObject({ status: 204 });
  await sequenceReceipts(stack);
  const after = await dump();
  said.push(...during.items, ...during.objects, ...after.items, ...after.objects);

  const sent = JSON.stringify([issuer.seen, issuer.revoked, upstream.seen, mcpServer.seen]);
  for (const kind of ['access', 'refresh', 'code', 'secret']) expect(sent).toContain(`canary-${kind}-`);
  expect({ during, after }).toMatchObject({
    during: { items: expect.arrayContaining([expect.stringContaining('"sealed"')]) },
    after: { objects: expect.arrayContaining([expect.anything()]) },
  });
  for (const shown of ['[credential]', '"execution-receipt"', '"message":"executed"']) expect(said.join('\n')).toContain(shown);
  const verifiers = issuer.seen.flatMap(({ body }) => new URLSearchParams(body).getAll('code_verifier'));
  expect(verifiers.length).toBeGreaterThan(2);
  // in plain text, and in base64 at each alignment
  const secrets = ['canary', 'Y2FuYXJ5', 'NhbmFye', 'jYW5hcn', ...verifiers];
  expect(said.flatMap((text) => secrets.filter((secret) => text.includes(secret)).map((secret) => `${secret} in ${text}`))).toEqual([]);
});
