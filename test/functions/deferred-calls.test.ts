import { beforeEach, describe, expect, jest, test } from '@jest/globals';
import type { Action } from '../../functions/core/http/serve.ts';
import { CallFailed } from '../../functions/core/relay/call-failure.ts';
import { unavailable } from '../../functions/core/runtime/api-error.ts';
import { answerFrom } from '../support/actions.ts';
import { openLocalRelay } from '../support/call-upstream.ts';
import { captureLog } from '../support/capture-log.ts';
import { openDeferredParts, approvalTemplate as template } from '../support/deferred.ts';
import { startExecuting } from '../support/executing.ts';
import { type Agent, execute, newAgent, obtainPat } from '../support/gate.ts';
import { type Answer, invoke, refusalOf } from '../support/invoke.ts';
import { loadPolicyTemplate } from '../support/policy.ts';
import { intentOf } from '../support/records.ts';
import { blockAgent, revokeAgent, unblockAgent } from '../support/stop-agent.ts';

let steps: Action;
let worker: (executionId: string) => Promise<void>;
let agent: Agent;
let pat: string;
let answer: { status: number; body: string; headers?: Record<string, string> };
let number = 0;
let delayMs = 0;
let key: string;

const uid = () => `pay.example:refund-${number}:v1`;

const { gate, upstream, serviceId, endpointAt } = await startExecuting(
  (_, response) =>
    void setTimeout(
      () => response.writeHead(answer.status, { 'Content-Type': 'application/json', ...answer.headers }).end(answer.body),
      delayMs,
    ),
  { namespace: 'pay.example' },
);
const parts = openDeferredParts(gate);

beforeEach(async () => {
  jest.restoreAllMocks();
  number++;
  key = `key-${number}`;
  steps = gate.openExecute({ template: template() });
  worker = parts.openWorker({ policy: template() });
  agent = await newAgent();
  pat = await obtainPat(gate, agent, template());
  answer = { status: 200, body: '{"name":"France"}' };
  delayMs = 0;
  upstream.seen.length = 0;
  gate.started.length = 0;
  await gate.intents.create(serviceId, intentOf(uid(), { endpoint: endpointAt() }));
});

const ask = (code = 'FR', headers: Record<string, string> = {}, token = pat) =>
  execute(steps, token, uid(), { code }, { 'Idempotency-Key': key, ...headers });
const idOf = ({ body }: Answer): string => String(body.execution).split('/').at(-1) ?? '';
const read = (id: string, token = pat, now = Date.now) => parts.read(id, token, { now });

test.each([{}, { Prefer: 'respond-async' }])('a call that needs approval is refused if no feature obtains it, with %j', async (headers) => {
  const { status, body } = await ask('FR', headers);
  expect([status, body.error]).toEqual([
    403,
    expect.objectContaining({
      code: 'FORBIDDEN',
      message:
        "The usage policy requires a person's approval for this call, which this gate cannot obtain. Nothing was sent; ask its operators to change the policy.",
      details: expect.objectContaining({ reason: 'approval_unavailable', outcome: 'not_sent' }),
    }),
  ]);
  expect([upstream.seen, gate.started]).toEqual([[], []]);
  expect(await ask('DE', headers)).toMatchObject({ status: 'Prefer' in headers ? 202 : 200 });
});

test('a repeated request for a call that was made before the policy required approval gets its answer', async () => {
  const before = loadPolicyTemplate();
  steps = gate.openExecute({ template: before });
  expect((await ask('FR', {}, await obtainPat(gate, agent, before))).status).toBe(200);
  steps = gate.openExecute({ template: template() });
  const again = await ask('FR', {}, await obtainPat(gate, agent, template()));
  expect([again.status, again.headers['Idempotent-Replayed'], upstream.seen.length]).toEqual([200, 'true', 1]);
});

