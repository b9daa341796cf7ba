import type { ServerResponse } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import type { Context } from 'aws-lambda';
import { nest } from '../../../functions/core/execution/around.ts';
import { recheckAfterMs } from '../../../functions/core/execution/block-check.ts';
import { serve } from '../../../functions/core/http/serve.ts';
import type { Protocol } from '../../../functions/core/relay/call.ts';
import { speakMcp } from '../../../functions/mcp-upstreams/relay.ts';
import type { IntentInput } from '../../../schemas/intent.ts';
import { newAgent, obtainPat, startGate } from '../../support/gate.ts';
import { eventOf } from '../../support/invoke.ts';
import { letPass } from '../../support/let-pass.ts';
import { json, type McpServer, resultOf, startMcpServer, stream } from '../../support/mcp-upstreams/server.ts';
import { intentOf, serviceNamed } from '../../support/records.ts';
import { blockAgent } from '../../support/stop-agent.ts';

const gate = await startGate({ maxDeadlineMs: 1_000 });
const server: McpServer = { kind: 'modern' };
const upstream = await startMcpServer(server);
afterAll(() => Promise.all([gate.stop(), upstream.stop()]));
const service = await gate.services.create(serviceNamed('Tools'));
let pat = '';
let steps = gate.openExecute({ protocol: speakMcp });
let count = 0;

beforeEach(async () => {
  jest.restoreAllMocks();
  pat = await obtainPat(gate, await newAgent());
  Object.assign(server, { kind: 'modern', call: undefined, before: undefined });
  steps = gate.openExecute({ protocol: speakMcp });
  upstream.seen.length = 0;
});

async function register(more: Partial<IntentInput> = {}, mcp: IntentInput['endpoint']['mcp'] = { tool: 'echo' }): Promise<string> {
  const intent_uid = `tools.example:tool-${++count}:v1`;
  const endpoint = { url: upstream.url, method: 'POST' as const, content_type: 'application/json', mcp };
  const input_parameters = [{ name: 'p', type: 'any' as const }];
  await gate.intents.create(service.service_id, intentOf(intent_uid, { endpoint, input_parameters, output_parameters: [], ...more }));
  return intent_uid;
}

/** Executes an intent; the text has every digit. */
async function run(intent_uid: string, parameters: string | object = {}, headers: Record<string, string> = {}, token = pat) {
  const given = typeof parameters === 'string' ? parameters : JSON.stringify(parameters);
  const event = eventOf('POST /api/intents/execute', {
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json', ...headers },
    body: `{"intent_uid":"${intent_uid}","parameters":${given}}`,
  });
  const answer = await serve(steps, { protocol: 'proto' })(event, { getRemainingTimeInMillis: () => 29_000 } as Context);
  const { error, ...body } = JSON.parse(answer.body);
  return { status: answer.statusCode, headers: answer.headers ?? {}, text: answer.body, body, error };
}

const calls = () => upstream.methods().filter((method) => method === 'tools/call').length;

/** What a refusal says, without what differs each time. */
const shown = ({ status, error }: Awaited<ReturnType<typeof run>>) => {
  const { request_id: _, reference: __, ...details } = error?.details ?? {};
  return [status, error?.code, details];
};

