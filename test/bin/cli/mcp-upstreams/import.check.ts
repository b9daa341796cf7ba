import { setTimeout } from 'node:timers/promises';
import { afterAll, expect, test } from '@jest/globals';
import { bodyOf, startApi } from '../../../e2e/api.ts';
import { makeFolder } from '../../../support/folder.ts';
import { type McpServer, startMcpServer } from '../../../support/mcp-upstreams/server.ts';
import { toolCall } from '../../../support/tool-call.ts';
import { openSignedIn } from '../command-line.ts';
import { serve } from '../signed-in.ts';

const api = await startApi({ demo: true, context: { agentIds: 'shared' } });
const { run, succeed, succeedJson } = await openSignedIn(makeFolder(), api.stack);
const tool = (name: string, more: object = {}) => ({
  name,
  description: `Does ${name}.`,
  inputSchema: { type: 'object', properties: { p: { type: 'integer', minimum: 1 } }, required: ['p'] },
  ...more,
});
const server: McpServer = { kind: 'sessions', tools: [tool('keep'), tool('change'), tool('leave')], pageSize: 2 };
const upstream = await startMcpServer(server);
afterAll(() => upstream.stop());
const uid = (name: string) => `127.0.0.1:${name}:v3`;

test('one command registers the tools of an MCP server, and again what has changed', async () => {
  const { create, applied } = await succeedJson('import', upstream.url);
  expect([create, applied]).toEqual([
    [uid('change'), uid('keep'), uid('leave')],
    { service_id: expect.any(String), created: 3, updated: 0, removed: 0, failed: [] },
  ]);
  expect(await succeedJson('services', 'show', 'Fake server')).toMatchObject({ service_url: upstream.url });
  expect(await succeedJson('import', upstream.url)).toMatchObject({ create: [], update: [], unchanged: 3 });

  const before = (await succeedJson('intents', 'show', uid('change'))).digest;
  server.tools = [tool('keep'), tool('change', { annotations: { destructiveHint: true } }), tool('add')];
  const shown = await succeedJson('import', upstream.url, '--dry-run');
  expect(shown).toMatchObject({
    create: [uid('add')],
    update: [{ intent_uid: uid('change'), differences: [{ path: '/tags', after: ['destructive'] }] }],
    extra: [uid('leave')],
  });
  expect((await succeedJson('import', upstream.url, '--prune', '--yes')).applied).toMatchObject({ created: 1, updated: 1, removed: 1 });
  expect((await succeedJson('intents', 'show', uid('change'))).digest).not.toBe(before);
  expect(await run(['intents', 'show', uid('leave')])).toMatchObject({ code: 1 });

  const [newest = ''] = (await succeed('history', '--json')).split('\n');
  await succeed('history', 'undo', String(JSON.parse(newest).seq), '--yes');
  expect((await run(['intents', 'show', uid('leave')])).code).toBe(0);
}, 60_000);

test('a tool of another MCP server is found and executed through /mcp, with the answer of that server', async () => {
  const pat = await api.obtainPat();
  const search = toolCall('search_intents', { query: 'does keep', service_name: 'Fake server' });
  const { result } = bodyOf(
    await api.call('POST', '/mcp', { token: pat, body: search, headers: { Accept: 'application/json, text/event-stream' } }),
  );
  expect(result.structuredContent.intents.map(({ intent_uid }: { intent_uid: string }) => intent_uid)).toContain(uid('keep'));
  const { body } = await api.executeOverMcp(pat, uid('keep'), { p: 7 });
  expect(body.result).toMatchObject({ isError: false, structuredContent: { p: 7 } });
});

test('a tool has receipts, one call for each key, calls in the background, and the limit of its service', async () => {
  const pat = await api.obtainPat();
  const calls = () => upstream.methods().filter((method) => method === 'tools/call').length;
  const before = calls();
  const first = await api.execute(pat, uid('keep'), { p: 8 }, { 'Idempotency-Key': 'once' });
  const second = await api.execute(pat, uid('keep'), { p: 8 }, { 'Idempotency-Key': 'once' });
  expect([bodyOf(first), bodyOf(second), calls() - before]).toEqual([{ p: 8 }, { p: 8 }, 1]);
  expect(first.headers.get('execution-receipt')).toMatch(/^ey/);

  const later = await api.execute(pat, uid('keep'), { p: 9 }, { 'Idempotency-Key': 'later', Prefer: 'respond-async' });
  const path = new URL(bodyOf(later, 202).execution).pathname.replace(/^.*(?=\/api\/)/, '');
  let state = bodyOf(await api.call('GET', path, { token: pat }));
  for (let polls = 0; state.status === 'working' && polls < 100; polls++) {
    await setTimeout(100);
    state = bodyOf(await api.call('GET', path, { token: pat }));
  }
  expect(state).toMatchObject({ status: 'done', outcome: { status: 200, body: { p: 9 } } });

  const service = await succeedJson('services', 'show', 'Fake server');
  const { service_id, ...record } = service;
  bodyOf(await api.asAdmin('PUT', `/api/services/${service_id}`, { ...record, limit: { rate: 1, period: 3_600 } }));
  bodyOf(await api.execute(pat, uid('keep'), { p: 1 }));
  expect(await api.execute(pat, uid('keep'), { p: 1 })).toMatchObject({ status: 429, body: { error: { code: 'TOO_MANY_REQUESTS' } } });
  expect(calls() - before).toBe(3);
});

test('an import says that neither a document nor an MCP server is at an address', async () => {
  const { address, stop } = await serve((_, response) => response.writeHead(404).end());
  const { code, stderr } = await run(['import', address]);
  await stop();
  expect(code).toBe(1);
  expect(stderr).toContain(
    'The address answered with status 404. Nor does it answer as an MCP server: The server did not list its tools (no_session, status 404).',
  );
});

test('an MCP server that demands a credential is imported into its service, which has one', async () => {
  server.before = (_, response, { headers }) =>
    headers.authorization !== 'Bearer a-secret-of-this-test' && void response.writeHead(401).end();
  expect((await run(['import', upstream.url])).stderr).toContain('it denies access to the gate. Register its service');
  const words = ['services', 'create', '--name', 'Locked', '--address', upstream.url, '--description', 'Has tools'];
  const { service_id } = await succeedJson(...words);
  expect(await run(['services', 'credential', 'set', service_id, '--bearer'], 'a-secret-of-this-test')).toMatchObject({ code: 0 });
  const { applied } = await succeedJson('import', upstream.url, '--service', 'Locked', '--namespace', 'locked.example');
  expect(applied).toMatchObject({ created: 3, failed: [] });
});

test('2,000 tools on 40 pages are imported', async () => {
  Object.assign(server, { before: undefined, pageSize: 50, tools: Array.from({ length: 2_000 }, (_, at) => tool(`number-${at}`)) });
  const { applied } = await succeedJson('import', upstream.url, '--name', 'Many', '--namespace', 'many.example');
  expect(applied).toMatchObject({ created: 2_000, failed: [] });
}, 240_000);
