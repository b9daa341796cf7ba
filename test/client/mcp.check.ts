import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { openHttp } from '../../client/http.ts';
import { obtainNamedKey, openMemoryKeyStore } from '../../client/keys.ts';
import { type McpBridge, openMcpBridge } from '../../client/mcp-bridge.ts';
import type { Agreement } from '../../client/pats.ts';
import { startApi } from '../e2e/api.ts';
import { makeFolder } from '../support/folder.ts';
import { findRefused } from '../support/model-providers.ts';
import { startRelay } from '../support/relay.ts';
import { nodes } from './nodes.ts';

const api = await startApi({ demo: true });
const baseUrl = api.stack.base_url;
const outer = makeFolder();

const run = promisify(execFile);
/** @returns the output of a program that fails */
const fail = (args: string[]) => run(process.execPath, args).catch((error) => error);
const listAgreements = () => readdirSync(folder).filter((file) => file.startsWith('agreement'));
const revisions = ['2025-11-25', '2026-07-28'];
const country = { intent_uid: 'world.example:get-country:v1', parameters: { code: 'JP' } };

/** A folder with a name as people choose them. */
let folder: string;
beforeEach(() => {
  folder = join(outer, `Anna's folder ${randomUUID()}`);
});

/** Resources of a test, closed however it ends, because a host is a process that would keep this one running. */
const opened: (() => unknown)[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((end) => end()));
});

/** The two names of the one program. */
const programs = {
  'intent-gate mcp': [resolve('bin/intent-gate.js'), 'mcp'],
  'intent-gate-mcp': [resolve('client/mcp-stdio.ts')],
};

type Answer = 'accept' | 'decline' | 'cancel';

interface Host {
  client: Client;
  /** questions to the person */
  questions: string[];
  close(): Promise<void>;
}

/** A host that starts the program; one with a person in front of it can ask them. */
async function openHost(revision: string, { answers, args = [] }: { answers?: Answer[]; args?: string[] } = {}): Promise<Host> {
  const mode = revision === '2026-07-28' ? { pin: revision } : 'legacy';
  const capabilities = answers ? { elicitation: { form: {} } } : {};
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode }, capabilities });
  const questions: string[] = [];
  if (answers) {
    client.setRequestHandler('elicitation/create', ({ params }) => {
      questions.push(params.message);
      const action = answers.shift() ?? 'cancel';
      return action === 'accept' ? { action, content: {} } : { action };
    });
  }
  opened.push(() => client.close());
  const command = [...programs['intent-gate-mcp'], baseUrl, '--folder', folder, ...args];
  await client.connect(new StdioClientTransport({ command: process.execPath, args: command, stderr: 'inherit' }));
  return { client, questions, close: () => client.close() };
}

async function callTool({ client }: Host, name: string, args: Record<string, unknown> = {}) {
  const { isError, content, structuredContent } = await client.callTool({ name, arguments: args });
  // biome-ignore lint/suspicious/noExplicitAny: tests compare whole bodies of every shape
  return { isError, text: (content as { text: string }[])[0]?.text ?? '', data: structuredContent as any };
}
const execute = (host: Host) => callTool(host, 'execute_intent', country);

