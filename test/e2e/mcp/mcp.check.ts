import { createPublicKey, createSign, generateKeyPairSync, type KeyObject, randomUUID } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import type { Client } from '@modelcontextprotocol/client';
import { version } from '../../../lib/version.ts';
import { briefPage, fullIntent } from '../../../schemas/intent.ts';
import { connectMcp, revisions } from '../../support/mcp/mcp-client.ts';
import { findRefused } from '../../support/model-providers.ts';
import { startApi } from '../api.ts';

const logged: string[] = [];
const api = await startApi({ demo: true, context: { signIn: false }, onLog: (line) => logged.push(line) });
const url = `${api.stack.base_url}/mcp`;

const connect = (revision: string, headers: Record<string, string> = {}): Promise<Client> =>
  connectMcp(api.stack.base_url, revision, { headers });

/** The result of a tool: its structured content and its text. */
async function callTool(client: Client, name: string, args: Record<string, unknown> = {}) {
  const result = await client.callTool({ name, arguments: args });
  const [content] = result.content as { type: string; text: string }[];
  // biome-ignore lint/suspicious/noExplicitAny: tests compare whole bodies of every shape
  return { isError: result.isError ?? false, data: result.structuredContent as any, text: content?.text ?? '' };
}

const sign = (privateKey: KeyObject, text: string) => createSign('sha256').update(text).sign(privateKey, 'base64');
const publicPem = (privateKey: KeyObject) => createPublicKey(privateKey).export({ type: 'spki', format: 'pem' }).toString();

/** Accepts the policy as a model would, using only what the tool says. */
async function acceptPolicy(client: Client, agentId = `agent-${randomUUID()}`): Promise<string> {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const asked = await callTool(client, 'accept_policy');
  const accepted = await callTool(client, 'accept_policy', {
    agent_id: agentId,
    agent_public_key: publicPem(privateKey),
    signed_policy: sign(privateKey, asked.data.text_to_sign),
  });
  expect(accepted).toMatchObject({ isError: false });
  return accepted.data['proto-pat'];
}

const country = { intent_uid: 'world.example:get-country:v1', parameters: { code: 'JP' } };

test('the PAT is asked for under the request id of the call, so that the access log has the address of whoever asked', async () => {
  const client = await connect('2025-11-25');
  logged.length = 0;
  await acceptPolicy(client);
  const answered = logged.map((line) => JSON.parse(line)).filter(({ message }) => message === 'answered');
  const [issued] = answered.filter(({ endpoint }) => endpoint === 'POST /api/pat/issue');
  expect(issued).toMatchObject({ status: 200 });
  expect(answered.filter(({ endpoint }) => endpoint === 'POST /mcp').map(({ request_id }) => request_id)).toContain(issued.request_id);
});

describe.each(revisions)('a client of revision %s', (revision) => {
  test('a client finds the four tools, with schemas and honest annotations', async () => {
    const client = await connect(revision);
    expect(client.getServerVersion()).toEqual({ name: 'intent-gate', title: 'Intent Gate', version });
    expect(client.getInstructions()).toContain('accept_policy');
    const { tools } = await client.listTools();
    expect(tools.map(({ name, annotations }) => ({ name, ...annotations }))).toEqual([
      expect.objectContaining({ name: 'search_intents', readOnlyHint: true, destructiveHint: false, openWorldHint: false }),
      expect.objectContaining({ name: 'get_intent', readOnlyHint: true, destructiveHint: false, openWorldHint: false }),
      expect.objectContaining({ name: 'accept_policy', readOnlyHint: false, destructiveHint: false, openWorldHint: false }),
      expect.objectContaining({ name: 'execute_intent', readOnlyHint: false, destructiveHint: true, openWorldHint: true }),
    ]);
    const execute = tools[3]?.inputSchema;
    expect(execute).toMatchObject({
      type: 'object',
      additionalProperties: false,
      required: ['intent_uid', 'parameters'],
      properties: {
        intent_uid: { type: 'string', description: expect.any(String) },
        parameters: { type: 'object', additionalProperties: true },
      },
    });
    expect(tools.flatMap(findRefused)).toEqual([]);
    await client.close();
  });

  test('a client finds, reads, is told to accept the policy, accepts it and executes', async () => {
    const client = await connect(revision);
    const found = await callTool(client, 'search_intents', { query: 'which country has this code', page_size: 3 });
    expect(briefPage.parse(found.data).intents.map(({ intent_uid }) => intent_uid)).toContain(country.intent_uid);
    expect(JSON.parse(found.text)).toEqual(found.data);

    const read = await callTool(client, 'get_intent', { intent_uid: country.intent_uid });
    expect(fullIntent.parse(read.data).endpoint.method).toBe('GET');

    const early = await callTool(client, 'execute_intent', country);
    expect(early).toMatchObject({ isError: true, data: { error: { code: 'UNAUTHORIZED' } } });
    expect(early.text).toContain('Next: Call accept_policy without arguments');

    const asked = await callTool(client, 'accept_policy');
    expect(asked.data.in_words).toContain('You may execute every intent, at most 60 times a minute.');
    expect(asked.text).toContain('- You must not exceed the rate limit.');
    expect(asked.text).toContain(asked.data.text_to_sign);

    const pat = await acceptPolicy(client);
    const executed = await callTool(client, 'execute_intent', { ...country, pat });
    expect(executed).toMatchObject({ isError: false, data: { code: 'JP', name: 'Japan' } });
    await client.close();
  });

  test.each(['Bearer not.a.pat', 'Basic bm9ib2R5OnNlY3JldA=='])(
    'a client finds and reads although its connection sends %s, and is told what to do instead',
    async (Authorization) => {
      const client = await connect(revision, { Authorization });
      expect((await client.listTools()).tools).toHaveLength(4);
      expect(await callTool(client, 'search_intents', { query: 'countries' })).toMatchObject({ isError: false });
      expect(await callTool(client, 'get_intent', { intent_uid: country.intent_uid })).toMatchObject({ isError: false });
      const refused = await callTool(client, 'execute_intent', country);
      expect(refused).toMatchObject({ isError: true, data: { error: { code: 'UNAUTHORIZED', details: { reason: 'pat_of_connection' } } } });
      expect(refused.data.next).toMatch(
        /^Tell the person you work for: the PAT that this connection is configured with is no longer valid\./,
      );
      await client.close();
    },
  );
});

