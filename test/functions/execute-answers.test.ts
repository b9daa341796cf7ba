import { gunzipSync } from 'node:zlib';
import { ScanCommand } from '@aws-sdk/lib-dynamodb';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Context } from 'aws-lambda';
import { type Action, serve } from '../../functions/core/http/serve.ts';
import { CallFailed, type CallFailure } from '../../functions/core/relay/call-failure.ts';
import { keys } from '../../functions/core/table/keys.ts';
import { type IntentInput, intentInput } from '../../schemas/intent.ts';
import { watchExecuted } from '../support/executed-lines.ts';
import { startExecuting } from '../support/executing.ts';
import { newAgent, obtainPat } from '../support/gate.ts';
import { eventOf } from '../support/invoke.ts';
import { intentOf } from '../support/records.ts';

let steps: Action;
let pat: string;
const counted = watchExecuted();
let answer: { status: number; body: string; headers: Record<string, string> };
let count = 0;

const { gate, upstream, serviceId, origin, endpointAt } = await startExecuting((_, response) => {
  response.writeHead(answer.status, { 'Content-Type': 'application/json', ...answer.headers }).end(answer.body);
});
beforeEach(async () => {
  count++;
  counted.clear();
  steps = gate.openExecute();
  pat = await obtainPat(gate, await newAgent());
  answer = { status: 200, body: '{}', headers: {} };
  upstream.seen.length = 0;
});

const uid = () => `test.example:answers-${count}:v1`;
const definition = (more: Partial<IntentInput> = {}): IntentInput =>
  intentOf(uid(), {
    endpoint: endpointAt('/things'),
    input_parameters: [{ name: 'p', type: 'any' }],
    output_parameters: [],
    ...more,
  });
