import { randomBytes } from 'node:crypto';
import { beforeEach, describe, expect, jest, test } from '@jest/globals';
import { openChoice } from '../../../functions/approvals/still-holds.ts';
import { openDeferredCalls } from '../../../functions/core/execution/deferred-call-store.ts';
import type { Action } from '../../../functions/core/http/serve.ts';
import { unavailable } from '../../../functions/core/runtime/api-error.ts';
import { approval } from '../../../schemas/approvals/approvals.ts';
import { executionState, pendingExecution } from '../../../schemas/deferred.ts';
import { admin, openApprovalParts } from '../../support/approvals/approval-parts.ts';
import { approvalTemplate as template } from '../../support/deferred.ts';
import { startExecuting } from '../../support/executing.ts';
import { type Agent, baseUrl, execute, newAgent, obtainPat } from '../../support/gate.ts';
import { type Answer, nextQuery, refusalOf } from '../../support/invoke.ts';
import { openPolicy } from '../../support/policy.ts';
import { intentOf } from '../../support/records.ts';
import { refusals } from '../../support/registry.ts';
import { revokeAgent } from '../../support/stop-agent.ts';

let steps: Action;
let worker: (executionId: string) => Promise<void>;
let agent: Agent;
let pat: string;
let answer: { status: number; body: string; headers?: Record<string, string> };
let number = 0;
let key: string;

const uid = () => `pay.example:refund-${number}:v1`;

const { gate, upstream, serviceId, endpointAt } = await startExecuting(
  (_, response) => response.writeHead(answer.status, { 'Content-Type': 'application/json', ...answer.headers }).end(answer.body),
  { namespace: 'pay.example' },
);
const parts = openApprovalParts(gate);

beforeEach(async () => {
  jest.restoreAllMocks();
  number++;
  key = `key-${number}`;
  steps = parts.openExecute({ template: template() });
  worker = parts.openWorker({ policy: template() });
  agent = await newAgent();
  pat = await obtainPat(gate, agent, template());
  answer = { status: 200, body: '{"name":"France"}' };
  upstream.seen.length = 0;
  gate.started.length = 0;
  parts.announced.length = 0;
  await gate.intents.create(serviceId, intentOf(uid(), { endpoint: endpointAt() }));
});

const ask = (code = 'FR', headers: Record<string, string> = {}, token = pat) =>
  execute(steps, token, uid(), { code }, { 'Idempotency-Key': key, ...headers });
const idOf = ({ body }: Answer): string => String(body.execution).split('/').at(-1) ?? '';
const read = (id: string, token = pat, now = Date.now) => parts.read(id, token, { now });
const decide = (id: string, digest: string | undefined, body?: object, by = admin) =>
  parts.decide(id, digest === undefined ? undefined : `"${digest}"`, body, by);
/** The waiting approval of this test's agent. */
async function shown() {
  for (let query: Record<string, string> | undefined = {}; query; ) {
    const page: Answer = await parts.list(admin, query);
    const found = page.body.approvals.find((one: { agent_id: string }) => one.agent_id === agent.agentId);
    if (found) return approval.parse(found);
    query = nextQuery(page);
  }
  throw new Error('the call is not waiting');
}
async function approve(id: string) {
  const { digest } = await shown();
  expect(await decide(id, digest)).toMatchObject({ status: 200, body: { id, decision: 'approve', decided_by: 'ann' } });
}