describe('a tool of an MCP server', () => {
  const kinds = [
    { kind: 'modern', first: ['server/discover', 'tools/call'] },
    { kind: 'sessions', first: ['server/discover', 'initialize', 'notifications/initialized', 'tools/call'] },
    { kind: 'stateless', first: ['server/discover', 'initialize', 'notifications/initialized', 'tools/call'] },
  ] as const;

  for (const { kind, first } of kinds) {
    test(`a tool of an MCP server of the kind ${kind} is called after one handshake`, async () => {
      server.kind = kind;
      const uid = await register();
      const { status, body } = await run(uid, { p: { deep: [1, null] } });
      expect([status, body]).toEqual([200, { p: { deep: [1, null] } }]);
      expect(upstream.methods()).toEqual(first);
      await run(uid);
      expect(upstream.methods().slice(first.length)).toEqual(['tools/call']);
    });
  }

  test('a tool gets exactly the arguments that the agent gave, with every digit, and the header fields that repeat them', async () => {
    const mcp = { tool: 'Größe /x', headers: { Region: '/p/region', Absent: '/p/absent', Word: '/p/word' } };
    await run(await register({}, mcp), '{"p":{"n":12345678901234567890,"x":1.10,"region":"eu","word":"ü"}}', { 'Idempotency-Key': 'k' });
    const [, { body, headers } = { body: '', headers: {} }] = upstream.seen;
    expect(body).toContain('"arguments":{"p":{"n":12345678901234567890,"x":1.10,"region":"eu","word":"ü"}}');
    expect(JSON.parse(body).params.name).toBe('Größe /x');
    expect(headers).toMatchObject({
      accept: 'application/json, text/event-stream',
      'mcp-method': 'tools/call',
      'mcp-name': `=?base64?${Buffer.from('Größe /x').toString('base64')}?=`,
      'mcp-param-region': 'eu',
      'mcp-param-word': '=?base64?w7w=?=',
      'idempotency-key': expect.any(String),
    });
    expect(headers).not.toHaveProperty('mcp-param-absent');
    expect(upstream.seen[0]?.headers).not.toHaveProperty('idempotency-key');
  });

  const whole = { input_parameters: [{ name: 'args', type: 'object' as const }] };
  test('a tool may take one parameter as all of its arguments', async () => {
    const uid = `tools.example:whole:v1`;
    const endpoint = { url: upstream.url, method: 'POST' as const, content_type: 'application/json', body: 'args', mcp: { tool: 'echo' } };
    await gate.intents.create(service.service_id, intentOf(uid, { ...whole, endpoint, output_parameters: [] }));
    expect((await run(uid, { args: { free: 1 } })).body).toEqual({ free: 1 });
  });

  const png = Buffer.from('png').toString('base64');
  const contents: [title: string, result: object, answer: string][] = [
    ['structured content', { structuredContent: { a: 1 }, content: [{ type: 'text', text: '{"a":2}' }] }, '{"a":1}'],
    ['a structured list', { structuredContent: [1, 2] }, '{"items":[1,2]}'],
    ['a structured scalar', { structuredContent: false }, '{"value":false}'],
    ['null as structured content beside text', { structuredContent: null, content: [{ type: 'text', text: 'x' }] }, '{"value":"x"}'],
    ['text', { content: [{ type: 'text', text: 'Hello' }] }, '{"value":"Hello"}'],
    ['text that is a JSON object', { content: [{ type: 'text', text: '{"b":1.50}' }] }, '{"b":1.50}'],
    ['text that is a JSON list', { content: [{ type: 'text', text: '[1]' }] }, '{"value":"[1]"}'],
    ['an image', { content: [{ type: 'image', data: png, mimeType: 'image/png' }] }, `{"base64":"${png}","content_type":"image/png"}`],
    [
      'several parts',
      {
        content: [
          { type: 'text', text: 'a' },
          { type: 'audio', data: png, mimeType: 'audio/wav' },
          { type: 'resource', resource: { uri: 'x://y', text: '{}', mimeType: 'text/plain' } },
          { type: 'resource_link', uri: 'x://z', name: 'Z' },
          { type: 'chart', points: [1] },
        ],
      },
      `{"items":[{"value":"a"},{"base64":"${png}","content_type":"audio/wav"},{"value":"{}","uri":"x://y","content_type":"text/plain"},{"uri":"x://z","name":"Z"},{"type":"chart","points":[1]}]}`,
    ],
    ['nothing', { content: [] }, '{}'],
  ];

  for (const [title, result, answer] of contents) {
    for (const form of ['JSON', 'an event stream'] as const) {
      test(`a tool may answer with ${title}, as ${form}`, async () => {
        server.call = (rpc, response) => {
          const message = JSON.stringify(resultOf(rpc, result));
          if (form === 'JSON') json(response, message);
          else response.writeHead(200, { 'Content-Type': 'text/event-stream' }).end(`: hello\n\ndata: ${message}\n`);
        };
        const { status, text } = await run(await register());
        expect([status, text]).toEqual([200, answer]);
      });
    }
  }

  test('a tool may answer with numbers of any length, which keep every digit', async () => {
    server.call = ({ id }, response) =>
      json(response, `{"jsonrpc":"2.0","id":${id},"result":{"content":[],"structuredContent":{"n":12345678901234567890,"x":1.10}}}`);
    expect((await run(await register())).text).toBe('{"n":12345678901234567890,"x":1.10}');
  });

  test('a stream is read until the result: progress, other ids and what follows are ignored, and it need not end', async () => {
    server.call = (rpc, response) =>
      stream(
        response,
        [
          { jsonrpc: '2.0', method: 'notifications/progress', params: { progress: 1 } },
          resultOf({ ...rpc, id: 1 }, { structuredContent: { wrong: true } }),
          resultOf(rpc, { structuredContent: { first: true } }),
          resultOf(rpc, { structuredContent: { second: true } }),
        ],
        false,
      );
    expect((await run(await register())).body).toEqual({ first: true });
    expect(calls()).toBe(1);
  });

  test('a ping in a stream is answered', async () => {
    server.kind = 'sessions';
    server.call = async (rpc, response) => {
      stream(response, [{ jsonrpc: '2.0', id: 'p', method: 'ping' }], false);
      while (!upstream.methods().includes('response')) await setTimeout(5);
      response.end(`data: ${JSON.stringify(resultOf(rpc, { structuredContent: { pinged: true } }))}\n\n`);
    };
    expect((await run(await register())).body).toEqual({ pinged: true });
    expect(JSON.parse(upstream.seen.at(-1)?.body ?? '')).toEqual({ jsonrpc: '2.0', id: 'p', result: {} });
  });

  test('of many pings in a stream, only the first are answered', async () => {
    server.kind = 'sessions';
    server.call = async (rpc, response) => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' }).write('data:{"id":1,"method":"ping"}\n\n'.repeat(5_000));
      await setTimeout(100);
      response.end(`data: ${JSON.stringify(resultOf(rpc, { structuredContent: { pinged: true } }))}\n\n`);
    };
    expect((await run(await register())).body).toEqual({ pinged: true });
    expect(upstream.methods().filter((method) => method === 'response').length).toBeLessThanOrEqual(10);
  });
});

