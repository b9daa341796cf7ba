import { randomInt, randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { PutCommand, ScanCommand } from '@aws-sdk/lib-dynamodb';
import { afterAll, expect, test } from '@jest/globals';
import { listAssets } from '../../console/assets.ts';
import { pack } from '../../functions/core/json/pack.ts';
import { variables } from '../../functions/core/runtime/environment.ts';
import { newUlid } from '../../functions/core/runtime/ulid.ts';
import { keys } from '../../functions/core/table/keys.ts';
import { endpoints } from '../../lib/endpoints.ts';
import { makeAgent, signJws, signProof } from '../support/agent-keys.ts';
import { startTable } from '../support/table.ts';
import { toolCall } from '../support/tool-call.ts';
import { bodyOf, type Call, startApi } from './api.ts';

const database = await startTable();
// without count-usage, which writes and reads the same table whenever its minute comes
const api = await startApi({ demo: true, background: false, dynamodbEndpoint: database.endpoint });
const { kmsOperations } = api.stack;
afterAll(() => database.stop());

const uid = 'world.example:get-country:v1';
const parameters = { code: 'CH' };
const { service_id } = bodyOf(await api.call('GET', `/api/intents/${uid}?view=full`));
const stranger = await makeAgent();
const policy = JSON.stringify(bodyOf(await api.call('GET', '/api/policy')));
const issueBody = async (agent = stranger, agent_id = 'stranger', payload = policy) => ({
  agent_id,
  agent_public_key: agent.pem,
  signed_policy: await signJws(agent, payload),
});
/** The largest file of the pages. */
const asset = listAssets().reduce((largest, one) => (one.text.length > largest.text.length ? one : largest)).name;
const pat: string = bodyOf(await api.call('POST', '/api/pat/issue', { body: await issueBody() }))['proto-pat'];
const forged = `${pat.slice(0, -8)}AAAAAAAA`;
const authorizePath = `/oauth/authorize?${new URLSearchParams({
  response_type: 'code',
  client_id: 'https://host.example/client.json',
  redirect_uri: 'https://host.example/callback',
  code_challenge: 'a'.repeat(43),
  code_challenge_method: 'S256',
  resource: `${api.stack.base_url}/mcp`,
})}`;

const oauth = { issuer: 'https://id.example', client_id: 'gate', grant: 'person' };
bodyOf(await api.asAdmin('PUT', `/api/services/${service_id}/credential`, { oauth, origins: ['https://world.example'] }));
const madeUpSession = { Cookie: `intent-gate-sign-in=${'a'.repeat(43)}` };

type Request = [method: string, path: string, call?: Call];

const get =
  (path: string, call: Call = {}) =>
  (): Request => ['GET', path, call];
const post = (path: string, call: Call) => (): Request => ['POST', path, call];
const execute = (call: Call = {}, body: object = {}) =>
  post('/api/intents/execute', { ...call, body: { intent_uid: uid, parameters, ...body } });
const callTool = (name: string, args: object) => post('/mcp', { body: toolCall(name, args) });
const postForm = (path: string, body: string) => post(path, { headers: { 'Content-Type': 'application/x-www-form-urlencoded' }, body });

/** What somebody without any rights may ask, by its name in docs/security.md. */
const requests: Record<string, () => Request | Promise<Request>> = {
  'GET /api/intents/search': get('/api/intents/search?query=country+of+a+code&page_size=100'),
  'GET /api/intents/{intent_uid}': get(`/api/intents/${uid}?view=full`),
  'GET /api/intents/{intent_uid}, of an unknown uid': get(`/api/intents/${uid}0`),
  'POST /api/intents/execute, without a PAT': execute(),
  'POST /api/intents/execute, with a forged PAT': execute({ token: forged }),
  'POST /api/intents/execute, with a PAT for a key of their own': execute({ token: pat }),
  'POST /api/intents/execute, again with that PAT and its Idempotency-Key': execute({
    token: pat,
    headers: { 'Idempotency-Key': 'the same' },
  }),
  'POST /api/intents/execute, with that PAT and `Prefer: respond-async`, if the queue is full': async () => {
    await fillQueue();
    return execute({ token: pat, headers: { 'Idempotency-Key': randomUUID(), Prefer: 'respond-async' } })();
  },
  'POST /api/intents/execute, with that PAT and wrong parameters': execute({ token: pat }, { parameters: {} }),
  'POST /api/intents/execute, with that PAT and an unknown uid': execute({ token: pat }, { intent_uid: `${uid}0`.replace('get', 'find') }),
  'GET /api/executions/{id}, with that PAT': get('/api/executions/01JWQ3K8Z5N7T9V2X4Y6B8D0FG', { token: pat }),
  'GET /api/executions/{id}/proof': get('/api/executions/01JWQ3K8Z5N7T9V2X4Y6B8D0FG/proof'),
  'GET /log/checkpoint': get('/log/checkpoint'),
  'GET /api/policy': get('/api/policy?view=words'),
  'POST /api/pat/issue, with a wrong signature': async () => [
    'POST',
    '/api/pat/issue',
    { body: { ...(await issueBody()), agent_public_key: (await makeAgent()).pem } },
  ],
  'POST /api/pat/issue, with a key of their own': async () => ['POST', '/api/pat/issue', { body: await issueBody() }],
  'POST /api/pat/issue, with a new key': async () => ['POST', '/api/pat/issue', { body: await issueBody(await makeAgent(), randomUUID()) }],
  'POST /api/pat/issue, with a new key, the longest id, a jti and a DPoP proof': async () => {
    const agent = await makeAgent();
    const agentId = String.fromCodePoint(...Array.from({ length: 256 }, () => 0x20000 + randomInt(0xa000)));
    const claims = { ...JSON.parse(policy), jti: randomUUID(), iat: Math.floor(Date.now() / 1_000) };
    const body = await issueBody(agent, agentId, JSON.stringify(claims));
    return ['POST', '/api/pat/issue', { body, headers: { DPoP: await signProof(agent, { url: `${api.stack.base_url}/api/pat/issue` }) } }];
  },
  'POST /api/pat/issue, with a new key that names a directory': async () => {
    const body = {
      ...(await issueBody(await makeAgent(), randomUUID())),
      agent_directory: `https://127.${randomInt(256)}.${randomInt(256)}.${randomInt(1, 255)}:1`,
    };
    return ['POST', '/api/pat/issue', { body }];
  },
  'GET /api/services': get('/api/services?page_size=100'),
  'GET /api/services/{service_id}': get(`/api/services/${service_id}`),
  'GET /api/services/{service_id}/intents': get(`/api/services/${service_id}/intents`),
  'GET /api/services/{service_id}/intents, with view=full': get(`/api/services/${service_id}/intents?view=full&page_size=100`),
  'GET /api/services/{service_id}/description': get(`/api/services/${service_id}/description`),
  'POST /mcp, search_intents': callTool('search_intents', { query: 'country' }),
  'POST /mcp, get_intent': callTool('get_intent', { intent_uid: uid }),
  'POST /mcp, get_intent of an unknown uid': callTool('get_intent', { intent_uid: `${uid}0` }),
  'POST /mcp, accept_policy': async () => callTool('accept_policy', await issueBody())(),
  'POST /mcp, execute_intent': callTool('execute_intent', { intent_uid: uid, parameters, pat }),
  'POST /mcp/sign-in, without a PAT': post('/mcp/sign-in', { body: toolCall('search_intents', { query: 'country' }) }),
  'POST /mcp/sign-in, with a forged PAT': post('/mcp/sign-in', { token: forged, body: toolCall('search_intents', { query: 'country' }) }),
  'POST /mcp/sign-in, search_intents with a PAT for a key of their own': post('/mcp/sign-in', {
    token: pat,
    body: toolCall('search_intents', { query: 'country' }),
  }),
  ...Object.fromEntries(
    [
      ...['/agents.json', '/openapi.json', '/docs', '/', '/console', '/health', '/.well-known/api-catalog', '/.well-known/jwks.json'],
      ...['/.well-known/http-message-signatures-directory', '/.well-known/oauth-protected-resource/mcp/sign-in'],
      ...['/.well-known/oauth-authorization-server/oauth'],
    ].map((path) => [`GET ${path}`, get(path)]),
  ),
  'GET /docs/{asset}': get(`/docs/${asset}`),
  'GET /oauth/authorize': get(authorizePath),
  'GET /oauth/authorize, with a made-up session': get(authorizePath, { headers: madeUpSession }),
  'GET /oauth/signed-in': get('/oauth/signed-in?code=made-up&state=made-up'),
  'GET /api/connections, with a forged token': get('/api/connections', { token: forged }),
  'DELETE /api/connections/{service_id}, with a forged token': () => ['DELETE', `/api/connections/${service_id}`, { token: forged }],
  'GET /connect/{service_id}, with a made-up session': get(`/connect/${service_id}`, { headers: madeUpSession }),
  'POST /connect/{service_id}, with a made-up session': post(`/connect/${service_id}`, {
    headers: { ...madeUpSession, 'Content-Type': 'application/x-www-form-urlencoded' },
    body: 'form_token=made-up',
  }),
  'GET /connect/{service_id}/callback, with a made-up session': get(`/connect/${service_id}/callback?code=made-up&state=made-up`, {
    headers: madeUpSession,
  }),
  'POST /oauth/accept': postForm('/oauth/accept', `${authorizePath.split('?')[1]}&decision=accept&policy=p&form_token=t`),
  'POST /oauth/token, with a made-up code': postForm(
    '/oauth/token',
    `grant_type=authorization_code&code=made-up&client_id=intent-gate-public&redirect_uri=x&resource=x&code_verifier=${'a'.repeat(43)}`,
  ),
  'POST /oauth/token, with a made-up refresh token': postForm(
    '/oauth/token',
    `grant_type=refresh_token&refresh_token=${'a'.repeat(43)}.${'b'.repeat(43)}&client_id=intent-gate-public`,
  ),
  'POST /oauth/register': post('/oauth/register', { body: { redirect_uris: ['http://127.0.0.1/callback'] } }),
  'anything for admins, without a token or with a wrong one': post('/api/services', { token: forged, body: {} }),
};

const TableName = api.stack.definitionOf('issue-pat').environment[variables.activityTable];

/** Fills the queue of background calls with calls of agents that have been known for long. */
async function fillQueue(): Promise<void> {
  const until = Date.now() + 3_600_000;
  for (let part = 0; part < 8; part++) {
    const calls = Array.from({ length: 125 }, () => ({
      id: newUlid(),
      holder: randomUUID().slice(20),
      agent: randomUUID().slice(20),
      since: 0,
      until,
    }));
    const Item = { ...keys.queuePart('callQueue', part), calls: await pack(calls), revision: 'full' };
    await database.client.send(new PutCommand({ TableName, Item }));
  }
}

/** The keys of what the agents' table holds. */
async function readKeys(): Promise<Set<string>> {
  const found = new Set<string>();
  for (let ExclusiveStartKey: Record<string, unknown> | undefined; ; ) {
    const { Items = [], LastEvaluatedKey } = await database.client.send(new ScanCommand({ TableName, ExclusiveStartKey }));
    for (const { pk, sk } of Items) found.add(`${pk} ${sk}`);
    if (!LastEvaluatedKey) return found;
    ExclusiveStartKey = LastEvaluatedKey;
  }
}

/**
 * What one request causes once the function is warm: reads and writes of the table, items that it leaves there and did not before, signatures, and
 * the bytes of the answer, as it is and compressed.
 */
async function measure(make: () => Request | Promise<Request>): Promise<number[]> {
  await api.call(...(await make())).catch(() => {});
  const made = await make();
  const before = await readKeys();
  database.operations.length = 0;
  kmsOperations.length = 0;
  const bytes = await countBytes(...made);
  const operations = [...database.operations];
  const signatures = kmsOperations.filter((name) => name === 'Sign').length;
  const added = [...(await readKeys())].filter((key) => !before.has(key)).length;
  const reads = operations.filter((name) => /Get|Query/.test(name)).length;
  const [method, path, call] = await make();
  const compressed = await countBytes(method, path, { ...call, headers: { ...call?.headers, 'Accept-Encoding': 'gzip' } });
  return [reads, operations.length - reads, added, signatures, bytes, compressed];
}

/** How long the body of an answer is on the wire. */
async function countBytes(method: string, path: string, { token, body, headers: more }: NonNullable<Request[2]> = {}): Promise<number> {
  const headers = {
    'Content-Type': 'application/json',
    'Accept-Encoding': 'identity',
    ...(token && { Authorization: `Bearer ${token}` }),
    ...more,
  };
  const content = body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) };
  const response = await fetch(`${api.stack.base_url}${path}`, { method, headers, ...content, redirect: 'manual' });
  await response.arrayBuffer();
  return Number(response.headers.get('content-length'));
}

