import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { type CallItem, openIdempotentCalls } from '../../../functions/core/execution/idempotent-call-store.ts';
import type { Action } from '../../../functions/core/http/serve.ts';
import { CallFailed } from '../../../functions/core/relay/call-failure.ts';
import { unavailable } from '../../../functions/core/runtime/api-error.ts';
import { keys } from '../../../functions/core/table/keys.ts';
import type { IntentInput } from '../../../schemas/intent.ts';
import { answerFrom } from '../../support/actions.ts';
import { admin, openApprovalParts } from '../../support/approvals/approval-parts.ts';
import { approvalTemplate } from '../../support/deferred.ts';
import { startExecuting } from '../../support/executing.ts';
import { type Agent, execute, newAgent, obtainPat } from '../../support/gate.ts';
import { type Answer, refusalOf } from '../../support/invoke.ts';
import { intentOf, serviceNamed } from '../../support/records.ts';
import { blockAgent, revokeAgent, unblockAgent } from '../../support/stop-agent.ts';

// What may happen between the request for a call and the call. The first cases are those of envoyproxy/ai-gateway#2073.

const payments = { ...serviceNamed('Payments'), namespace: 'pay.example' };
const { gate, upstream, serviceId, endpointAt } = await startExecuting(undefined, payments);
const parts = openApprovalParts(gate);
let number = 0;
let agent: Agent;
let pat: string;
let execution: Action;
let id: string;
let digest: string;
/** the policy in force when an admin decides */
let decidedUnder: ReturnType<typeof approvalTemplate>;

const uid = () => `pay.example:refund-${number}:v1`;
const key = () => ({ 'Idempotency-Key': `key-${number}` });
const hourMs = 3_600_000;
const definition = (intentUid: string, more: Partial<IntentInput> = {}) =>
  intentOf(intentUid, {
    input_parameters: [
      { name: 'code', type: 'string', required: true },
      { name: 'amount', type: 'integer' },
    ],
    endpoint: endpointAt(`/${intentUid}`),
    ...more,
  });

beforeEach(async () => {
  number++;
  decidedUnder = approvalTemplate();
  execution = parts.openExecute({ template: approvalTemplate() });
  agent = await newAgent();
  pat = await obtainPat(gate, agent, approvalTemplate());
  await gate.intents.create(serviceId, definition(uid()));
  upstream.seen.length = 0;
  gate.started.length = 0;
  id = idOf(await ask());
  ({ digest } = await parts.shown(id));
});

const ask = (parameters: object = { code: 'FR', amount: 501 }, { token = pat, headers = key() as Record<string, string> } = {}) =>
  execute(execution, token, uid(), parameters, headers);
const idOf = ({ body }: Answer): string => String(body.execution).split('/').at(-1) ?? '';
const approve = (ifMatch = `"${digest}"`) => parts.decide(id, ifMatch, undefined, admin, { policy: decidedUnder });
const deny = () => parts.decide(id, `"${digest}"`, { decision: 'deny', reason: 'Too much' });
const work = (options: Parameters<typeof parts.openWorker>[0] = {}) => parts.openWorker(options)(id);
const read = async (options: Parameters<typeof parts.read>[2] = {}) => (await parts.read(id, pat, options)).body;
const block = () => blockAgent(gate.database.table, agent.agentId);
const revoke = () => revokeAgent(gate.database.table, agent.agentId);
const change = (more: Partial<IntentInput> = { description: 'Another' }) =>
  gate.intents.replace(uid(), definition(uid(), more), () => true);
const pause = (paused: boolean) => gate.services.replace(serviceId, { ...payments, paused }, () => true);
const calls = () => upstream.seen.map(({ url, body }) => [url.slice(1), JSON.parse(body)]);
const approvedCall = () => [uid(), { code: 'FR', amount: 501 }];

const done = { status: 'done', outcome: { status: 200, body: { name: 'France' } } };
const waiting = { status: 'waiting' };
const refused = (status: number, code: string, reason: string) => ({ status, code, details: { reason } });
const isRefused = async (answer: Answer | Promise<Answer>, ...expected: Parameters<typeof refused>) =>
  expect(refusalOf(await answer)).toMatchObject(refused(...expected));