describe('next calls', () => {
  type Arguments = Record<string, unknown>;
  const executing = (given: Arguments) => async (): Promise<Arguments> => ({ ...country, ...given, pat: await api.obtainPat() });
  const meant = 'Did you mean world.example:get-country:v1';
  const signedElsewhere = () => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    return { agent_id: 'me', agent_public_key: publicPem(privateKey), signed_policy: sign(privateKey, 'something else') };
  };
  const refusals: [string, string, () => Arguments | Promise<Arguments>, string, string][] = [
    ['arguments of search', 'search_intents', () => ({ page: 0, colour: 'red' }), 'INVALID_PARAMETER', 'call search_intents again'],
    ['no uid', 'get_intent', () => ({ intent_uid: 'nonsense' }), 'INVALID_PARAMETER', 'call get_intent again'],
    ['an unknown intent', 'get_intent', () => ({ intent_uid: 'a.example:none:v1' }), 'NOT_FOUND', 'Call search_intents'],
    ['a misspelt uid', 'get_intent', () => ({ intent_uid: 'world.example:get-contry:v1' }), 'NOT_FOUND', meant],
    ['a misspelt uid', 'execute_intent', executing({ intent_uid: 'word.example:get-country:v1' }), 'NOT_FOUND', meant],
    ['half of what accepting takes', 'accept_policy', () => ({ agent_id: 'me' }), 'INVALID_PARAMETER', 'call accept_policy again'],
    ['a signature over something else', 'accept_policy', signedElsewhere, 'INVALID_SIGNATURE', 'Call accept_policy without arguments'],
    [
      'missing parameters',
      'execute_intent',
      executing({ parameters: {} }),
      'INVALID_PARAMETER',
      'Call get_intent to see what each parameter',
    ],
    [
      'an odd argument',
      'execute_intent',
      executing({ max_bytes: 1 }),
      'INVALID_PARAMETER',
      'Correct the arguments, and call execute_intent',
    ],
    ['an odd key', 'execute_intent', executing({ idempotency_key: 'a b' }), 'INVALID_PARAMETER', 'Correct the arguments'],
    [
      'another version',
      'execute_intent',
      executing({ intent_uid: 'world.example:get-country:v9' }),
      'VERSION_CONFLICT',
      'supported_versions',
    ],
    [
      'a prohibited intent',
      'execute_intent',
      executing({ intent_uid: 'world.example:export-countries:v1' }),
      'FORBIDDEN',
      'Call search_intents for an intent that you may execute',
    ],
  ];

  test.each(refusals)('a refusal says the next call: %s', async (_, tool, makeArguments, code, next) => {
    const client = await connect('2025-11-25');
    const refused = await callTool(client, tool, await makeArguments());
    expect(refused).toMatchObject({ isError: true, data: { error: { code, details: { request_id: expect.any(String) } } } });
    expect(refused.data.next).toContain(next);
    expect(refused.text.split('\n')).toEqual([
      `${code}: ${refused.data.error.message}`,
      `Details: ${JSON.stringify(refused.data.error.details)}`,
      `Next: ${refused.data.next}`,
    ]);
    await client.close();
  });
});

