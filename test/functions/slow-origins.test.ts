import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import type { Action } from '../../functions/core/http/serve.ts';
import { keys } from '../../functions/core/table/keys.ts';
import { execute, type Gate, newAgent, obtainPat, startGate } from '../support/gate.ts';
import { intentOf, serviceNamed } from '../support/records.ts';
import { startUpstream } from '../support/upstream.ts';

let gate: Gate;
let upstream: Awaited<ReturnType<typeof startUpstream>>;
let steps: Action;
let pat: string;
let origin: string;
const uid = 'test.example:slow:v1';

beforeAll(async () => {
  gate = await startGate();
  upstream = await startUpstream((_, response) => response.writeHead(200, { 'Content-Type': 'application/json' }).end('{"name":"France"}'));
  origin = `http://127.0.0.1:${upstream.port}`;
  const { service_id } = await gate.services.create(serviceNamed('Slow'));
  const endpoint = { url: `${origin}/countries`, method: 'POST' as const, content_type: 'application/json' };
  await gate.intents.create(service_id, intentOf(uid, { endpoint }));
});
afterAll(async () => {
  await upstream.stop();
  await gate.stop();
});
beforeEach(async () => {
  steps = gate.openExecute();
  pat = await obtainPat(gate, await newAgent());
  upstream.seen.length = 0;
  await list(0);
});

const run = (headers: Record<string, string> = {}) => execute(steps, pat, uid, { code: 'FR' }, headers);

/** Makes the table list slow calls to an origin: the bound of the gate of these tests is 10. */
const list = (count: number, at = origin) => {
  const leases = new Set(Array.from({ length: count }, (_, index) => `${Math.ceil(Date.now() / 1_000) + 20}.${index}`));
  return gate.database.table.put({ ...keys.slowCalls(at, 'execute-intent'), ...(count > 0 && { leases }) });
};

test.each([true, false])('an origin with too many slow calls is not called, and nothing is counted; warm: %s', async (isWarm) => {
  if (isWarm) await run();
  upstream.seen.length = 0;
  const left = isWarm ? 59 : 60;
  await list(10);
  const { status, body, headers } = await run({ 'Idempotency-Key': 'a' });
  expect({ status, body }).toEqual({
    status: 503,
    body: {
      error: {
        code: 'SERVICE_UNAVAILABLE',
        message: "Too many calls are waiting for the host of the intent's endpoint. Nothing was sent; try again after Retry-After.",
        details: { reference: 'PROTO-SRV-002', request_id: 'request-1', reason: 'crowded', outcome: 'not_sent' },
      },
    },
  });
  expect(headers).toMatchObject({ 'Retry-After': '5', RateLimit: expect.stringContaining(`r=${left}`) });
  expect(upstream.seen).toEqual([]);
  await list(9);
  expect(await run({ 'Idempotency-Key': 'a' })).toMatchObject({ status: 200, body: { name: 'France' } });
});

test('a call that was answered is answered again under its key', async () => {
  const first = await run({ 'Idempotency-Key': 'b' });
  await list(10);
  expect(await run({ 'Idempotency-Key': 'b' })).toMatchObject({
    status: 200,
    body: first.body,
    headers: { 'Idempotent-Replayed': 'true' },
  });
});

test('slow calls to another origin keep nobody', async () => {
  await list(100, 'https://other.example');
  expect(await run()).toMatchObject({ status: 200 });
});

test('a fast call writes nothing about its origin, and reads what is written with everything else', async () => {
  await run();
  gate.database.operations.length = 0;
  await run();
  expect(gate.database.operations).toEqual(['BatchGetItem', expect.stringMatching(/^(Update|Put)Item$/)]);
});