describe('a call that a person has to approve', () => {
  test('a call that a person has to approve waits, is shown with its arguments, is made once, and returns its outcome', async () => {
    const asked = await ask();
    expect(asked).toMatchObject({ status: 202, body: { status: 'waiting', execution: `${baseUrl}/api/executions/${idOf(asked)}` } });
    expect(pendingExecution.safeParse(asked.body).error).toBeUndefined();
    expect(asked.headers).toMatchObject({ Location: asked.body.execution, 'Execution-Id': idOf(asked), 'Retry-After': '2' });
    const id = idOf(asked);
    expect([gate.started, parts.announced]).toEqual([[], [id]]);
    expect(await shown()).toMatchObject({
      id,
      agent_id: agent.agentId,
      intent_uid: uid(),
      parameters: { code: 'FR' },
      rules: [expect.stringMatching(/^You may execute .* if parameter code is "FR", once a person has approved the call\.$/)],
      prices: [],
    });
    expect((await read(id)).body).toEqual(asked.body);
    expect(await ask()).toMatchObject({ status: 202, body: asked.body });
    await worker(id);
    expect(upstream.seen).toEqual([]);

    await approve(id);
    expect(gate.started).toEqual([id]);
    expect((await read(id)).body).toMatchObject({ status: 'working' });
    await Promise.all([worker(id), worker(id), worker(id)]);
    await worker(id);
    expect(upstream.seen).toHaveLength(1);
    const { body } = await read(id);
    expect(body).toEqual({ status: 'done', execution: asked.body.execution, outcome: { status: 200, body: { name: 'France' } } });
    expect(executionState.safeParse(body).error).toBeUndefined();
    expect(await ask()).toMatchObject({ status: 200, body: { name: 'France' }, headers: { 'Idempotent-Replayed': 'true' } });
    expect(upstream.seen).toHaveLength(1);
  });

  test('a call that a person has to approve keeps the head of its answer, and when to try again after a refusal', async () => {
    answer = { status: 201, body: '{"name":"France"}', headers: { Location: '/refunds/7', Link: '</refunds?page=2>; rel="next"' } };
    const id = idOf(await ask());
    await approve(id);
    await worker(id);
    const head = { 'Upstream-Status': '201', 'Upstream-Location': '/refunds/7', 'Upstream-Link': '</refunds?page=2>; rel="next"' };
    for (const { status, headers } of [await read(id), await ask()])
      expect([status, headers]).toEqual([200, expect.objectContaining(head)]);

    key = `${key}-refused`;
    answer = { status: 403, body: '{"message":"archived"}', headers: { 'Retry-After': '120' } };
    const refused = idOf(await ask());
    await approve(refused);
    await worker(refused);
    const details = { upstream_status: 403, upstream_body: { message: 'archived' }, retry_after_seconds: 120 };
    const outcome = { status: 502, body: { error: { details } } };
    expect(await read(refused)).toMatchObject({ body: { status: 'done', outcome } });
    expect(await ask()).toMatchObject({ ...outcome, headers: { 'Retry-After': '120' } });
  });

  test('a call that a person has to approve may have the largest arguments of a request together with the largest stored answer', async () => {
    const noise = randomBytes(190_000).toString('base64');
    const input_parameters = ['code', 'noise'].map((name) => ({ name, type: 'string' as const, required: true }));
    const endpoint = endpointAt();
    await gate.intents.replace(uid(), intentOf(uid(), { endpoint, input_parameters }), () => true);
    answer = { status: 200, body: JSON.stringify({ name: randomBytes(150_000).toString('base64') }) };
    const id = idOf(await execute(steps, pat, uid(), { code: 'FR', noise }, { 'Idempotency-Key': key }));
    expect((await shown()).parameters).toEqual({ code: 'FR', noise });
    await approve(id);
    await worker(id);
    expect((await read(id)).body).toMatchObject({ status: 'done', outcome: { status: 200 } });
    answer = { status: 200, body: JSON.stringify({ name: randomBytes(290_000).toString('base64') }) };
    const other = idOf(await execute(steps, pat, uid(), { code: 'DE', noise }, { 'Idempotency-Key': `${key}-2`, Prefer: 'respond-async' }));
    await worker(other);
    expect((await read(other)).body).toMatchObject({
      status: 'done',
      outcome: { status: 409, body: { error: { details: { reason: 'not_stored', outcome: 'executed' } } } },
    });
  });

  test('a call that a person has to approve needs an idempotency key', async () => {
    expect(refusalOf(await execute(steps, pat, uid(), { code: 'FR' }))).toEqual({
      ...refusals.invalid(['', 'the header Idempotency-Key is required']),
      message: expect.stringMatching(/^This call is not made immediately: .* Send it with an Idempotency-Key, /),
    });
  });

  test('a call that a person has to approve is counted when it is made, not while it waits', async () => {
    const id = idOf(await ask());
    expect((await ask('DE', { 'Idempotency-Key': `${key}-2` })).headers.RateLimit).toMatch(/r=59/);
    await approve(id);
    await worker(id);
    expect((await ask('DE', { 'Idempotency-Key': `${key}-3` })).headers.RateLimit).toMatch(/r=57/);
  });

  test('a call refused for a limit that is used up keeps its approval, and is queued again by a request under its key', async () => {
    steps = parts.openExecute({ template: template({ rate: 1 }) });
    pat = await obtainPat(gate, agent, template({ rate: 1 }));
    worker = parts.openWorker({ policy: template({ rate: 1 }) });
    const id = idOf(await ask());
    expect(await ask('DE', { 'Idempotency-Key': `${key}-2` })).toMatchObject({ status: 200 });
    const { digest } = await parts.shown(id);
    const policy = template({ rate: 1 });
    expect(await parts.decide(id, `"${digest}"`, undefined, admin, { policy })).toMatchObject({ status: 200 });
    upstream.seen.length = 0;
    await worker(id);
    expect(upstream.seen).toEqual([]);
    expect((await read(id)).status).toBe(403); // a PAT of this policy, asked of the gate with the other one
    steps = parts.openExecute({ template: template() });
    pat = await obtainPat(gate, agent, template());
    expect((await read(id)).body).toMatchObject({
      status: 'done',
      outcome: { status: 429, body: { error: { code: 'TOO_MANY_REQUESTS' } } },
    });
    const again = await ask();
    expect(again).toMatchObject({ status: 202, body: { status: 'working' } });
    expect([idOf(again), gate.started.at(-1)]).toEqual([id, id]);
  });
});