const isVoid = { status: 'done', outcome: { status: 409, body: { error: { code: 'CONFLICT', details: { reason: 'no_longer_holds' } } } } };

interface Case {
  name: string;
  /** what happens while the call waits */
  play: () => Promise<unknown>;
  /** what the agent reads afterwards */
  state: object;
  /** what the upstream has received by then */
  seen?: () => unknown[];
}

const exactCall = (): unknown[] => [approvedCall()];

const cases: Case[] = [
  {
    name: 'envoy 1: the same caller, service, intent, arguments and policy, in time',
    play: async () => {
      expect(await approve()).toMatchObject({ status: 200, body: { id, decision: 'approve' } });
      await work();
    },
    state: done,
    seen: exactCall,
  },
  {
    name: 'envoy 2: other arguments under the same reference, after the approval',
    play: async () => {
      await approve();
      await isRefused(ask({ code: 'FR', amount: 5_010 }), 409, 'CONFLICT', 'other_request');
      await work();
    },
    state: done,
    seen: exactCall,
  },
  {
    name: 'envoy 3: another policy, after the approval',
    play: async () => {
      await approve();
      await work({ policy: approvalTemplate({ rate: 7 }) });
    },
    state: isVoid,
  },
  {
    name: 'it is approved, and the worker starts more than an hour later',
    play: async () => {
      await approve();
      await work({ now: () => Date.now() + 2 * hourMs });
      pat = await obtainPat(gate, agent, approvalTemplate());
    },
    state: { status: 'working' },
  },
  {
    name: 'envoy 4: nobody decides in time',
    play: async () => {
      const later = await parts.read(id, pat, { now: () => Date.now() + hourMs - 1_000 });
      expect(later.status === 401 || later.body.status === 'waiting').toBe(true);
      await work({ now: () => Date.now() + hourMs });
    },
    state: waiting,
  },
  {
    name: 'it is denied, and then approved',
    play: async () => {
      expect(await deny()).toMatchObject({ status: 200, body: { decision: 'deny' } });
      await isRefused(approve(), 409, 'CONFLICT', 'decided');
      await work();
      expect(refusalOf(await ask())).toEqual({
        status: 403,
        code: 'FORBIDDEN',
        message: 'An admin denied this call: Too much',
        details: { reason: 'denied', outcome: 'not_sent' },
      });
    },
    state: { status: 'denied', reason: 'Too much' },
  },
  {
    name: 'the approval has the digest of another waiting call of the same agent with the same arguments',
    play: async () => {
      const another = idOf(await ask(undefined, { headers: { 'Idempotency-Key': `another-${number}` } }));
      await isRefused(approve(`"${(await parts.shown(another)).digest}"`), 409, 'CONFLICT', 'other_digest');
      await work();
    },
    state: waiting,
  },
  {
    name: 'If-Match contains more than the digest',
    play: async () => {
      for (const ifMatch of ['*', 'W/"*"', ' * ', '"a", *']) expect((await approve(ifMatch)).status).toBeGreaterThanOrEqual(400);
      await isRefused(approve(`"sha-256=other", "${digest}"`), 409, 'CONFLICT', 'other_digest');
      await work();
    },
    state: waiting,
  },
  {
    name: 'another agent uses the same idempotency key and arguments: its call waits separately, and it cannot read this one',
    play: async () => {
      const otherPat = await obtainPat(gate, await newAgent(), approvalTemplate());
      const theirs = await ask(undefined, { token: otherPat });
      expect(theirs).toMatchObject({ status: 202, body: waiting });
      expect(idOf(theirs)).not.toBe(id);
      expect(refusalOf(await parts.read(id, otherPat))).toMatchObject({ status: 404, code: 'NOT_FOUND' });
      await approve();
      await work();
      await parts.openWorker()(idOf(theirs));
      expect((await parts.read(idOf(theirs), otherPat)).body).toMatchObject(waiting);
    },
    state: done,
    seen: exactCall,
  },
  {
    name: 'the agent is blocked and unblocked after the approval, before the worker starts',
    play: async () => {
      await approve();
      await block();
      await unblockAgent(gate.database.table, agent.agentId);
      await work();
    },
    state: isVoid,
  },
  {
    name: 'the agent repeats its request after the intent has changed',
    play: async () => {
      await change();
      await isRefused(ask(), 403, 'FORBIDDEN', 'expired');
    },
    state: { status: 'expired', reason: expect.stringContaining('The intent has changed') },
  },
  {
    name: 'the intent is changed back after the agent has read that the call is void',
    play: async () => {
      await change();
      expect(await read()).toMatchObject({ status: 'expired', reason: expect.stringContaining('The intent has changed') });
      await change({});
      await isRefused(approve(), 409, 'CONFLICT', 'no_longer_holds');
      await work();
    },
    state: { status: 'expired', reason: expect.stringContaining('The intent has changed') },
  },
  {
    name: 'an admin denies it without a reason',
    play: async () => {
      expect(await parts.decide(id, `"${digest}"`, { decision: 'deny' })).toMatchObject({ status: 200 });
    },
    state: { status: 'denied', reason: 'no reason was given' },
  },
  {
    name: 'the table is unreachable for a while after the call was sent',
    play: async () => {
      await approve();
      const { table } = gate.database;
      let failures = 3;
      const isSent = () => upstream.seen.length > 0 && failures-- > 0;
      const over = {
        ...table,
        pause: async () => {},
        update: (...given: Parameters<typeof table.update>) =>
          isSent() ? Promise.reject(unavailable('The table is away.')) : table.update(...given),
      } as typeof table;
      await work({ over });
      expect(failures).toBeLessThan(0);
    },
    state: done,
    seen: exactCall,
  },
  {
    name: 'the service is paused before the decision',
    play: async () => {
      await pause(true);
      await isRefused(approve(), 503, 'SERVICE_UNAVAILABLE', 'paused');
      await pause(false);
    },
    state: waiting,
  },
  {
    name: 'the service is paused after the approval',
    play: async () => {
      await approve();
      await pause(true);
      await work();
      await pause(false);
    },
    state: { status: 'done', outcome: { status: 503, body: { error: { details: { reason: 'paused', outcome: 'not_sent' } } } } },
  },
];

