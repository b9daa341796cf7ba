import { afterAll, beforeEach, expect, test } from '@jest/globals';
import { makeCredential, openCredentials } from '../../../functions/core/credentials/credentials.ts';
import { createAction } from '../../../functions/mcp-upstreams/list-mcp-tools.ts';
import { startGate } from '../../support/gate.ts';
import { byAdmin, invoke, refusalOf } from '../../support/invoke.ts';
import { json, type McpServer, resultOf, startMcpServer, stream } from '../../support/mcp-upstreams/server.ts';
import { serviceNamed } from '../../support/records.ts';

const gate = await startGate({ maxDeadlineMs: 1_000 });
const server: McpServer = { kind: 'modern' };
const upstream = await startMcpServer(server);
afterAll(() => Promise.all([gate.stop(), upstream.stop()]));
const egress = { ports: [443], allowLoopback: true, ownHosts: [] };
let list = createAction({ services: gate.services, relay: gate.relay, egress });
const ask = (query: Record<string, string> = {}, admin?: { namespaces: string[] }) =>
  invoke(byAdmin(list, admin && { actor: { subject: 'a' }, ...admin }), 'GET /api/mcp-tools', { query: { url: upstream.url, ...query } });
const tools = ['a', 'b', 'c'].map((name) => ({ name, inputSchema: { type: 'object' }, icons: [{ src: 'data:' }], _meta: { x: 1 } }));

beforeEach(() => {
  Object.assign(server, { kind: 'modern', before: undefined, tools, pageSize: 2 });
  list = createAction({ services: gate.services, relay: gate.relay, egress });
});

test('the tools of a server are listed page by page, with what an import needs of them', async () => {
  server.kind = 'sessions';
  const [a, b, c] = tools.map(({ name, inputSchema }) => ({ name, inputSchema }));
  const about = { name: 'fake', title: 'Fake server', version: '3.1.4' };
  expect((await ask()).body).toEqual({ server: about, tools: [a, b], next_cursor: '2' });
  upstream.endSessions();
  expect((await ask({ cursor: '2' })).body).toEqual({ server: about, tools: [c] });
});

test('what is no tool with a name is left out, and credentials are removed', async () => {
  const { service_id } = await gate.services.create({ ...serviceNamed('Echo'), service_url: upstream.url });
  const secret = 'a-secret-that-is-echoed';
  const credential = makeCredential({ headers: { 'X-Key': secret } }, [new URL(upstream.url).origin]);
  const { version } = await openCredentials(gate.vault).add(service_id, credential);
  const facts = { headers: ['X-Key'], query: [], origins: credential.origins, version, set_at: 1, set_by: 'a' };
  await gate.services.as({ actor: { subject: 'a' } }).setCredential(service_id, facts, () => true);
  server.before = (rpc, response, { headers }) =>
    rpc.method === 'initialize'
      ? json(response, resultOf(rpc, { protocolVersion: '2025-11-25', serverInfo: { name: headers['x-key'] } }))
      : rpc.method === 'tools/list' &&
        stream(response, [resultOf(rpc, { tools: [{ name: 1 }, 'x', { name: 'y', title: headers['x-key'] }] })]);
  server.kind = 'sessions';
  const { body } = await ask({ service_id });
  expect(body.server).toEqual({ name: '[credential]' });
  expect(body.tools).toEqual([{ name: 'y', title: expect.not.stringContaining(secret) }]);
});

const refused = (reason: string, status?: number) => ({
  status: 502,
  code: 'INTENT_EXECUTION_FAILED',
  message: `The server did not list its tools (${reason}${status === undefined ? '' : `, status ${status}`}).`,
  details: { reason, ...(status !== undefined && { upstream_status: status }) },
});

test.each<[title: string, before: McpServer['before'], refusal: object]>([
  ['denies access', (_, response) => json(response, {}, 401), refused('no_session', 401)],
  ['is none', (_, response) => json(response, '<html>'), refused('no_session', 200)],
  ['fails', (_, response) => json(response, {}, 500), refused('unreachable', 500)],
  [
    'has no tools',
    ({ id, method }, response) => method === 'tools/list' && json(response, { id, error: { code: -32601 } }),
    refused('no_session', 200),
  ],
  ['never answers', ({ method }, response) => method === 'tools/list' && stream(response, [], false), refused('deadline')],
])('the tools of a server that %s are not listed', async (_, before, refusal) => {
  server.before = before;
  expect(refusalOf(await ask())).toEqual(refusal);
});

test('an address that intents may not have is refused, and so are services that do not exist or belong to others', async () => {
  expect(refusalOf(await ask({ url: 'https://10.0.0.1/mcp' }))).toMatchObject({ status: 400, details: { issues: [{ path: '/url' }] } });
  expect(refusalOf(await ask({ service_id: 'nobody' }))).toMatchObject({ status: 404, code: 'NOT_FOUND' });
  const { service_id } = await gate.services.create({ ...serviceNamed('Owned'), namespace: 'own.example' });
  expect(refusalOf(await ask({ service_id }, { namespaces: ['other.example'] }))).toMatchObject({
    status: 403,
    details: { reason: 'namespace' },
  });
});

test('a service whose credential is an OAuth client is refused with what to do, because the gate obtains tokens only for executions', async () => {
  const { service_id } = await gate.services.create({ ...serviceNamed('Client'), service_url: upstream.url });
  const oauth = { issuer: 'https://id.example', client_id: 'gate', grant: 'client' as const };
  const facts = { headers: [], query: [], origins: [new URL(upstream.url).origin], oauth, version: 'v', set_at: 1, set_by: 'a' };
  await gate.services.as({ actor: { subject: 'a' } }).setCredential(service_id, facts, () => true);
  const problem = 'must not have an OAuth client: give the service a token of your own for the import, and the client after it';
  expect(refusalOf(await ask({ service_id }))).toMatchObject({ status: 400, details: { issues: [{ path: '/service_id', problem }] } });
});
