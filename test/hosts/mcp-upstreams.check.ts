import { execFile, spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join, resolve } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, expect, test } from '@jest/globals';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { close, listen } from '../../bin/local/http.ts';
import { openSignedIn } from '../bin/cli/command-line.ts';
import { bodyOf, startApi } from '../e2e/api.ts';
import { makeFolder } from '../support/folder.ts';
import { notTested } from '../support/not-tested.ts';
import { installTools } from '../support/python.ts';

// MCP servers that nobody here wrote, behind the gate, and the official client in front of it.

const run = promisify(execFile);
const folder = makeFolder();
// stays, so that the next run finds it there
const packages = resolve('node_modules/.cache/intent-gate/mcp-upstreams');

async function install(name: string, work: () => Promise<unknown>): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (error) {
    notTested(name, error as Error);
    return false;
  }
}

const python = await installTools(['fastmcp==4.1.2'], 'FastMCP is not tested');
const hasGo = await install('Go SDK', () =>
  run('go', ['build', '-C', 'test/hosts/go', '-o', join(folder, 'go-server'), './mcp-upstreams'], { timeout: 300_000 }),
);
const hasEverything = await install('server-everything', () =>
  run('npm', [
    ...['install', '--prefix', packages, '--no-save', '--ignore-scripts', '--no-audit', '--no-fund'],
    '@modelcontextprotocol/server-everything@2026.8.31',
  ]),
);

const api = await startApi({ demo: true, context: { agentIds: 'shared' } });
const commandLine = await openSignedIn(folder, api.stack);
const client = new Client({ name: 'agent', version: '1' });
const requestInit = { headers: { Authorization: `Bearer ${await api.obtainPat()}` } };
await client.connect(new StreamableHTTPClientTransport(new URL(`${api.stack.base_url}/mcp`), { requestInit }));
const ends: (() => unknown)[] = [() => client.close()];
afterAll(async () => {
  for (const end of ends) await end();
});

async function freePort(): Promise<number> {
  const server = createServer();
  const port = await listen(server);
  await close(server);
  return port;
}

/** Starts a server, and imports its tools with one command. @returns what the import has done */
async function startAndImport(namespace: string, program: string, args: (port: string) => string[]) {
  const port = String(await freePort());
  const child = spawn(program, args(port), { env: { PATH: process.env.PATH, HOME: folder, PORT: port }, stdio: 'ignore' });
  ends.push(() => child.kill());
  const url = `http://127.0.0.1:${port}/mcp`;
  while (!(await fetch(url).catch(() => undefined))) await setTimeout(100);
  return commandLine.succeedJson('import', url, '--namespace', namespace);
}

/** Executes a tool elsewhere through the gate, as the official client of MCP does. */
async function execute(intent_uid: string, parameters: object) {
  const { isError, structuredContent } = await client.callTool({ name: 'execute_intent', arguments: { intent_uid, parameters } });
  if (!isError) return structuredContent;
  const { error } = structuredContent as { error: { code: string; details: Record<string, unknown> } };
  return [error.code, error.details.upstream_body ?? error.details.reason];
}

(hasEverything ? test : test.skip)(
  'server-everything, which keeps sessions, is imported, and its tools are executed',
  async () => {
    const program = join(packages, 'node_modules/@modelcontextprotocol/server-everything/dist/index.js');
    const { applied, skipped } = await startAndImport('everything.example', process.execPath, () => [program, 'streamableHttp']);
    expect([applied.failed, skipped.map(({ operation }: { operation: string }) => operation)]).toEqual([[], ['simulate-research-query']]);
    const uid = (slug: string) => `everything.example:${slug}:v2`;
    expect(await execute(uid('get-sum'), { a: 2, b: 3 })).toEqual({ value: 'The sum of 2 and 3 is 5.' });
    expect(await execute(uid('get-structured-content'), { location: 'Chicago' })).toMatchObject({ temperature: expect.any(Number) });
    expect(await execute(uid('get-tiny-image'), {})).toMatchObject({
      items: [{ value: expect.any(String) }, { base64: expect.any(String), content_type: 'image/png' }, { value: expect.any(String) }],
    });
    expect(await execute(uid('get-resource-links'), { count: 1 })).toMatchObject({ items: [{}, { uri: expect.any(String) }] });
    expect(await execute(uid('trigger-long-running-operation'), { duration: 1, steps: 2 })).toMatchObject({
      value: expect.stringContaining('completed'),
    });
  },
  120_000,
);