test.each(cases)('a call that waits for approval: $name', async ({ play, state, seen = () => [] }) => {
  await play();
  expect(await read()).toMatchObject(state);
  expect(calls()).toEqual(seen());
});

test.each<[string, string, () => Promise<unknown>]>([
  ['the intent changes', 'The intent has changed since this call was requested', () => change()],
  [
    'the agent is blocked, even if it is unblocked before the decision',
    'The agent has been blocked',
    async () => {
      await block();
      await unblockAgent(gate.database.table, agent.agentId);
    },
  ],
  ['its PATs are revoked', "The agent's PATs have been revoked", revoke],
  ['the intent is removed', 'The intent has been withdrawn', () => gate.intents.remove(uid(), () => true)],
  ['the policy changes', 'The policy has changed', async () => (decidedUnder = approvalTemplate({ rate: 7 }))],
])('a waiting call becomes void if %s', async (_, message, happen) => {
  await happen();
  expect(refusalOf(await approve())).toMatchObject({
    status: 409,
    code: 'CONFLICT',
    message: expect.stringContaining(message),
    details: { reason: 'no_longer_holds' },
  });
  await work();
  expect(calls()).toEqual([]);
});

test('once 20 calls wait, each that has become void gives its place to a new one, and the others keep theirs', async () => {
  const later = (at: number | string, token = pat) => ask(undefined, { token, headers: { 'Idempotency-Key': `key-${number}-${at}` } });
  for (let at = 1; at < 20; at++) expect((await later(at)).status).toBe(202);
  await isRefused(later('more'), 429, 'TOO_MANY_REQUESTS', 'waiting_calls');
  const template = approvalTemplate({ rate: 7 });
  execution = parts.openExecute({ template });
  // the two PATs are told apart by the second of their issue
  await new Promise((resolve) => setTimeout(resolve, 1_001));
  const next = await obtainPat(gate, agent, template);
  for (let at = 20; at < 40; at++) expect((await later(at, next)).status).toBe(202);
  await isRefused(later('more', next), 429, 'TOO_MANY_REQUESTS', 'waiting_calls');
  // the former policy again: its calls stay void, and the later ones wait
  execution = parts.openExecute({ template: approvalTemplate() });
  await isRefused(later('more'), 429, 'TOO_MANY_REQUESTS', 'waiting_calls');
  expect(await read()).toMatchObject({ status: 'expired', reason: expect.stringContaining('The policy has changed') });
});