const documented = new Map(
  [...readFileSync('docs/security.md', 'utf8').matchAll(/^\| `?([^|`]+?)`?(, [^|]+)?((?: \| [\d,.]+){6}) \|/gm)].map(
    ([, path = '', detail = '', numbers = '']) => [path + detail, numbers.split('|').slice(1).map(Number)],
  ),
);

test('the tests that docs/security.md names are there', () => {
  const named = [...readFileSync('docs/security.md', 'utf8').matchAll(/^\|.*\|([^|]+)\|$/gm)].flatMap(([, cell = '']) =>
    [...cell.matchAll(/`((?:functions|client|bin|browser|e2e|lib|schemas)\/[^`]+)`/g)].map(([, name = '']) => `test/${name}`),
  );
  expect(named.length).toBeGreaterThan(30);
  const isThere = (name: string) => ['', '.test.ts', '.check.ts'].some((ending) => existsSync(`${name}${ending}`));
  expect(named.filter((name) => !isThere(name))).toEqual([]);
});

test('every endpoint that anybody may call has its costs in docs/security.md', () => {
  expect([...documented.keys()].sort()).toEqual(Object.keys(requests).sort());
  const open = endpoints.filter(({ credential }) => credential !== 'admin').map(({ method, path }) => `${method} ${path}`);
  expect(open.filter((name) => !Object.keys(requests).some((known) => known.split(',')[0] === name))).toEqual([]);
});

test('nothing else asks the table while a request is measured', async () => {
  expect((await api.execute(pat, uid, parameters)).status).toBe(200);
  database.operations.length = 0;
  // logs are passed on every second
  await sleep(2_500);
  expect(database.operations).toEqual([]);
});

test.each(Object.entries(requests))('%s costs what docs/security.md says', async (name, make) => {
  const [measured, expected = []] = [await measure(make), documented.get(name)];
  expect(measured.slice(0, 4)).toEqual(expected.slice(0, 4));
  // kilobytes, rounded up: a tenth and one more or less is no untruth
  for (const at of [4, 5]) {
    const kilobytes = Math.ceil((measured[at] ?? 0) / 1_000);
    expect(Math.abs((expected[at] ?? Number.NaN) - kilobytes)).toBeLessThanOrEqual(1 + kilobytes / 10);
  }
});
