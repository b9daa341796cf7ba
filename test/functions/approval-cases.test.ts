import { beforeEach, expect, test } from '@jest/globals';
import { operator } from '../../functions/core/admin/admin.ts';
import { unavailable } from '../../functions/core/api-error.ts';
import type { Action } from '../../functions/core/http/serve.ts';
import type { IntentInput } from '../../schemas/intent.ts';
import { admin, approvalTemplate, openDeferredParts } from '../support/deferred.ts';
import { startExecuting } from '../support/executing.ts';
import { type Agent, execute, newAgent, obtainPat } from '../support/gate.ts';
import { type Answer, refusalOf } from '../support/invoke.ts';
import { intentOf, serviceNamed } from '../support/records.ts';

// What may happen between the request for a call and the call. The first cases are those of envoyproxy/ai-gateway#2073.

const payments = { ...serviceNamed('Payments'), namespace: 'pay.example' };
const { gate, upstream, serviceId, endpointAt } = await startExecuting(undefined, payments);
const parts = openDeferredParts(gate);
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
  execution = gate.openExecute({ template: approvalTemplate() });
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
const block = () => gate.agents.block(operator, { agentId: agent.agentId }, 'Enough');
const revoke = () => gate.agents.revoke(operator, { agentId: agent.agentId });
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
      await gate.agents.unblock(operator, { agentId: agent.agentId });
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
      await gate.agents.unblock(operator, { agentId: agent.agentId });
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

test('an approver sees the arguments that will be sent, including defaults', async () => {
  const input_parameters = [
    { name: 'code', type: 'string', required: true } as const,
    { name: 'amount', type: 'integer', default: 1_000_000 } as const,
  ];
  await change({ input_parameters });
  const asked = idOf(await ask({ code: 'FR' }, { headers: { 'Idempotency-Key': `default-${number}` } }));
  expect((await parts.shown(asked)).parameters).toEqual({ code: 'FR', amount: 1_000_000 });
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
  execution = gate.openExecute({ template: policy });
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