test('if the worker dies during a call, its outcome is unknown and it is not repeated', async () => {
  await approve();
  const { table } = gate.database;
  const dies = (...given: Parameters<typeof table.update>) =>
    upstream.seen.length > 0 ? Promise.reject(new Error('killed')) : table.update(...given);
  await expect(work({ over: { ...table, update: dies } as typeof table })).rejects.toThrow('killed');
  await work();
  expect((await read({ now: () => Date.now() + 12 * 60_000 })).status).toBe('unknown');
  expect(calls()).toEqual([approvedCall()]);
});

const code = { name: 'code', type: 'string', required: true } as const;
const inputs = (...more: IntentInput['input_parameters']): IntentInput['input_parameters'] => [code, ...more];
const to = { name: 'to', type: 'string', default: 'everybody' } as const;
const amount = { name: 'amount', type: 'integer', default: 1_000_000 } as const;
const note = { name: 'note', type: 'object' } as const;

test.each<[string, IntentInput['input_parameters'], object, object]>([
  ['a default that is left out', inputs(amount), {}, { amount: 1_000_000 }],
  ['null for arguments that have defaults', inputs(to, amount), { to: null, amount: null }, { to: 'everybody', amount: 1_000_000 }],
  ['null for one of two defaults', inputs(to, amount), { to: 'ann', amount: null }, { to: 'ann', amount: 1_000_000 }],
  ['null for an argument that may be left out', inputs({ name: 'to', type: 'string' }), { to: null }, {}],
  [
    'null that the schema allows',
    inputs({ name: 'to', type: 'string', required: true, schema: { type: ['string', 'null'] } }),
    { to: null },
    { to: null },
  ],
  ['null within an object', inputs(note), { note: { to: null, all: [null] } }, { note: { to: null, all: [null] } }],
  ['an integer in another spelling', inputs(amount), JSON.parse('{"amount": 1e3}'), { amount: 1_000 }],
  ['values that look empty', inputs(to, amount), { to: '', amount: 0 }, { to: '', amount: 0 }],
  ['a name that objects have', inputs({ name: 'constructor', type: 'string' }), { constructor: null }, {}],
  ['240 KB', inputs({ name: 'to', type: 'string' }), { to: 'x'.repeat(240_000) }, { to: 'x'.repeat(240_000) }],
])('an approver sees what is sent: %s', async (_, input_parameters, given, sent) => {
  await change({ input_parameters });
  id = idOf(await ask({ code: 'FR', ...given }, { headers: { 'Idempotency-Key': `sent-${number}` } }));
  const { parameters, digest: shownDigest } = await parts.shown(id);
  expect(parameters).toEqual({ code: 'FR', ...sent });
  await approve(`"${shownDigest}"`);
  await work();
  expect(calls()).toEqual([[uid(), parameters]]);
});