test('a decision needs a digest and a waiting call', async () => {
  const id = idOf(await ask());
  const { digest } = await shown();
  const unquoted = refusals.invalid(['', 'the header If-Match must be the digest of the approval, in quotation marks']);
  expect(refusalOf(await decide(id, undefined))).toEqual(unquoted);
  expect(refusalOf(await decide('01J00000000000000000000000', digest))).toMatchObject({
    status: 404,
    message: 'No call with this id has waited for approval in the last 24 hours. List the waiting calls.',
  });
  expect((await read(id)).body).toMatchObject({ status: 'waiting' });
});

test('only admins of its namespace see a call', async () => {
  await ask();
  expect((await parts.list({ ...admin, namespaces: ['other.example'] })).body).toEqual({ approvals: [], waiting: 0 });
  expect((await parts.list({ ...admin, namespaces: ['pay.example'] })).body.approvals).not.toEqual([]);
});

test.each<[string, change: () => Promise<unknown>, policy?: ReturnType<typeof template>]>([
  ['the policy has changed', async () => {}, template({ rate: 59 })],
  ["the agent's PATs have been revoked", () => revokeAgent(gate.database.table, agent.agentId)],
  ['its intent has changed', () => gate.intents.replace(uid(), intentOf(uid(), { tags: ['new'], endpoint: endpointAt() }), () => true)],
])('calls that can no longer be made are neither listed nor counted: %s', async (_, change, policy = template()) => {
  for (let at = 0; at < 12; at++) await ask('FR', { 'Idempotency-Key': `${key}-${at}` });
  const own = { agent_id: agent.agentId };
  expect((await parts.list(admin, own)).body).toMatchObject({ waiting: 12 });
  await change();
  expect((await parts.list(admin, own, { policy })).body).toEqual({ approvals: [], waiting: 0 });
});

test('a call stays listed while the policy cannot be read, and is judged by the policy at its own address', async () => {
  const id = idOf(await ask());
  const call = await openDeferredCalls(gate.database.table).find(id);
  if (!call) throw new Error('the call is not stored');
  const { intents } = gate;
  const other = 'https://other.example/prod';
  const isShown = openChoice({ intents, findPolicy: openPolicy(template()) });
  const content = { ...call.content, baseUrl: other, claims: { ...call.content.claims, pol: openPolicy(template())(other).reference } };
  expect([await isShown({ ...call, content }), await isShown(call)]).toEqual([true, true]);
  const unread = openChoice({ intents, findPolicy: () => Promise.reject(unavailable('The usage policy cannot be read.')) });
  expect([await unread(call), await unread({ ...call, item: { ...call.item, state: 'denied' } })]).toEqual([true, false]);
});

test('a call waits for approval beside 20 calls of its holder in the background', async () => {
  for (let at = 0; at < 20; at++)
    expect(await ask('DE', { Prefer: 'respond-async', 'Idempotency-Key': `${key}-${at}` })).toMatchObject({ status: 202 });
  expect(await ask()).toMatchObject({ status: 202, body: { status: 'waiting' } });
});
