import { createPublicKey, createSign, generateKeyPairSync, type KeyObject, randomUUID } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import type { Client } from '@modelcontextprotocol/client';
import { version } from '../../../lib/version.ts';
import { fullIntent } from '../../../schemas/intent.ts';
import { briefPage } from '../../../schemas/intent-pages.ts';
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
    expect(asked.text).toContain("- Sign this policy with your agent's key before the first call.");
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
  const refusals: { what: string; tool: string; makeArguments: () => Arguments | Promise<Arguments>; code?: string; next: string }[] = [
    {
      what: 'arguments of search',
      tool: 'search_intents',
      makeArguments: () => ({ page: 0, colour: 'red' }),
      next: 'call search_intents again',
    },
    { what: 'no uid', tool: 'get_intent', makeArguments: () => ({ intent_uid: 'nonsense' }), next: 'call get_intent again' },
    {
      what: 'an unknown intent',
      tool: 'get_intent',
      makeArguments: () => ({ intent_uid: 'a.example:none:v1' }),
      code: 'NOT_FOUND',
      next: 'Call search_intents',
    },
    {
      what: 'a misspelt uid',
      tool: 'get_intent',
      makeArguments: () => ({ intent_uid: 'world.example:get-contry:v1' }),
      code: 'NOT_FOUND',
      next: meant,
    },
    {
      what: 'a misspelt uid',
      tool: 'execute_intent',
      makeArguments: executing({ intent_uid: 'word.example:get-country:v1' }),
      code: 'NOT_FOUND',
      next: meant,
    },
    {
      what: 'half of what accepting takes',
      tool: 'accept_policy',
      makeArguments: () => ({ agent_id: 'me' }),
      next: 'call accept_policy again',
    },
    {
      what: 'a signature over something else',
      tool: 'accept_policy',
      makeArguments: signedElsewhere,
      code: 'INVALID_SIGNATURE',
      next: 'Call accept_policy without arguments',
    },
    {
      what: 'missing parameters',
      tool: 'execute_intent',
      makeArguments: executing({ parameters: {} }),
      next: 'Call get_intent to see what each parameter',
    },
    {
      what: 'an odd argument',
      tool: 'execute_intent',
      makeArguments: executing({ max_bytes: 1 }),
      next: 'Correct the arguments, and call execute_intent',
    },
    { what: 'an odd key', tool: 'execute_intent', makeArguments: executing({ idempotency_key: 'a b' }), next: 'Correct the arguments' },
    {
      what: 'another version',
      tool: 'execute_intent',
      makeArguments: executing({ intent_uid: 'world.example:get-country:v9' }),
      code: 'VERSION_CONFLICT',
      next: 'supported_versions',
    },
    {
      what: 'a prohibited intent',
      tool: 'execute_intent',
      makeArguments: executing({ intent_uid: 'world.example:export-countries:v1' }),
      code: 'FORBIDDEN',
      next: 'Call search_intents for an intent that you may execute',
    },
  ];

  test.each(refusals)('a refusal says the next call: $what', async ({ tool, makeArguments, code = 'INVALID_PARAMETER', next }) => {
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
  const mistakes: { what: string; body: unknown; headers?: Record<string, string>; status?: number; error: object }[] = [
    { what: 'a batch', body: [request('ping')], error: invalid('The body must be one JSON-RPC 2.0 request or notification.') },
    { what: 'another JSON-RPC', body: { ...request('ping'), jsonrpc: '1.0' }, error: invalid(expect.any(String)) },
    { what: 'a null id', body: { ...request('ping'), id: null }, error: invalid('The id of a request must be a string or an integer.') },
    { what: 'params in a list', body: { ...request('ping'), params: [] }, error: invalid('The params of a message must be an object.') },
    { what: 'an unknown method', body: request('resources/list'), status: 200, error: oldMethods },
    { what: 'a method of the handshake', body: modernRequest('ping'), headers: named('ping'), status: 404, error: newMethods },
    {
      what: 'an unknown cursor',
      body: request('tools/list', { cursor: 'x' }),
      status: 200,
      error: invalid('Unknown cursor. Leave it out: the list has one page.', -32602),
    },
    { what: 'an unknown tool', body: request('tools/call', { name: 'sing' }), status: 200, error: tools },
    {
      what: 'arguments in a list',
      body: request('tools/call', listed),
      status: 200,
      error: invalid('The arguments of a tool must be an object.', -32602),
    },
    {
      what: 'an unknown revision in the header',
      body: request('ping'),
      headers: { 'MCP-Protocol-Version': '1999-01-01' },
      error: unsupportedVersion('1999-01-01'),
    },
    {
      what: 'the revision with batches',
      body: request('ping'),
      headers: { 'MCP-Protocol-Version': '2025-03-26' },
      error: unsupportedVersion('2025-03-26'),
    },
    {
      what: 'another revision in the header, even if that of the body is unknown',
      body: request('tools/list', ofRevision('v999.0.0')),
      headers: modern,
      error: mismatch('MCP-Protocol-Version'),
    },
    {
      what: 'an unknown revision in the body',
      body: request('tools/list', ofRevision('<script>')),
      headers: { ...modern, 'MCP-Protocol-Version': '<script>' },
      error: unsupportedVersion('unknown'),
    },
    { what: 'no envelope', body: request('tools/list'), headers: modern, error: invalid(envelope, -32602) },
    {
      what: 'no capabilities',
      body: request('tools/list', { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } }),
      headers: modern,
      error: invalid(envelope, -32602),
    },
    { what: 'no header', body: modernRequest('tools/list'), error: mismatch('MCP-Protocol-Version') },
    {
      what: 'another method in the header',
      body: modernRequest('tools/list'),
      headers: named('tools/call'),
      error: mismatch('Mcp-Method'),
    },
    {
      what: 'another tool in the header',
      body: modernRequest('tools/call', { name: 'get_intent' }),
      headers: named('tools/call', 'search_intents'),
      error: mismatch('Mcp-Name'),
    },
  ];

  test.each(mistakes)('a mistake in the protocol is a JSON-RPC error: $what', async ({ body, headers = {}, status = 400, error }) => {
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