describe("the service's header fields", () => {
  const setHeaders = (headers?: Record<string, string>) =>
    gate.services.replace(serviceId, { ...payments, ...(headers && { headers }) }, () => true);
  const root = { 'X-Act-As': 'root' };
  const headersChanged = /^The header fields of the intent's service have changed since this call was requested, so it is not made\./;
  afterEach(() => setHeaders());

  test.each<[string, Record<string, string> | undefined, Record<string, string> | undefined]>([
    ['added', undefined, root],
    ['removed', root, undefined],
    ['changed', root, { 'X-Act-As': 'ann' }],
    ['renamed', root, { 'X-Act-As-': 'root' }],
  ])("the service's header fields are part of what is approved: they are %s", async (_, before, after) => {
    await setHeaders(before);
    id = idOf(await ask(undefined, { headers: { 'Idempotency-Key': `headers-${number}` } }));
    const shown = await parts.shown(id);
    expect(shown.headers).toEqual(before);
    const late = idOf(await ask(undefined, { headers: { 'Idempotency-Key': `late-${number}` } }));
    await parts.decide(late, `"${(await parts.shown(late)).digest}"`);
    await setHeaders(after);
    const refusal = refusalOf(await approve(`"${shown.digest}"`));
    expect(refusal).toMatchObject({ status: 409, message: expect.stringMatching(headersChanged), details: { reason: 'no_longer_holds' } });
    expect(await read()).toMatchObject({ status: 'expired', reason: expect.stringMatching(headersChanged) });
    await parts.openWorker()(late);
    expect((await parts.read(late, pat)).body).toMatchObject(isVoid);
    expect(calls()).toEqual([]);
  });

  test("the service's header fields are sent as they were shown, in any order", async () => {
    await setHeaders({ 'X-One': '1', 'X-Two': '2' });
    id = idOf(await ask(undefined, { headers: { 'Idempotency-Key': `order-${number}` } }));
    await setHeaders({ 'X-Two': '2', 'X-One': '1' });
    await approve(`"${(await parts.shown(id)).digest}"`);
    await work();
    expect(upstream.seen.map(({ headers }) => [headers['x-one'], headers['x-two']])).toEqual([['1', '2']]);
  });
});