test('a call that is repeated with its idempotency_key is executed once', async () => {
  const client = await connect('2026-07-28');
  const pat = await acceptPolicy(client);
  const call = { intent_uid: 'world.example:get-current-time:v1', parameters: { time_zone: 'Asia/Tokyo' }, idempotency_key: 'once', pat };
  const [first, second] = [await callTool(client, 'execute_intent', call), await callTool(client, 'execute_intent', call)];
  expect(first.isError).toBe(false);
  expect(second).toEqual(first);
  const other = await callTool(client, 'execute_intent', { ...call, parameters: { time_zone: 'Asia/Seoul' } });
  expect(other).toMatchObject({ isError: true, data: { error: { code: 'CONFLICT' } } });
  await client.close();
});

test('a call with the digest of an intent is executed only while the intent is what was read', async () => {
  const client = await connect('2026-07-28');
  const call = { intent_uid: 'world.example:get-country:v1', parameters: { code: 'FR' }, pat: await acceptPolicy(client) };
  const { digest } = (await callTool(client, 'get_intent', { intent_uid: call.intent_uid })).data as { digest: string };
  expect(await callTool(client, 'execute_intent', { ...call, digest })).toMatchObject({ isError: false, data: { name: 'France' } });
  const earlier = `${digest.slice(0, -4)}AAAA`;
  expect(await callTool(client, 'execute_intent', { ...call, digest: earlier })).toMatchObject({
    isError: true,
    data: {
      error: { code: 'CONFLICT', details: { reason: 'intent_changed', changed: ['fields'], digest } },
      next: 'Call get_intent again. If it is still what you want, call execute_intent with its new digest.',
    },
  });
  await client.close();
});

const modernMeta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
};
const modern = { 'MCP-Protocol-Version': '2026-07-28' };
const request = (method: string, params: object = {}) => ({ jsonrpc: '2.0', id: 7, method, params });
const modernRequest = (method: string, params: object = {}) => request(method, { ...params, _meta: modernMeta });

async function post(body: unknown, headers: Record<string, string> = {}) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  const text = await response.text();
  return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
}