const error =
  (code: number, status = 200) =>
  (rpc: { id?: number }, response: ServerResponse) =>
    json(response, { jsonrpc: '2.0', id: rpc.id, error: { code, message: 'No.' } }, status);
const unclear = { reason: 'broken_answer', outcome: 'unknown' };
const needsInput = { reason: 'input_required', outcome: 'unknown' };

describe('a tool that is not executed', () => {
  const failures: [title: string, call: NonNullable<McpServer['call']>, refusal: unknown[]][] = [
    [
      'reports an error in text',
      (rpc, response) => json(response, resultOf(rpc, { isError: true, content: [{ type: 'text', text: 'Too late.' }] })),
      [422, 'INTENT_EXECUTION_FAILED', { upstream_status: 422, upstream_body: 'Too late.' }],
    ],
    [
      'reports an error without text',
      (rpc, response) => json(response, resultOf(rpc, { isError: true, structuredContent: { why: 1 } })),
      [422, 'INTENT_EXECUTION_FAILED', { upstream_status: 422, upstream_body: { why: 1 } }],
    ],
    [
      'is unknown',
      error(-32602),
      [422, 'INTENT_EXECUTION_FAILED', { upstream_status: 400, upstream_body: { code: -32602, message: 'No.' } }],
    ],
    [
      'is of no method',
      error(-32601, 404),
      [501, 'INTENT_NOT_SUPPORTED', { upstream_status: 501, upstream_body: { code: -32601, message: 'No.' } }],
    ],
    [
      'fails inside',
      error(-32603),
      [502, 'INTENT_EXECUTION_FAILED', { upstream_status: 500, outcome: 'unknown', upstream_body: { code: -32603, message: 'No.' } }],
    ],
    ['needs a capability', error(-32021, 400), [501, 'INTENT_NOT_SUPPORTED', needsInput]],
    ['needs a page to be opened', error(-32042), [501, 'INTENT_NOT_SUPPORTED', needsInput]],
    [
      'needs input',
      (rpc, response) => json(response, resultOf(rpc, { resultType: 'input_required', inputRequests: {} })),
      [501, 'INTENT_NOT_SUPPORTED', needsInput],
    ],
    [
      'has a result of an unknown type',
      (rpc, response) => json(response, resultOf(rpc, { resultType: 'task' })),
      [502, 'INTENT_EXECUTION_FAILED', unclear],
    ],
    [
      'has the result of another id',
      (rpc, response) => json(response, resultOf({ ...rpc, id: 1 }, {})),
      [502, 'INTENT_EXECUTION_FAILED', unclear],
    ],
    ['has a stream without a result', (_, response) => stream(response, []), [502, 'INTENT_EXECUTION_FAILED', unclear]],
    ['has an answer that is not JSON', (_, response) => json(response, '{'), [502, 'INTENT_EXECUTION_FAILED', unclear]],
    [
      'has two members of one name',
      ({ id }, response) => json(response, `{"id":${id},"result":{},"result":{}}`),
      [502, 'INTENT_EXECUTION_FAILED', unclear],
    ],
    [
      'has a stream that is too long',
      (_, response) =>
        stream(
          response,
          Array.from({ length: 20 }, () => 'x'.repeat(64 * 1024)),
          false,
        ),
      [502, 'INTENT_EXECUTION_FAILED', { reason: 'answer_too_large', outcome: 'unknown' }],
    ],
    [
      'has a stream that never ends',
      (_, response) => stream(response, ['x'], false),
      [504, 'GATEWAY_TIMEOUT', { reason: 'deadline', outcome: 'unknown' }],
    ],
    ['is denied', (_, response) => json(response, {}, 401), [502, 'INTENT_EXECUTION_FAILED', { upstream_status: 401 }]],
    [
      'is called too often',
      (_, response) => json(response, {}, 429),
      [503, 'SERVICE_UNAVAILABLE', { upstream_status: 429, retry_after_seconds: 5 }],
    ],
  ];

  for (const [title, call, refusal] of failures) {
    test(`a tool that ${title} is refused, and called once under a key`, async () => {
      server.call = call;
      const uid = await register();
      expect(shown(await run(uid, {}, { 'Idempotency-Key': uid }))).toEqual(refusal);
      expect(calls()).toBe(1);
      if (refusal[0] === 503) return;
      expect(shown(await run(uid, {}, { 'Idempotency-Key': uid })).slice(0, 2)).toEqual(refusal.slice(0, 2));
      expect(calls()).toBe(1);
    });
  }

  for (const method of ['elicitation/create', 'sampling/createMessage', 'roots/list']) {
    test(`a tool that asks for ${method} while it runs is refused, and so is what it asks for`, async () => {
      server.kind = 'sessions';
      server.call = (_, response) => stream(response, [{ jsonrpc: '2.0', id: 7, method, params: {} }], false);
      expect(shown(await run(await register()))).toEqual([501, 'INTENT_NOT_SUPPORTED', needsInput]);
      const { headers, body } = upstream.seen.at(-1) ?? { headers: {}, body: '' };
      expect(JSON.parse(body)).toEqual({ jsonrpc: '2.0', id: 7, error: { code: -32601, message: 'This client does not give input.' } });
      expect(headers).toMatchObject({ 'mcp-session-id': expect.stringMatching(/^session-/) });
    });
  }

  test('a tool that does not end in time is cancelled in the session', async () => {
    server.kind = 'sessions';
    server.call = (_, response) => stream(response, [], false);
    expect(shown(await run(await register()))).toEqual([504, 'GATEWAY_TIMEOUT', { reason: 'deadline', outcome: 'unknown' }]);
    const [call, cancelled] = upstream.seen.slice(-2).map(({ body }) => JSON.parse(body));
    expect(cancelled).toMatchObject({ method: 'notifications/cancelled', params: { requestId: call.id } });
  });

  test('a tool whose answer does not match its schema is refused if the intent is strict', async () => {
    server.call = (rpc, response) => json(response, resultOf(rpc, { structuredContent: { n: 'one' } }));
    const output_parameters = [{ name: 'n', type: 'integer' as const, required: true }];
    const lenient = await run(await register({ output_parameters }));
    expect([lenient.body, lenient.headers['Answer-Issues']]).toEqual([{ n: 'one' }, '/n']);
    expect(shown(await run(await register({ output_parameters, strict: true }))).slice(0, 2)).toEqual([502, 'INTENT_EXECUTION_FAILED']);
    expect((await run(await register({ fields: ['/other'] }))).body).toEqual({});
  });
});