describe('approvals of unsent calls', () => {
  const away = () => Promise.reject(unavailable('The table is away.'));
  const failing = (fails: (operation: string, key: string) => boolean) => {
    const { table } = gate.database;
    const names = ['getAll', 'update', 'put'] as const;
    const textOf = (given: unknown) => JSON.stringify(given);
    return Object.assign(
      { ...table, pause: async () => {} },
      ...names.map((name) => ({
        // biome-ignore lint/suspicious/noExplicitAny: any operation
        [name]: (...given: any[]) => (fails(name, textOf(given[0])) ? away() : (table[name] as any)(...given)),
      })),
    ) as typeof table;
  };
  const notSent = { status: 'done', outcome: { status: 503, body: { error: { details: { outcome: 'not_sent' } } } } };

  const failures: [string, () => Parameters<typeof work>[0]][] = [
    ['the table fails when the call is resolved', () => ({ over: failing((name) => name === 'getAll') })],
    ['the table fails when the call is counted', () => ({ over: failing((_, key) => key.includes('LIMIT#')) })],
    ['the credential cannot be read', () => ({ relay: { connect: () => Promise.reject(unavailable('The vault is away.')) } })],
    ['the service cannot be reached', () => ({ relay: { connect: () => Promise.reject(new CallFailed('unreachable')) } })],
  ];

  test.each(failures)('an approval of an unsent call is kept, and the state says so, if %s', async (_, options) => {
    await approve();
    await work(options());
    expect(await read()).toMatchObject(notSent);
    gate.started.length = 0;
    const again = await ask();
    expect([idOf(again), again.body.status, gate.started]).toEqual([id, 'working', [id]]);
    await work();
    expect(await read()).toMatchObject(done);
    expect(await ask()).toMatchObject({ status: 200 });
    expect(calls()).toEqual([approvedCall()]);
  });

  test('an approval of an unsent call is kept if its service has no valid certificate', async () => {
    await approve();
    await work({ relay: { connect: () => Promise.reject(new CallFailed('tls_failed')) } });
    // a repetition tells the outcome first
    expect(await ask()).toMatchObject({ status: 502, headers: { 'Idempotent-Replayed': 'true' } });
    expect(await read()).toMatchObject({ outcome: { status: 502, body: { error: { details: { outcome: 'not_sent' } } } } });
    expect(await ask()).toMatchObject({ status: 202, body: { status: 'working' } });
  });

  test.each<[string, () => Promise<unknown>]>([
    ['the intent has changed', () => change()],
    ['the agent has been blocked and unblocked', () => block().then(() => unblockAgent(gate.database.table, agent.agentId))],
  ])('an approval of an unsent call is worth nothing once %s', async (_, happen) => {
    await approve();
    await work({ over: failing((name) => name === 'getAll') });
    await happen();
    expect(await ask()).toMatchObject({ status: 503, body: { error: { details: { outcome: 'not_sent' } } } });
    expect(await ask()).toMatchObject({ status: 202, body: { status: 'working' } });
    await work();
    expect(await read()).toMatchObject(isVoid);
    expect(calls()).toEqual([]);
  });

  test.each<[string, object | undefined, number]>([
    ['has expired', undefined, 2 * hourMs],
    ['was for other arguments', { code: 'FR', amount: 502 }, 0],
  ])('an approval of an unsent call is not used by a request if it %s', async (_, parameters, afterMs) => {
    await approve();
    await work({ over: failing((name) => name === 'getAll') });
    const { account } = await find();
    await gate.database.table.update({ pk: `CALL#${account}`, sk: `key-${number}` }, { set: { until: Date.now() + hourMs - afterMs } });
    expect(await read()).toMatchObject(notSent);
    const again = await ask(parameters);
    expect(again).toMatchObject({ status: 202, body: waiting });
    expect(idOf(again)).not.toBe(id);
  });

  test('a background call that was not sent, and needs an approval by then, leaves no approval', async () => {
    const rightOperand = new Date(Date.now() + 60_000).toISOString();
    const constraint = [{ leftOperand: '{base_url}/vocabulary/dateTime', operator: 'gte', rightOperand }];
    const duty = [{ action: '{base_url}/vocabulary/approve' }];
    const policy = approvalTemplate({ more: [{ target: '{base_url}/api/intents', action: 'execute', constraint, duty }] });
    const token = await obtainPat(gate, agent, policy);
    const request = { token, headers: { 'Idempotency-Key': `async-${number}`, Prefer: 'respond-async' } };
    execution = parts.openExecute({ template: policy });
    const asked = idOf(await ask({ code: 'DE' }, request));
    await parts.openWorker({ policy, relay: { connect: () => Promise.reject(new CallFailed('unreachable')) } })(asked);
    await gate.database.table.update(
      { pk: `CALL#${(await find()).account}`, sk: `async-${number}` },
      { set: { until: Date.now() + hourMs } },
    );
    execution = parts.openExecute({ template: policy, now: () => Date.now() + 120_000 });
    expect(await ask({ code: 'DE' }, request)).toMatchObject({ status: 503 });
    const again = await ask({ code: 'DE' }, request);
    expect(again).toMatchObject({ status: 202, body: waiting });
    expect(idOf(again)).not.toBe(asked);
  });

  test.each([
    { what: 'makes an approved call again', isChanged: false, sent: 1 },
    { what: 'revives a void call', isChanged: true, sent: 0 },
  ])('a key that is freed once more after its call has been resumed never $what', async ({ isChanged, sent }) => {
    await approve();
    await work({ relay: { connect: () => Promise.reject(new CallFailed('unreachable')) } });
    const { account } = await find();
    const calls = openIdempotentCalls(gate.database.table);
    const { repeatable: run = '' } = (await gate.database.table.get<CallItem>(keys.call(account, `key-${number}`))) ?? {};
    const free = () => calls.free({ account, key: `key-${number}`, nowMs: Date.now() }, id, run);
    expect(await free()).toBe(true);
    expect(await ask()).toMatchObject({ status: 202, body: { status: 'working' } });
    if (isChanged) await change();
    await work();
    const ended = await ask();
    expect(ended.status).toBe(isChanged ? 409 : 200);
    expect(await free()).toBe(false);
    await gate.intents.replace(uid(), definition(uid()), () => true);
    expect(await ask()).toMatchObject({ status: ended.status });
    await work();
    expect(upstream.seen).toHaveLength(sent);
  });

  test('an approval is used up by a call that was sent, although its key may be used again', async () => {
    await approve();
    const busy = { ...answerFrom('https://up.example/'), status: 429 };
    await work({ relay: { connect: async () => ({ send: async () => busy, drop: () => {} }) } });
    expect(await ask()).toMatchObject({ status: 503, body: { error: { details: { upstream_status: 429 } } } });
    const again = await ask();
    expect([again.status, again.body.status, idOf(again) === id]).toEqual([202, 'waiting', false]);
  });

  test('an approval is used up by a call that may have been sent', async () => {
    await approve();
    await work({ relay: { connect: async () => ({ send: () => Promise.reject(new CallFailed('deadline')), drop: () => {} }) } });
    expect(await ask()).toMatchObject({ status: 504, body: { error: { details: { outcome: 'unknown' } } } });
  });
});