describe('mistakes in the protocol', () => {
  const unsupported = { supported: ['2026-07-28', '2025-11-25', '2025-06-18'] };
  const versions = 'This server supports the MCP revisions 2026-07-28, 2025-11-25, 2025-06-18. Use one of them.';
  const envelope =
    'params._meta must contain the text io.modelcontextprotocol/protocolVersion and the object io.modelcontextprotocol/clientCapabilities.';
  const mismatch = (name: string) => ({ code: -32020, message: `The header ${name} must be sent and match the body.` });
  const invalid = (message: unknown, code = -32600) => ({ code, message });
  const methods = (...names: string[]) => invalid(`Unknown method. Available methods: ${names.join(', ')}.`, -32601);
  const ofRevision = (revision: string) => ({ _meta: { ...modernMeta, 'io.modelcontextprotocol/protocolVersion': revision } });
  const unsupportedVersion = (requested: string) => ({ ...invalid(versions, -32022), data: { ...unsupported, requested } });
  const named = (method: string, name?: string) => ({ ...modern, 'Mcp-Method': method, ...(name && { 'Mcp-Name': name }) });
  const oldMethods = methods('initialize', 'ping', 'tools/list', 'tools/call', 'tasks/get', 'tasks/result');
  const newMethods = methods('server/discover', 'tools/list', 'tools/call', 'tasks/get', 'tasks/update', 'tasks/cancel');
  const tools = invalid('Unknown tool. Available tools: search_intents, get_intent, accept_policy, execute_intent.', -32602);
  const listed = { name: 'get_intent', arguments: [] };
  const mistakes: [string, unknown, Record<string, string>, number, object][] = [
    ['a batch', [request('ping')], {}, 400, invalid('The body must be one JSON-RPC 2.0 request or notification.')],
    ['another JSON-RPC', { ...request('ping'), jsonrpc: '1.0' }, {}, 400, invalid(expect.any(String))],
    ['a null id', { ...request('ping'), id: null }, {}, 400, invalid('The id of a request must be a string or an integer.')],
    ['params in a list', { ...request('ping'), params: [] }, {}, 400, invalid('The params of a message must be an object.')],
    ['an unknown method', request('resources/list'), {}, 200, oldMethods],
    ['a method of the handshake', modernRequest('ping'), named('ping'), 404, newMethods],
    [
      'an unknown cursor',
      request('tools/list', { cursor: 'x' }),
      {},
      200,
      invalid('Unknown cursor. Leave it out: the list has one page.', -32602),
    ],
    ['an unknown tool', request('tools/call', { name: 'sing' }), {}, 200, tools],
    ['arguments in a list', request('tools/call', listed), {}, 200, invalid('The arguments of a tool must be an object.', -32602)],
    ['an unknown revision in the header', request('ping'), { 'MCP-Protocol-Version': '1999-01-01' }, 400, unsupportedVersion('1999-01-01')],
    ['the revision with batches', request('ping'), { 'MCP-Protocol-Version': '2025-03-26' }, 400, unsupportedVersion('2025-03-26')],
    [
      'another revision in the header, even if that of the body is unknown',
      request('tools/list', ofRevision('v999.0.0')),
      modern,
      400,
      mismatch('MCP-Protocol-Version'),
    ],
    [
      'an unknown revision in the body',
      request('tools/list', ofRevision('<script>')),
      { ...modern, 'MCP-Protocol-Version': '<script>' },
      400,
      unsupportedVersion('unknown'),
    ],
    ['no envelope', request('tools/list'), modern, 400, invalid(envelope, -32602)],
    [
      'no capabilities',
      request('tools/list', { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } }),
      modern,
      400,
      invalid(envelope, -32602),
    ],
    ['no header', modernRequest('tools/list'), {}, 400, mismatch('MCP-Protocol-Version')],
    ['another method in the header', modernRequest('tools/list'), named('tools/call'), 400, mismatch('Mcp-Method')],
    [
      'another tool in the header',
      modernRequest('tools/call', { name: 'get_intent' }),
      named('tools/call', 'search_intents'),
      400,
      mismatch('Mcp-Name'),
    ],
  ];

  test.each(mistakes)('a mistake in the protocol is a JSON-RPC error: %s', async (_, body, headers, status, error) => {
    const answer = await post(body, headers);
    const id = (body as { id?: number | null }).id ?? undefined;
    expect({ status: answer.status, ...answer.body }).toEqual({ status, error, id, jsonrpc: '2.0' });
  });

  test.each(['9007199254740993', '-1', '"p"', '""'])('the id %s comes back as it was sent, and null counts as no params', async (id) => {
    const sent = await fetch(url, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: `{"jsonrpc":"2.0","id":${id},"method":"ping","params":null}`,
    });
    expect(await sent.text()).toBe(`{"jsonrpc":"2.0","id":${id},"result":{}}`);
  });

  test.each(['', '{', '{"a":1,"a":2}', 'null\u0000'])('a body that is not JSON is refused: %j', async (body) => {
    expect(await post(body)).toEqual({
      status: 400,
      body: { jsonrpc: '2.0', error: { code: -32700, message: expect.any(String), data: { issues: [expect.any(Object)] } } },
    });
  });
});

test('a name in the header may be encoded', async () => {
  const encoded = `=?base64?${Buffer.from('get_intent').toString('base64')}?=`;
  const call = modernRequest('tools/call', { name: 'get_intent', arguments: { intent_uid: country.intent_uid } });
  const answer = await post(call, { ...modern, 'Mcp-Method': 'tools/call', 'Mcp-Name': encoded });
  expect(answer).toMatchObject({
    status: 200,
    body: { result: { resultType: 'complete', isError: false, _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'intent-gate' } } } },
  });
});

test.each([
  ['2025-06-18', '2025-06-18'],
  ['2025-03-26', '2025-11-25'],
  ['2024-11-05', '2025-11-25'],
  ['2099-01-01', '2025-11-25'],
  [undefined, '2025-11-25'],
])('a handshake that asks for %s settles on %s', async (asked, agreed) => {
  const answer = await post(request('initialize', { protocolVersion: asked, capabilities: {}, clientInfo: { name: 'a', version: '1' } }));
  expect(answer.body).toMatchObject({ id: 7, result: { protocolVersion: agreed, capabilities: { tools: {} } } });
});

test('a notification is accepted without an answer', async () => {
  expect(await post({ jsonrpc: '2.0', method: 'notifications/initialized' })).toEqual({ status: 202, body: undefined });
});

test.each(['GET', 'DELETE'])('%s /mcp is answered 405', async (method) => {
  const answer = await api.call(method, '/mcp');
  expect(answer).toMatchObject({ status: 405, body: { error: { code: 'METHOD_NOT_ALLOWED' } } });
  expect(answer.headers.get('allow')).toContain('POST');
});