(python ? test : test.skip)(
  'FastMCP, which speaks 2026-07-28, is imported, and its tools are executed',
  async () => {
    const server = resolve('test/hosts/mcp-upstreams/fastmcp_server.py');
    const { applied } = await startAndImport('fastmcp.example', python ?? '', (port) => [server, port]);
    expect(applied).toMatchObject({ created: 5, failed: [] });
    const uid = (slug: string) => `fastmcp.example:${slug}:v2`;
    expect(await commandLine.succeedJson('intents', 'show', uid('create-order'))).toMatchObject({ tags: ['destructive'] });
    const lines = [{ article: 'tea', amount: 2 }];
    expect(await execute(uid('create-order'), { lines })).toEqual({ id: 1, lines: [...lines, { article: 'none', amount: 1 }] });
    expect(await execute(uid('refuse'), { reason: 'sold out' })).toEqual(['INTENT_EXECUTION_FAILED', 'Refused: sold out']);
    expect(await execute(uid('picture'), {})).toEqual({ base64: 'iVBORw==', content_type: 'image/png' });
    // its library refuses to ask a client that gives no input, before anything reaches the gate
    expect(await execute(uid('ask-back'), {})).toEqual(['INTENT_EXECUTION_FAILED', expect.stringContaining('elicitation')]);
    const pat = await api.obtainPat();
    const answer = await fetch(`${api.stack.base_url}/api/intents/execute`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${pat}` },
      body: JSON.stringify({ intent_uid: uid('big-number'), parameters: {} }),
    });
    expect(await answer.text()).toBe('{"id":9007199254740993}');
  },
  120_000,
);

(hasGo ? test : test.skip)(
  'a server of the official Go SDK is imported, and its tools are executed',
  async () => {
    const { applied } = await startAndImport('go.example', join(folder, 'go-server'), (port) => [port]);
    expect(applied).toMatchObject({ created: 2, failed: [] });
    expect(await execute('go.example:move-point:v1', { point: { x: 1, y: 2 }, by: 3 })).toEqual({ x: 4, y: 2 });
    expect(await execute('go.example:refuse:v1', {})).toEqual(['INTENT_EXECUTION_FAILED', 'Refused: always']);
  },
  120_000,
);

(hasGo ? test : test.skip)(
  'a call of a tool waits for a person, counts towards the limit, is made once, and has a receipt',
  async () => {
    const uid = 'go.example:move-point:v1';
    const policy = JSON.parse(readFileSync('bin/local/policy.json', 'utf8'));
    const duty = [{ action: '{base_url}/vocabulary/approve' }];
    policy.permission.push({ target: `{base_url}/api/intents/${uid}`, action: 'execute', duty });
    const file = join(folder, 'policy.json');
    writeFileSync(file, JSON.stringify(policy));
    await commandLine.succeed('policy', 'publish', file, '--yes');

    const pat = await api.obtainPat();
    const parameters = { point: { x: 1, y: 2 }, by: 3 };
    const request = () => api.execute(pat, uid, parameters, { 'Idempotency-Key': 'move' });
    const { execution } = bodyOf(await request(), 202);
    const [shown] = bodyOf(await api.asAdmin('GET', '/api/approvals')).approvals;
    expect(shown).toMatchObject({ intent_uid: uid, parameters });
    bodyOf(await api.asAdmin('POST', `/api/approvals/${shown.id}`, { decision: 'approve' }, { 'If-Match': `"${shown.digest}"` }));
    const read = async () => bodyOf(await api.call('GET', new URL(execution).pathname, { token: pat }));
    let state = await read();
    while (state.status !== 'done') {
      await setTimeout(100);
      state = await read();
    }
    expect(state.outcome).toMatchObject({ status: 200, body: { x: 4, y: 2 } });
    const again = await request();
    expect(bodyOf(again)).toEqual({ x: 4, y: 2 });
    expect(again.headers.get('execution-receipt')).not.toBeNull();
    expect(again.headers.get('ratelimit-policy')).toContain('q=60');
  },
  120_000,
);