test('a repeated request starts an approved call that has not been started', async () => {
  await approve();
  gate.started.length = 0;
  expect(await ask()).toMatchObject({ status: 202, body: { status: 'working' } });
  expect(gate.started).toEqual([]);
  execution = parts.openExecute({ template: approvalTemplate(), now: () => Date.now() + 6_000 });
  expect(await ask()).toMatchObject({ status: 202, body: { status: 'working' } });
  expect(gate.started).toEqual([id]);
});

test('an approval in the last second is still carried out', async () => {
  await gate.database.table.update(
    // as if the call had waited for almost an hour
    { pk: `CALL#${(await find()).account}`, sk: `key-${number}` },
    { set: { until: Date.now() + 2_000 } },
  );
  await approve();
  await work({ now: () => Date.now() + 10_000 });
  expect(await read({ now: () => Date.now() + 10_000 })).toMatchObject(done);
});

test('approvals are listed by agent, and counted on all pages', async () => {
  const other = await newAgent();
  const another = idOf(await ask(undefined, { token: await obtainPat(gate, other, approvalTemplate()) }));
  const listed = async (query: Record<string, string>) => {
    const { approvals } = (await parts.list(admin, query)).body;
    return approvals.map((approval: { id: string }) => approval.id);
  };
  expect(await listed({ agent_id: agent.agentId })).toEqual([id]);
  expect(await listed({ agent_id: other.agentId })).toEqual([another]);
  expect(await listed({ agent_id: 'nobody' })).toEqual([]);
  await ask(undefined, { headers: { 'Idempotency-Key': `second-${number}` } });
  const { body } = await parts.list(admin, { agent_id: agent.agentId, page_size: '1', after: id.slice(0, -1) });
  expect([body.approvals.map((approval: { id: string }) => approval.id), body.waiting]).toEqual([[id], 2]);
});

const find = async () => {
  const item = await gate.database.table.get<{ account: string }>({ pk: `EXECUTION#${id}`, sk: 'EXECUTION' });
  if (!item) throw new Error('it is not there');
  return item;
};

test('an approval succeeds even if its queue slots cannot be freed', async () => {
  const { table } = gate.database;
  const over = { ...table, delete: () => Promise.reject(new Error('unreachable')) };
  expect(await parts.decide(id, `"${digest}"`, undefined, admin, { over })).toMatchObject({ status: 200 });
  expect(gate.started).toEqual([id]);
});

test('a call that needed no approval when it was requested is not made once it needs one', async () => {
  const rightOperand = new Date(Date.now() + 60_000).toISOString();
  const constraint = [{ leftOperand: '{base_url}/vocabulary/dateTime', operator: 'gte', rightOperand }];
  const duty = [{ action: '{base_url}/vocabulary/approve' }];
  const policy = approvalTemplate({ more: [{ target: '{base_url}/api/intents', action: 'execute', constraint, duty }] });
  execution = parts.openExecute({ template: policy });
  const headers = { 'Idempotency-Key': `async-${number}`, Prefer: 'respond-async' };
  const asked = await ask({ code: 'DE' }, { token: await obtainPat(gate, agent, policy), headers });
  expect(asked).toMatchObject({ status: 202, body: { status: 'working' } });
  await parts.openWorker({ policy, now: () => Date.now() + 120_000 })(idOf(asked));
  expect(calls()).toEqual([]);
});

test('unknown execution ids are not found', async () => {
  for (const strange of ['x'.repeat(3_000), '', '..', '%00', 'a/b', "' OR 1"])
    expect([strange, (await parts.read(encodeURIComponent(strange), pat)).status]).toEqual([strange, 404]);
});