describe.each(revisions)('a host of revision %s', (revision) => {
  test('a host that can ask its person shows them the policy in words, and continues the call once they accept', async () => {
    const host = await openHost(revision, { answers: ['decline', 'cancel', 'accept'] });
    for (const [message, next] of [
      ['does not accept the usage policy, so nothing was signed', 'Do not use this gate'],
      ['and did not decide', 'Ask them whether to go on: the same call asks them again'],
    ]) {
      const refused = await execute(host);
      const error = { code: 'POLICY_DECLINED', message: expect.stringContaining(message ?? '') };
      expect(refused).toMatchObject({ isError: true, text: expect.stringContaining(`Next: ${next}`), data: { error } });
      expect(listAgreements()).toEqual([]);
    }
    expect(await execute(host)).toMatchObject({ isError: false, data: { name: 'Japan' } });
    expect(await execute(host)).toMatchObject({ isError: false });
    expect(host.questions).toHaveLength(3);
    expect(host.questions[2]).toMatch(
      new RegExp(
        `^The gate at ${baseUrl} .*- You may execute every intent, at most 60 times a minute.*\nDo you accept it, for every use by the agent mcp-[0-9a-f]{12}\\?`,
        's',
      ),
    );
    await host.close();
    const next = await openHost(revision);
    expect(await execute(next)).toMatchObject({ isError: false });
  });

  test('a host that cannot ask can search and read, and gets a command with which the same agent accepts', async () => {
    const agentId = `Anna's agent ${randomUUID()}`;
    const host = await openHost(revision, { args: ['--agent-id', agentId] });
    const { tools } = await host.client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(['search_intents', 'get_intent', 'accept_policy', 'execute_intent']);
    expect(tools.flatMap(findRefused)).toEqual([]);
    const accept = tools[2];
    expect(accept?.description).toMatch(/^Shows the usage policy and lets the person you work for accept it\./);
    expect(accept?.inputSchema).toEqual({ type: 'object', properties: {}, additionalProperties: false });
    const found = await callTool(host, 'search_intents', { query: 'what time is it in tokyo' });
    expect(found.data.intents[0].intent_uid).toBe('world.example:get-current-time:v1');
    expect(await callTool(host, 'get_intent', { intent_uid: country.intent_uid })).toMatchObject({ isError: false });
    let command = '';
    for (const tool of ['execute_intent', 'accept_policy']) {
      const refused = await callTool(host, tool, country);
      expect(refused).toMatchObject({ isError: true, data: { error: { code: 'POLICY_DECLINED' } } });
      expect(refused.text).toContain('- You may execute every intent, at most 60 times a minute.');
      command = String(refused.data.error.details.accept_command);
      expect(refused.text.endsWith(`\n${command}`)).toBe(true);
    }
    const accepted = await run('bash', ['-c', `${command} --yes`]);
    expect(accepted.stderr).toContain(`Accepted. The agent ${agentId} may now execute intents.\n`);
    expect(await execute(host)).toMatchObject({ isError: false, data: { name: 'Japan' } });
  });
});

test('a host and both programs say that an agent_id belongs to another key', async () => {
  const agentId = `agent-${randomUUID()}`;
  await api.obtainPat(agentId);
  const host = await openHost('2025-11-25', { answers: ['accept'], args: ['--agent-id', agentId] });
  expect(await execute(host)).toMatchObject({
    isError: true,
    text: expect.stringContaining('POLICY_REJECTED: '),
    data: {
      error: { code: 'POLICY_REJECTED', details: { reason: 'agent_id_bound' } },
      next: expect.stringContaining('another --agent-id'),
    },
  });
  for (const program of Object.values(programs)) {
    const failed = await fail([...program, 'accept', baseUrl, '--yes', '--agent-id', agentId, '--folder', folder]);
    expect(failed.code).toBeGreaterThan(0);
    expect(failed.stderr).toContain('The agent_id belongs to another key. Sign with that key, or choose another agent_id.\n');
    expect(failed.stderr).not.toContain('Accepted.');
  }
});

test('the signature is for the given name of the gate', async () => {
  const accept = [...programs['intent-gate-mcp'], 'accept', baseUrl.replace('127.0.0.1', 'localhost'), '--yes', '--folder', folder];
  expect((await run(process.execPath, accept)).stderr).toContain('Accepted.');
  const failed = await fail([...accept, '--public-url', 'https://gate.example']);
  expect(failed.code).toBeGreaterThan(0);
  expect(failed.stderr).toContain('so nothing was signed.');
});

test.each(Object.values(programs))('nothing is accepted without consent: %s', async (...program) => {
  const asked = run(process.execPath, [...program, 'accept', baseUrl, '--folder', folder]);
  asked.child.stdin?.end('n\n');
  const failed = await asked.catch((error) => error);
  expect(failed).toMatchObject({ code: 1, stderr: expect.stringContaining('Nothing was accepted.') });
  expect(listAgreements()).toEqual([]);
});