test('a holder may have 20 calls in the background; each frees its slot when it ends', async () => {
  const later = (at: number | string) => ask('DE', { Prefer: 'respond-async', 'Idempotency-Key': `${key}-${at}` });
  const asked: string[] = [];
  for (let at = 0; at < 20; at++) asked.push(idOf(await later(at)));
  const refused = {
    status: 429,
    code: 'TOO_MANY_REQUESTS',
    message: '20 of your calls are being made in the background, which is the maximum. Wait until some have ended.',
    details: { reason: 'waiting_calls', outcome: 'not_sent', retry_after_seconds: 60 },
  };
  expect(refusalOf(await later('more'))).toEqual(refused);
  const [first = ''] = asked;
  await worker(first);
  expect(await later('more')).toMatchObject({ status: 202 });
  expect(refusalOf(await later('another'))).toEqual(refused);
  // a request under the key of a running call returns its state, even if the queue is full
  expect(await later(1)).toMatchObject({ status: 202, body: { status: 'working' } });
});

describe('Prefer: respond-async', () => {
  test.each(['Respond-Async, wait=10', 'return=minimal, respond-async; x=1'])(
    'a request with Prefer: %s is answered at once, and the call is made',
    async (Prefer) => {
      const asked = await ask('DE', { Prefer });
      expect(asked).toMatchObject({ status: 202, body: { status: 'working' }, headers: { 'Preference-Applied': 'respond-async' } });
      const id = idOf(asked);
      expect(gate.started).toEqual([id]);
      await Promise.all([worker(id), worker(id)]);
      expect(upstream.seen).toHaveLength(1);
      expect((await read(id)).body).toMatchObject({ status: 'done', outcome: { status: 200, body: { name: 'France' } } });
    },
  );

  test.each([
    ['the gate', unavailable('The vault cannot be reached.'), { level: 'ERROR', code: 'SERVICE_UNAVAILABLE' }],
    ['the upstream', new CallFailed('crowded'), { level: 'INFO', code: 'SERVICE_UNAVAILABLE', fault: 'upstream' }],
    ['the code', new TypeError('a fault'), { level: 'ERROR', code: 'INTERNAL_SERVER_ERROR' }],
  ])('a failure of %s is logged like one of an immediate call, so that alarms count it', async (_, error, line) => {
    const id = idOf(await ask('CH', { Prefer: 'respond-async' }));
    const written = captureLog();
    await parts
      .openWorker({ relay: { connect: () => Promise.reject(error) } })(id)
      .catch(() => {});
    const lines = written.map((text) => JSON.parse(text)).filter(({ message }) => message === 'answered');
    const { level: found, code, fault } = lines[0];
    expect([lines.length, { level: found, code, ...(fault && { fault }) }]).toEqual([1, line]);
  });

  test('of 12 calls to a service that hangs, 10 are made at a time, and the others can be requested again under their keys', async () => {
    const ends: (() => void)[] = [];
    const send = () => new Promise<ReturnType<typeof answerFrom>>((resolve) => ends.push(() => resolve(answerFrom('https://up.example/'))));
    const hanging = parts.openWorker({ relay: { connect: async () => ({ send, drop: () => {} }) } });
    const later = (at: number) => ask('DE', { Prefer: 'respond-async', 'Idempotency-Key': `${key}-${at}` });
    const ids: string[] = [];
    for (let at = 0; at < 12; at++) ids.push(idOf(await later(at)));
    const runs = ids.map((id) => hanging(id));
    const details = expect.objectContaining({ reason: 'crowded', outcome: 'not_sent', retry_after_seconds: 5 });
    const readAll = () => Promise.all(ids.map(async (id) => (await read(id)).body));
    const countOf = (states: { status: string }[]) => states.filter(({ status }) => status === 'done').length;
    while (ends.length < 10 || countOf(await readAll()) < 2) await new Promise((resolve) => setTimeout(resolve, 10));
    const states = await readAll();
    expect([ends.length, states.filter(({ status }) => status === 'done')]).toEqual([
      10,
      Array(2).fill(expect.objectContaining({ outcome: { status: 503, body: { error: expect.objectContaining({ details }) } } })),
    ]);
    for (const end of ends) end();
    await Promise.all(runs);
    const again = await later(states.findIndex(({ status }) => status === 'done'));
    expect(again).toMatchObject({ status: 202, body: { status: 'working' } });
  });

  test('if the upstream answers too late, the outcome is unknown and it is called once', async () => {
    const relay = openLocalRelay({ maxDeadlineMs: 100 });
    delayMs = 300;
    const id = idOf(await ask('DE', { Prefer: 'respond-async' }));
    await parts.openWorker({ relay })(id);
    expect((await read(id)).body).toMatchObject({
      status: 'done',
      outcome: { status: 504, body: { error: { code: 'GATEWAY_TIMEOUT', details: { outcome: 'unknown' } } } },
    });
    await Promise.all([worker(id), relay.close()]);
    expect(refusalOf(await ask('DE'))).toMatchObject({ status: 504, details: { outcome: 'unknown' } });
    expect(upstream.seen).toHaveLength(1);
  });

  test('a call that was not sent leaves its key free, whatever the reason', async () => {
    const id = idOf(await ask('DE', { Prefer: 'respond-async' }));
    await parts.openWorker({ relay: { connect: () => Promise.reject(new CallFailed('refused_address')) } })(id);
    expect((await read(id)).body).toMatchObject({
      status: 'done',
      outcome: { status: 502, body: { error: { details: { reason: 'refused_address', outcome: 'not_sent' } } } },
    });
    expect(await ask('DE')).toMatchObject({ status: 200 });
    expect(upstream.seen).toHaveLength(1);
  });

  test('a repetition tells the outcome of a call on which the service did not act, and only the next one makes another', async () => {
    answer = { status: 429, body: '{}', headers: { 'Retry-After': '7' } };
    const later = () => ask('DE', { Prefer: 'respond-async' });
    const id = idOf(await later());
    await worker(id);
    const told = { status: 503, headers: { 'Retry-After': '7', 'Idempotent-Replayed': 'true' } };
    expect(await later()).toMatchObject(told);
    expect(upstream.seen).toHaveLength(1);
    const next = idOf(await later());
    await worker(next);
    expect([next === id, upstream.seen.length]).toEqual([false, 2]);
    expect(await later()).toMatchObject(told);
  });

  test('HEAD, which does not tell the outcome, leaves the key taken, and a poll frees it with one write', async () => {
    answer = { status: 429, body: '{}' };
    const later = () => ask('DE', { Prefer: 'respond-async' });
    const id = idOf(await later());
    await worker(id);
    const given = { path: { id }, headers: { Authorization: `Bearer ${pat}` } };
    expect(await invoke(parts.openGetExecution(), 'HEAD /api/executions/{id}', given)).toMatchObject({ status: 200 });
    const { operations } = gate.database;
    operations.length = 0;
    for (let poll = 0; poll < 3; poll++) expect((await read(id)).body).toMatchObject({ status: 'done', outcome: { status: 503 } });
    expect(operations.filter((operation) => operation === 'UpdateItem')).toHaveLength(1);
    expect(idOf(await later())).not.toBe(id);
  });

  test.each<[string, string, () => Promise<unknown>]>([
    ["The agent's PATs have been revoked", 'its PATs are revoked', () => revokeAgent(gate.database.table, agent.agentId)],
    ['The agent has been blocked', 'its agent is blocked', () => blockAgent(gate.database.table, agent.agentId)],
    [
      'The intent has changed',
      'its intent takes other parameters',
      () =>
        gate.intents.replace(
          uid(),
          intentOf(uid(), { endpoint: endpointAt(), input_parameters: [{ name: 'amount', type: 'integer', required: true }] }),
          () => true,
        ),
    ],
    ['The intent has been withdrawn', 'its intent is deleted', () => gate.intents.remove(uid(), () => true)],
    [
      'The intent has been withdrawn',
      'its intent becomes a draft',
      () => gate.intents.replace(uid(), intentOf(uid(), { endpoint: endpointAt(), draft: true }), () => true),
    ],
    [
      'The intent has been withdrawn',
      'its intent is deprecated',
      () => gate.intents.replace(uid(), intentOf(uid(), { endpoint: endpointAt(), deprecated: true }), () => true),
    ],
  ])('a call that has not begun becomes void (%s) if %s', async (change, _, happen) => {
    const id = idOf(await ask('DE', { Prefer: 'respond-async' }));
    await happen();
    await worker(id);
    if (change.includes('blocked')) await unblockAgent(gate.database.table, agent.agentId);
    const fresh = await obtainPat(gate, agent, template());
    const details = { reason: 'no_longer_holds', outcome: 'not_sent' };
    const error = { code: 'CONFLICT', details, message: expect.stringContaining(`${change} since this call was requested`) };
    expect((await read(id, fresh)).body).toMatchObject({ status: 'done', outcome: { status: 409, body: { error } } });
    expect(await ask('DE', { Prefer: 'respond-async' }, fresh)).toMatchObject({ status: 409, body: { error } });
    expect(upstream.seen).toEqual([]);
  });

  test('the header fields of each answer say what is left then, although other instances have counted', async () => {
    const policy = template({ rate: 2 });
    steps = gate.openExecute({ template: policy });
    worker = parts.openWorker({ policy });
    pat = await obtainPat(gate, agent, policy);
    answer = { status: 422, body: '{}' };
    const left = ({ headers }: Answer) => /r=(\d+)/.exec(String(headers.RateLimit))?.[1];
    const later = (at: number) => ask('DE', { Prefer: 'respond-async', 'Idempotency-Key': `${key}-${at}` });
    for (const at of [1, 2]) {
      const asked = await later(at);
      expect(left(asked)).toBe(String(3 - at));
      await worker(idOf(asked));
    }
    const replays = [await later(1), await later(1)];
    expect(replays.map((replay) => [replay.status, left(replay)])).toEqual(Array(2).fill([422, '0']));
    expect(new Set(replays.map(({ headers }) => headers['Execution-Id'])).size).toBe(2);
    expect(left(await later(3))).toBe('0');
  });

  test('a run that cannot read the policy leaves the call to the next one', async () => {
    const id = idOf(await ask('DE', { Prefer: 'respond-async' }));
    const failing = parts.openWorker({ findPolicy: () => Promise.reject(unavailable('no table')) });
    await expect(failing(id)).rejects.toThrow('no table');
    await worker(id);
    expect((await read(id)).body).toMatchObject({ status: 'done' });
  });

  test('its state is told to another agent of the same key, and not once the PATs of that have been revoked', async () => {
    const other = { ...agent, agentId: `${agent.agentId}-2` };
    const otherPat = await obtainPat(gate, other, template());
    const id = idOf(await ask('DE', { Prefer: 'respond-async' }));
    expect(await read(id, otherPat)).toMatchObject({ status: 200, body: { status: 'working' } });
    await revokeAgent(gate.database.table, agent.agentId);
    expect(await read(id, otherPat)).toMatchObject({ status: 200 });
    expect((await read(id)).status).toBe(401);
    await revokeAgent(gate.database.table, other.agentId);
    expect((await read(id, otherPat)).status).toBe(401);
  });

  test('reading its state starts the worker if it has not started', async () => {
    const id = idOf(await ask('DE', { Prefer: 'respond-async' }));
    gate.started.length = 0;
    expect((await read(id)).body).toMatchObject({ status: 'working' });
    expect(gate.started).toEqual([]);
    await read(id, pat, () => Date.now() + 6_000);
    expect(gate.started).toEqual([id]);
  });
});