describe('a call whose key its transport derives, because it repeats the call to get the outcome', () => {
  const fr = { code: 'FR', amount: 7 };
  const derive =
    (steps: Action): Action =>
    (request) =>
      steps({ ...request, keyIfDeferred: { key: `derived-${number}`, isFreedByAnswer: true } });
  const call = (steps: Action, token = pat) => execute(derive(steps), token, uid(), fr);
  const sent = () => upstream.seen.length;
  const minutes = (count: number) => ({ now: () => Date.now() + count * 60_000 });

  /** Asks for the call, has it approved and made. */
  async function approveAndMake(steps: Action, policy = approvalTemplate(), token = pat) {
    const made = idOf(await call(steps, token));
    decidedUnder = policy;
    const shown = await parts.shown(made);
    expect(await parts.decide(made, `"${shown.digest}"`, undefined, admin, { policy })).toMatchObject({ status: 200 });
    await parts.openWorker({ policy })(made);
    expect(sent()).toBe(1);
    return made;
  }

  /** The template, whose rule that demands approval holds for a minute; `more` are further members. */
  function untilSoon(more: object = {}) {
    const policy = approvalTemplate();
    const until = { operator: 'lt', rightOperand: new Date(Date.now() + 60_000).toISOString() };
    policy.permission?.at(-1)?.constraint?.push({ leftOperand: '{base_url}/vocabulary/dateTime', ...until } as never);
    return { ...policy, ...more };
  }

  test('an equal call waits anew once the outcome has been given, which stays readable by its id', async () => {
    const made = await approveAndMake(execution);
    expect(await call(execution)).toMatchObject({ status: 200, headers: { 'Idempotent-Replayed': 'true' } });
    expect((await parts.read(made, pat)).body).toMatchObject(done);
    const again = await call(execution);
    expect([again.status, idOf(again) === made, sent()]).toEqual([202, false, 1]);
  });

  test('an equal call waits anew once a denial or an expiry has been told', async () => {
    const denied = idOf(await call(execution));
    await parts.decide(denied, `"${(await parts.shown(denied)).digest}"`, { decision: 'deny', reason: 'Too much' });
    await isRefused(call(execution), 403, 'FORBIDDEN', 'denied');
    const expiring = idOf(await call(execution));
    // as if nobody had decided in time
    const { account } = await find();
    await gate.database.table.update({ pk: `CALL#${account}`, sk: `derived-${number}` }, { set: { until: Date.now() - 1 } });
    await isRefused(call(execution), 403, 'FORBIDDEN', 'expired');
    const anew = await call(execution);
    expect([anew.status, [denied, expiring].includes(idOf(anew))]).toEqual([202, false]);
    expect(sent()).toBe(0);
  });

  test('an approved call is not made a second time because it needs no approval any more', async () => {
    const policy = untilSoon();
    const token = await obtainPat(gate, agent, policy);
    await approveAndMake(parts.openExecute({ template: policy }), policy, token);
    const later = parts.openExecute({ template: policy, ...minutes(2) });
    expect(await call(later, token)).toMatchObject({ status: 200, headers: { 'Idempotent-Replayed': 'true' } });
    expect(sent()).toBe(1);
    expect((await call(later, token)).headers).not.toHaveProperty('Idempotent-Replayed');
    expect(sent()).toBe(2);
  });

  test('the outcome of a call is given although the policy no longer permits the call', async () => {
    const since = [
      { leftOperand: '{base_url}/vocabulary/dateTime', operator: 'gt', rightOperand: new Date(Date.now() + 60_000).toISOString() },
    ];
    const policy = untilSoon({ prohibition: [{ target: '{base_url}/api/intents', action: 'execute', constraint: since }] });
    const token = await obtainPat(gate, agent, policy);
    await approveAndMake(parts.openExecute({ template: policy }), policy, token);
    const later = parts.openExecute({ template: policy, ...minutes(2) });
    expect(await call(later, token)).toMatchObject({ status: 200, headers: { 'Idempotent-Replayed': 'true' } });
    await isRefused(call(later, token), 403, 'FORBIDDEN', 'condition');
    expect(sent()).toBe(1);
  });
});