const insecure = 'he address of the gate must begin with https://; tokens may be sent over http only to this machine';

test.each<[keyof typeof programs, string[], string]>([
  ['intent-gate mcp', ['http://gate.example'], insecure],
  ['intent-gate-mcp', ['http://gate.example'], insecure],
  ['intent-gate-mcp', ['accept', 'http://gate.example'], insecure],
  ['intent-gate-mcp', ['here'], 'he address of the gate must be an http or https URL'],
  ['intent-gate mcp', [baseUrl, '--nope'], '--nope'],
  ['intent-gate-mcp', [baseUrl, '--nope'], '--nope'],
  ['intent-gate-mcp', [baseUrl, 'and-another'], ''],
])('%s %j says in a sentence what is wrong', async (program, args, message) => {
  const failed = await fail([...programs[program], ...args]);
  expect(failed.code).toBeGreaterThan(1);
  expect(failed.stderr).toContain(message);
  expect(failed.stderr).not.toMatch(/^\s+at /m);
  expect(failed.stdout).toBe('');
});

test.each(nodes)('intent-gate mcp finds the Node that it needs, started by %s', async (node) => {
  const { stdout } = await run(node, [...programs['intent-gate mcp'], baseUrl, '--config', '--folder', folder]);
  const { command, args } = JSON.parse(stdout).mcpServers['intent-gate'];
  expect(args).toEqual([...programs['intent-gate mcp'], baseUrl, '--folder', folder]);
  for (const program of [node, command]) {
    const client = new Client({ name: 'test', version: '1' });
    opened.push(() => client.close());
    await client.connect(new StdioClientTransport({ command: program, args, stderr: 'inherit' }));
    expect((await client.listTools()).tools).toHaveLength(4);
  }
});