const register = (more: Partial<IntentInput> = {}) => gate.intents.create(serviceId, definition(more));
/** Executes the intent; also returns the answer as text, because JSON.parse rounds numbers. */
async function run(more: object | string = {}, headers: Record<string, string> = {}) {
  const body =
    typeof more === 'string' ? `{"intent_uid":"${uid()}",${more}}` : JSON.stringify({ intent_uid: uid(), parameters: {}, ...more });
  const event = eventOf('POST /api/intents/execute', {
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${pat}`, ...headers },
    body,
  });
  const answered = await serve(steps, { protocol: 'proto' })(event, { getRemainingTimeInMillis: () => 29_000 } as Context);
  return {
    status: answered.statusCode,
    headers: answered.headers as Record<string, string>,
    text: answered.body,
    body: JSON.parse(answered.body),
  };
}

const key = { 'Idempotency-Key': 'one' };

describe('an answer that does not match output_parameters', () => {
  const output_parameters = [{ name: 'total', type: 'number', required: true } as const];

  test('an answer that does not match output_parameters is passed on, named in a header, and counted once', async () => {
    await register({ output_parameters: [...output_parameters, { name: 'größe, %', type: 'string', required: true }] });
    answer = { status: 201, body: '{"order_id":"A1"}', headers: {} };
    const first = await run({}, key);
    expect([first.status, first.body]).toEqual([200, { order_id: 'A1' }]);
    expect(first.headers['Answer-Issues']).toBe('/total, /gr%C3%B6%C3%9Fe%2C%20%25');
    const replayed = await run({}, key);
    expect([replayed.status, replayed.body, replayed.headers['Answer-Issues']]).toEqual([200, first.body, first.headers['Answer-Issues']]);
    expect(counted.lines().map(({ outcome, drift }) => [outcome, drift])).toEqual([
      ['OK', true],
      ['OK', undefined],
    ]);
  });

  test('an answer that does not match output_parameters has a header of at most 1 KB', async () => {
    const names = Array.from({ length: 60 }, (_, at) => `${'x'.repeat(50)}-${at}`);
    await register({ output_parameters: names.map((name) => ({ name, type: 'string', required: true })) });
    const { headers } = await run();
    const pointers = headers['Answer-Issues']?.split(', ') ?? [];
    expect(headers['Answer-Issues']?.length).toBeLessThanOrEqual(1_024);
    expect(pointers.length).toBeGreaterThan(15);
    expect(pointers).toEqual([...names.slice(0, pointers.length - 1).map((name) => `/${name}`), '...']);
  });

  test('an answer that does not match output_parameters is refused if the intent is strict, with the outcome executed', async () => {
    await register({ output_parameters, strict: true });
    answer.body = '{"order_id":"A1"}';
    for (const isReplayed of [undefined, 'true']) {
      const { status, body, headers } = await run({}, key);
      expect([status, body.error.code, headers['Idempotent-Replayed']]).toEqual([502, 'INTENT_EXECUTION_FAILED', isReplayed]);
      expect(body.error.message).toMatch(/^The call was executed, .* Do not send the call again\.$/);
      expect(body.error.details).toMatchObject({
        outcome: 'executed',
        upstream_status: 200,
        issues: [{ path: '/total', problem: 'is required and must be a number' }],
        upstream_body: { order_id: 'A1' },
      });
    }
    expect(upstream.seen).toHaveLength(1);
    expect(counted.lines().map(({ drift }) => drift)).toEqual([true, undefined]);
    answer.body = '{"total":1.10}';
    expect(await run()).toMatchObject({ status: 200 });
  });
});

test.each<[CallFailure, boolean]>([
  ['late', false],
  ['lost', true],
])('a call that failed with %s counts as an upstream call: %s', async (reason, isCounted) => {
  await register();
  steps = gate.openExecute({
    connect: async () => {
      throw new CallFailed(reason);
    },
  });
  expect((await run()).body.error.details.reason).toBe(reason);
  expect(counted.lines().map(({ upstream_host }) => upstream_host !== undefined)).toEqual([isCounted]);
});

describe('what may leave', () => {
  const body = '{"name":"x","customer":{"iban":"DE-CANARY"},"items":[{"price":1.10,"cost":2}]}';

  test('what leaves the gate is what the intent names, narrowed by what the caller names', async () => {
    await register({ fields: ['/name', '/items/price'] });
    answer.body = body;
    expect((await run({}, key)).text).toBe('{"name":"x","items":[{"price":1.10}]}');
    expect((await run({ fields: ['/items', '/customer'] }, key)).text).toBe('{"items":[{"price":1.10}]}');
    expect((await run({ fields: ['/customer'] }, key)).text).toBe('{}');
    const missing = async (...fields: string[]) => (await run({ fields }, key)).headers['Answer-Missing'];
    expect(await missing('/name', '/customer', '/items/price', '/items/9', '/größe')).toBe('/customer, /items/9, /gr%C3%B6%C3%9Fe');
    expect(await missing('/name', '/items')).toBeUndefined();
    const issues = [{ path: '/fields/0', problem: 'must be a JSON pointer, for example /name' }];
    expect((await run({ fields: ['name'] }, key)).body.error.details.issues).toEqual(issues);
  });

  test('only what may leave the gate is stored', async () => {
    await register({ fields: ['/name'] });
    answer.body = body;
    await run({}, key);
    answer = { ...answer, status: 409 };
    await run({}, { 'Idempotency-Key': 'two' });
    const { Items: items = [] } = await gate.database.client.send(new ScanCommand({ TableName: gate.database.tableNames.activity }));
    const kept = items.flatMap(({ outcome }) => (outcome instanceof Uint8Array ? gunzipSync(outcome).toString() : []));
    expect(kept.filter((one) => one.includes('{"name":"x"}'))).toHaveLength(2);
    expect(kept.join()).not.toContain('CANARY');
  });

  test('what may leave the gate also limits an answer that was stored before the intent named less', async () => {
    await register();
    answer.body = body;
    expect((await run({}, key)).body).toHaveProperty('customer');
    answer = { ...answer, status: 422 };
    expect((await run({}, { 'Idempotency-Key': 'two' })).body.error.details.upstream_body).toHaveProperty('customer');
    await gate.intents.replace(uid(), definition({ fields: ['/name'] }), () => true);
    expect((await run({}, key)).body).toEqual({ name: 'x' });
    expect((await run({}, { 'Idempotency-Key': 'two' })).body.error.details.upstream_body).toEqual({ name: 'x' });
    expect(upstream.seen).toHaveLength(2);
  });
});

describe('the head of an answer', () => {
  const location = { Location: '/things/4711', 'X-Total-Count': '412', 'Set-Cookie': 'a=1', 'X-Other': '1' };
  const heads = (headers: Record<string, string>) =>
    Object.fromEntries(Object.entries(headers).filter(([name]) => /^Upstream-/.test(name)));
  const expected = { 'Upstream-Status': '201', 'Upstream-Location': '/things/4711', 'Upstream-X-Total-Count': '412' };

  test('the head of an answer reaches the caller, also from a stored answer', async () => {
    await register({ endpoint: { ...endpointAt('/things'), response_headers: ['X-Total-Count'] } });
    answer = { status: 201, body: '', headers: location };
    for (const isReplayed of [undefined, 'true']) {
      const { status, body, headers } = await run({}, key);
      expect([status, body, heads(headers), headers['Idempotent-Replayed']]).toEqual([200, {}, expected, isReplayed]);
    }
    expect(upstream.seen).toHaveLength(1);
  });

  test('the head of an answer is narrowed in a stored answer when fields limits what may leave', async () => {
    const endpoint = { ...endpointAt('/things'), response_headers: ['X-Total-Count'] };
    await register({ endpoint });
    answer = { status: 201, body: '{}', headers: location };
    await run({}, key);
    await gate.intents.replace(uid(), definition({ endpoint, fields: ['/name'] }), () => true);
    const { 'Upstream-Location': _, ...left } = expected;
    expect(heads((await run({}, key)).headers)).toEqual(left);
    expect(heads((await run()).headers)).toEqual(left);
  });

  test('the head of an answer says 304, whose body is empty, and matches even a strict intent', async () => {
    await register({ strict: true, output_parameters: [{ name: 'total', type: 'number', required: true }] });
    answer = { status: 304, body: '', headers: { ETag: 'W/"7"' } };
    const { status, body, headers } = await run();
    expect([status, body, heads(headers)]).toEqual([200, {}, { 'Upstream-Status': '304', 'Upstream-ETag': 'W/"7"' }]);
    expect(counted.lines().map(({ outcome, drift }) => [outcome, drift])).toEqual([['OK', undefined]]);
  });

  test.each(['Set-Cookie', 'www-authenticate', 'Transfer-Encoding', 'Content-Type', 'Status', 'X A', 'größe'])(
    'the head of an answer cannot name %s in an intent',
    async (name) => {
      const { success } = intentInput.safeParse(definition({ endpoint: { ...endpointAt('/things'), response_headers: [name] } }));
      expect(success).toBe(false);
    },
  );

  test('the head of a refusal is its status and when to try again, also from a stored answer', async () => {
    await register();
    answer = { status: 503, body: '{"detail":"maintenance"}', headers: { 'Retry-After': '65.5', ...location } };
    for (const isReplayed of [undefined, 'true']) {
      const { status, body, headers } = await run({}, key);
      expect([status, headers['Retry-After'], heads(headers), headers['Idempotent-Replayed']]).toEqual([502, '66', {}, isReplayed]);
      expect(body.error.details).toMatchObject({
        upstream_status: 503,
        upstream_body: { detail: 'maintenance' },
        retry_after_seconds: 66,
        outcome: 'unknown',
      });
    }
  });
});

describe('max_bytes', () => {
  test.each<[string, string]>([
    ['0', 'must be at least 100, or be left out for the whole answer'],
    ['2000001', 'must be at most 2000000, or be left out for the whole answer'],
  ])('max_bytes of %s is refused', async (value, problem) => {
    await register();
    const { status, body } = await run(`"parameters":{},"max_bytes":${value}`);
    expect([status, body.error.details.issues]).toEqual([400, [{ path: '/max_bytes', problem }]]);
    expect(upstream.seen).toHaveLength(0);
  });

  test('max_bytes and fields may be null, which leaves them out', async () => {
    await register();
    expect((await run('"parameters":{},"fields":null,"max_bytes":null')).status).toBe(200);
    const { body } = await run('"parameters":null,"fields":null');
    expect(body.error.details.issues).toEqual([{ path: '/parameters', problem: 'must be an object' }]);
  });

  test('max_bytes cuts the answer, says where, and does not count as another request under a key', async () => {
    await register();
    const items = Array.from({ length: 412 }, (_, id) => ({ id }));
    answer.body = JSON.stringify({ items, next: 'token' });
    const cut = await run('"parameters":{},"max_bytes":2e2', key);
    const { length } = cut.body.items;
    expect(cut.body).toEqual({ items: items.slice(0, length), next: 'token', cut: { at: `/items/${length}`, total: 412 } });
    expect(cut.headers['Answer-Cut']).toBe(`at="/items/${length}", total=412`);
    expect(cut.text.length).toBeLessThanOrEqual(200);
    const whole = await run({}, key);
    expect([whole.body, whole.headers['Answer-Cut']]).toEqual([{ items, next: 'token' }, undefined]);
    expect(upstream.seen).toHaveLength(1);
  });
});

describe('numbers keep every digit', () => {
  const numbers = '{"id":9007199254740993,"amount":0.1234567890123456789,"price":1.10,"far":1e400,"list":[-0,1E2]}';

  test('numbers keep every digit to the service, back, and in stored answers', async () => {
    await register({
      input_parameters: [
        { name: 'p', type: 'object' },
        { name: 'd', type: 'any', default: JSON.parse('1') },
      ],
    });
    answer.body = numbers;
    const first = await run(`"parameters":{"p":${numbers}}`, key);
    expect([first.status, first.text]).toEqual([200, numbers]);
    expect(upstream.seen[0]?.body).toBe(`{"p":${numbers},"d":1}`);
    expect((await run(`"parameters":{"p":${numbers}}`, key)).text).toBe(numbers);
    const same = numbers.replace('1.10', '1.1').replace('1E2', '100');
    expect((await run(`"parameters":{"p":${same}}`, key)).headers['Idempotent-Replayed']).toBe('true');
    const rounded = await run(`"parameters":{"p":${numbers.replace('993', '992')}}`, key);
    expect([rounded.status, rounded.body.error.details.reason]).toEqual([409, 'other_request']);
    expect((await run(`"parameters":{"p":${numbers}},"fields":["/amount","/list"]`, key)).text).toBe(
      '{"amount":0.1234567890123456789,"list":[-0,1E2]}',
    );
    expect(upstream.seen).toHaveLength(1);
  });
});

describe('an origin with many slow calls', () => {
  /** Lists this many slow calls to the upstream in the table; these tests allow fewer than 10. */
  const list = (count: number) => {
    const leases = new Set(Array.from({ length: count }, (_, index) => `${Math.ceil(Date.now() / 1_000) + 20}.${index}`));
    const key = keys.slowCalls(origin, 'execute-intent');
    return gate.database.table.put({ ...key, ...(count > 0 && { leases }) });
  };
  beforeEach(() => register());
  afterEach(() => list(0));

  test('an origin with many slow calls is not called, and nothing is counted', async () => {
    await list(10);
    const { status, body, headers } = await run({}, key);
    expect([status, body.error.details]).toMatchObject([503, { reason: 'crowded', outcome: 'not_sent' }]);
    expect(headers).toMatchObject({ 'Retry-After': '5', RateLimit: expect.stringContaining('r=60') });
    expect(upstream.seen).toEqual([]);
    await list(9);
    expect(await run({}, key)).toMatchObject({ status: 200 });
    // an earlier answer is repeated under its key
    await list(10);
    expect(await run({}, key)).toMatchObject({ status: 200, headers: { 'Idempotent-Replayed': 'true' } });
  });
});