describe('a session', () => {
  test('a session that has ended between two calls is opened again, and the tool is called once more', async () => {
    server.kind = 'sessions';
    const uid = await register();
    await run(uid);
    upstream.endSessions();
    upstream.seen.length = 0;
    expect((await run(uid, { p: 1 }, { 'Idempotency-Key': 'again' })).body).toEqual({ p: 1 });
    const again = ['server/discover', 'initialize', 'notifications/initialized', 'tools/call'];
    expect(upstream.methods()).toEqual(['tools/call', ...again]);
  });

  test('a session that a server denies twice is not opened a third time', async () => {
    server.kind = 'sessions';
    server.before = (rpc, response) => rpc.method === 'tools/call' && json(response, {}, 404);
    expect(shown(await run(await register())).slice(0, 2)).toEqual([422, 'INTENT_EXECUTION_FAILED']);
    expect(upstream.methods().filter((method) => method === 'initialize').length).toBe(2);
  });

  let consent = 'first';
  const others: [title: string, change: () => unknown][] = [
    ['one agent', async () => (pat = await obtainPat(gate, await newAgent()))],
    ['one consent of a person, who may have connected as another account', () => (consent = 'second')],
    [
      'one credential',
      () =>
        gate.services.setCredential(
          service.service_id,
          { headers: [], query: [], origins: ['https://tools.example'], version: 'second', set_at: 0 },
          () => true,
        ),
    ],
  ];

  test.each(others)('a session belongs to %s', async (_, change) => {
    server.kind = 'sessions';
    const around = nest(async (_execution, call, attempt) => {
      call.token = { consent, headers: {}, query: {}, origins: [], recheck: () => {} };
      return attempt();
    });
    steps = gate.openExecute({ protocol: speakMcp, around });
    const uid = await register();
    const sessionOf = async () => {
      await run(uid);
      return upstream.seen.at(-1)?.headers['mcp-session-id'];
    };
    const first = await sessionOf();
    expect(await sessionOf()).toBe(first);
    await change();
    expect(await sessionOf()).not.toBe(first);
  });

  const stalled: [method: string, refusal: unknown[]][] = [
    ['server/discover', [403, 'FORBIDDEN', { reason: 'agent_blocked' }]],
    ['initialize', [403, 'FORBIDDEN', { reason: 'agent_blocked' }]],
    ['notifications/initialized', [403, 'FORBIDDEN', { reason: 'agent_blocked' }]],
    // whose session has ended, so that another one would be opened
    ['tools/call', [422, 'INTENT_EXECUTION_FAILED', { upstream_status: 404 }]],
  ];

  test.each(stalled)(
    'a server that stalls %s gets no further message of an agent that has been blocked meanwhile',
    async (method, refusal) => {
      server.kind = 'sessions';
      const agent = await newAgent();
      pat = await obtainPat(gate, agent);
      let isBlocked = false;
      const stalling: Protocol = (relay) => ({
        ...relay,
        connect: async (call) => {
          const connected = await relay.connect(call);
          const send = async () => {
            const outcome = await connected.send();
            if (!isBlocked && upstream.methods().at(-1) === method) {
              isBlocked = true;
              await blockAgent(gate.database.table, agent.agentId);
              letPass(recheckAfterMs + 100);
            }
            return outcome;
          };
          return { ...connected, send };
        },
      });
      steps = gate.openExecute({ protocol: (relay) => speakMcp(stalling(relay)) });
      server.before = (rpc, response) => method === 'tools/call' && rpc.method === method && json(response, {}, 404);
      expect(shown(await run(await register()))).toMatchObject(refusal);
      expect(upstream.methods()).toEqual(stalled.slice(0, stalled.findIndex(([one]) => one === method) + 1).map(([one]) => one));
    },
  );

  test('a session is opened again by a server that has learned another revision', async () => {
    const uid = await register();
    await run(uid);
    server.before = ({ id, method }, response, { headers }) =>
      headers['mcp-protocol-version'] === '2026-07-28' &&
      json(response, { jsonrpc: '2.0', id, error: { code: -32022, message: method, data: { supported: ['2025-11-25'] } } }, 400);
    server.kind = 'stateless';
    expect((await run(uid, { p: 2 })).body).toEqual({ p: 2 });
  });

  const refusals: [title: string, answer: (response: ServerResponse) => void, refusal: unknown[]][] = [
    [
      'denies it',
      (response) => json(response, {}, 401),
      [502, 'INTENT_EXECUTION_FAILED', { reason: 'no_session', outcome: 'not_sent', upstream_status: 401 }],
    ],
    [
      'is no MCP server',
      (response) => json(response, {}),
      [502, 'INTENT_EXECUTION_FAILED', { reason: 'no_session', outcome: 'not_sent', upstream_status: 200 }],
    ],
    [
      'fails',
      (response) => json(response, {}, 503),
      [503, 'SERVICE_UNAVAILABLE', { reason: 'unreachable', outcome: 'not_sent', retry_after_seconds: 5, upstream_status: 503 }],
    ],
    [
      'breaks off',
      (response) => response.destroy(),
      [503, 'SERVICE_UNAVAILABLE', { reason: 'unreachable', outcome: 'not_sent', retry_after_seconds: 5 }],
    ],
  ];

  test('a server that denies each session is left alone for a while: what is not sent counts towards no limit', async () => {
    server.before = (_, response) => json(response, {}, 401);
    const uid = await register();
    for (let call = 0; call < 12; call++) await run(uid);
    expect(upstream.methods().filter((method) => method === 'initialize').length).toBe(5);
    expect(shown(await run(uid))).toEqual([
      503,
      'SERVICE_UNAVAILABLE',
      { reason: 'resting', outcome: 'not_sent', retry_after_seconds: 10 },
    ]);
    server.before = undefined;
    expect((await run(uid, { p: 1 }, {}, await obtainPat(gate, await newAgent()))).body).toEqual({ p: 1 });
  });

  for (const [title, answer, refusal] of refusals) {
    test(`a session with a server that ${title} is not opened: nothing is sent, and the key stays free`, async () => {
      server.before = (_, response) => answer(response);
      const uid = await register();
      const headers = { 'Idempotency-Key': uid };
      expect(shown(await run(uid, {}, headers))).toEqual(refusal);
      expect(calls()).toBe(0);
      server.before = undefined;
      expect((await run(uid, { p: 3 }, headers)).body).toEqual({ p: 3 });
    });
  }
});