describe('the bridge', () => {
  /** A bridge whose messages the test sends and receives, optionally at another gate. */
  async function openBridge(url = baseUrl, publicUrl = url, send = fetch): Promise<McpBridge & { sent: { id: string; method: string }[] }> {
    const sent: { id: string; method: string }[] = [];
    const agreements = new Map<string, Agreement>();
    const bridge = openMcpBridge({
      http: openHttp({ url, fetch: send }),
      publicUrl,
      signer: await obtainNamedKey('mcp', openMemoryKeyStore()),
      store: { load: async (at) => agreements.get(at), save: async (at, agreement) => void agreements.set(at, agreement) },
      acceptCommand: 'accept it',
      send: (message) => sent.push(message as { id: string; method: string }),
    });
    opened.push(bridge.close);
    return { ...bridge, sent };
  }
  const call = (more: object = {}, id = 1) =>
    JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'execute_intent', arguments: country, ...more } });
  const initialize = (elicitation?: object) => {
    const capabilities = elicitation ? { elicitation } : {};
    const params = { protocolVersion: '2025-11-25', capabilities, clientInfo: { name: 'a', version: '1' } };
    return JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params });
  };
  const modern = (elicitation?: object) => ({
    _meta: {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': { ...(elicitation && { elicitation }) },
    },
  });

  test('the bridge accepts consent only for a question that it asked, and only once', async () => {
    const bridge = await openBridge();
    const asked = (await bridge.answer(call(modern({})))) as { result: { resultType: string; requestState: string } };
    expect(asked.result).toMatchObject({
      resultType: 'input_required',
      inputRequests: {
        policy: {
          method: 'elicitation/create',
          params: { mode: 'form', requestedSchema: { type: 'object', properties: { accept: { type: 'boolean' } } } },
        },
      },
    });
    const answer = (requestState: string, action = 'accept') =>
      bridge.answer(call({ ...modern({}), requestState, inputResponses: { policy: { action } } }));
    expect(await answer('another')).toMatchObject({ result: { resultType: 'input_required' } });
    expect(await answer(asked.result.requestState, 'decline')).toMatchObject({ result: { resultType: 'complete', isError: true } });
    expect(await answer(asked.result.requestState)).toMatchObject({ result: { resultType: 'input_required' } });
    const again = (await bridge.answer(call(modern({})))) as { result: { requestState: string } };
    expect(await answer(again.result.requestState)).toMatchObject({ result: { resultType: 'complete', isError: false } });
  });

  test.each([[{ url: {} }], [undefined]])('the bridge shows no form in a host that declares %j', async (elicitation) => {
    const bridge = await openBridge();
    expect(await bridge.answer(call(modern(elicitation)))).toMatchObject({ result: { resultType: 'complete', isError: true } });
    await bridge.answer(initialize(elicitation));
    expect(await bridge.answer(call())).toMatchObject({ result: { isError: true } });
    expect(bridge.sent).toEqual([]);
  });

  test('a call that waited for the gate while the person decided does not ask again', async () => {
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    let isHolding = false;
    const bridge = await openBridge(baseUrl, baseUrl, async (...request) => {
      if (isHolding) await held;
      return fetch(...request);
    });
    await bridge.answer(initialize({}));
    const asking = bridge.answer(call({}, 2));
    while (bridge.sent.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    isHolding = true;
    const waiting = bridge.answer(call({}, 3));
    await bridge.answer(JSON.stringify({ jsonrpc: '2.0', id: bridge.sent[0]?.id, result: { action: 'decline' } }));
    const refused = { isError: true, structuredContent: { error: { message: expect.stringContaining('does not accept') } } };
    expect(await asking).toMatchObject({ id: 2, result: refused });
    release();
    expect(await waiting).toMatchObject({ id: 3, result: refused });
    expect(bridge.sent).toHaveLength(1);
  });

  test('the bridge gives up asking when the host fails to ask or goes away', async () => {
    const bridge = await openBridge();
    await bridge.answer(initialize({}));
    const untilAsked = async (count: number) => {
      while (bridge.sent.length < count) await new Promise((resolve) => setTimeout(resolve, 5));
      return bridge.sent.at(-1)?.id;
    };
    const failed = bridge.answer(call());
    const id = await untilAsked(1);
    expect(await bridge.answer(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32603, message: 'no window' } }))).toBeUndefined();
    expect(await failed).toMatchObject({
      result: { isError: true, structuredContent: { error: { message: expect.stringContaining('has not accepted') } } },
    });
    const left = bridge.answer(call());
    await untilAsked(2);
    bridge.close();
    expect(await left).toMatchObject({
      result: { isError: true, structuredContent: { error: { message: expect.stringContaining('did not decide') } } },
    });
  });

  test('the bridge signs no policy of another gate, unless the person has given that address', async () => {
    const relay = await startRelay(baseUrl);
    opened.push(relay.stop);
    const accept = async ({ answer }: McpBridge) => {
      const accepting = { ...modern({}), name: 'accept_policy' };
      const asked = (await answer(call(accepting))) as { result: { requestState?: string } };
      const { requestState } = asked.result;
      return requestState === undefined
        ? asked
        : answer(call({ ...accepting, requestState, inputResponses: { policy: { action: 'accept' } } }));
    };
    expect(await accept(await openBridge(relay.url))).toMatchObject({
      result: {
        isError: true,
        structuredContent: { error: { code: 'FOREIGN_POLICY' }, next: expect.stringContaining('as --public-url') },
      },
    });
    expect(relay.issueRequests()).toEqual([]);
    expect(await accept(await openBridge(relay.url, baseUrl))).toMatchObject({ result: { isError: false } });
  });

  test('the bridge forwards protocol errors of the gate, and refuses invalid messages', async () => {
    const bridge = await openBridge();
    const unknown = { jsonrpc: '2.0', id: 3, method: 'tools/call', params: { name: 'sing' } };
    expect(await bridge.answer(JSON.stringify(unknown))).toMatchObject({ id: 3, error: { code: -32602 } });
    const exact = '{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}';
    expect(JSON.stringify(await bridge.answer(exact))).toContain('"id":9007199254740993,');
    expect(await bridge.answer('[]')).toMatchObject({ error: { code: -32700 } });
    expect(await bridge.answer(' \r')).toBeUndefined();
    expect(await bridge.answer('{}')).toBeUndefined();
  });
});
