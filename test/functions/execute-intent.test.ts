import { createHash } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { beforeEach, describe, expect, test } from '@jest/globals';
import type { Action } from '../../functions/core/http/serve.ts';
import type { PolicyTemplate } from '../../functions/core/policy/template.ts';
import { unavailable } from '../../functions/core/runtime/api-error.ts';
import { type IntentInput, intentInput } from '../../schemas/intent.ts';
import { digestedMembers, digestIntent } from '../../schemas/intent-digest.ts';
import { startExecuting } from '../support/executing.ts';
import { type Agent, execute, newAgent, obtainPat, post } from '../support/gate.ts';
import type { Answer } from '../support/invoke.ts';
import { loadPolicyTemplate } from '../support/policy.ts';
import { intentOf } from '../support/records.ts';
import { blockAgent, revokeAgent } from '../support/stop-agent.ts';

let steps: Action;
let agent: Agent;
let pat: string;
/** the next answer of the upstream */
let answer: { status: number; body: string; headers: Record<string, string> };
let slug = 0;

const { gate, upstream, serviceId, endpointAt } = await startExecuting((_, response) => {
  response.writeHead(answer.status, { 'Content-Type': 'application/json', ...answer.headers }).end(answer.body);
});
beforeEach(async () => {
  slug++;
  steps = gate.openExecute();
  agent = await newAgent();
  pat = await obtainPat(gate, agent);
  answer = { status: 200, body: '{"name":"France"}', headers: {} };
  upstream.seen.length = 0;
});

const anyRevision = () => true;
const unreachable = unavailable(
  'The database of the gate cannot be reached. Try again after Retry-After; if you were changing something, first check whether it was changed.',
);
const uid = (version = 1) => `test.example:execute-${slug}:v${version}`;
const register = (more: Partial<IntentInput> = {}, version = 1) =>
  gate.intents.create(serviceId, intentOf(uid(version), { endpoint: endpointAt(), ...more }));
const digest = async () => digestIntent((await gate.intents.find(uid()))?.intent as IntentInput);
const change = async (more: Partial<IntentInput>) => {
  const seen = await gate.intents.find(uid());
  await gate.intents.replace(uid(), { ...intentOf(uid(), seen?.intent), ...more }, anyRevision);
};
const run = (parameters: unknown = { code: 'FR' }, headers: Record<string, string> = {}) => execute(steps, pat, uid(), parameters, headers);
const refusal = (code: string, message: string, details: Record<string, unknown> = {}) => ({
  error: { code, message, details: { reference: expect.stringMatching(/^PROTO-[A-Z]{3}-[0-9]{3}$/), request_id: 'request-1', ...details } },
});

function expectRefusal(
  { status, body, headers }: Answer,
  expected: { status: number; code: string; message: string; details?: Record<string, unknown> },
) {
  expect({ status, body }).toEqual({ status: expected.status, body: refusal(expected.code, expected.message, expected.details) });
  expect(headers['X-Request-Id']).toBe('request-1');
}

test('an execution relays the answer, and tells what is left of the limit', async () => {
  await register();
  const { status, body, headers } = await run();
  expect({ status, body }).toEqual({ status: 200, body: { name: 'France' } });
  expect(headers).toMatchObject({
    'X-Request-Id': 'request-1',
    'Execution-Id': expect.stringMatching(/^[0-9A-Z]{26}$/),
    'RateLimit-Policy': '"execute";q=60;w=68',
    RateLimit: expect.stringMatching(/^"execute";r=59;t=\d+$/),
    'Content-Type': 'application/json',
    'Cache-Control': 'no-store',
  });
  expect(upstream.seen).toEqual([expect.objectContaining({ method: 'POST', url: '/countries', body: '{"code":"FR"}' })]);
  const [{ headers: sent } = { headers: {} }] = upstream.seen;
  expect(sent).toMatchObject({ 'agent-id': agent.agentId, 'intent-uid': uid(), 'execution-id': headers['Execution-Id'] });
  expect(sent).not.toHaveProperty('authorization');
});

describe('If-Match, by which only the intent that the caller has read is executed', () => {
  test('the digest for If-Match covers all members that agents can read', () => {
    const others = ['intent_uid', 'version', 'deprecated', 'draft', 'strict'];
    expect([...digestedMembers, ...others].toSorted()).toEqual(Object.keys(intentInput.shape).toSorted());
  });

  const described = { description: 'Answers what a country is called.' };
  test.each<[string, () => Promise<string>]>([
    ['the digest', async () => `"${await digest()}"`],
    ['the digest without quotation marks', digest],
    ['one of several digests', async () => `"another", "${await digest()}"`],
    ['any state', async () => '*'],
    ['the entity tag of a view', async () => `"${(await gate.intents.find(uid()))?.intent.rev}.1.full"`],
  ])('If-Match accepts %s', async (_, field) => {
    await register(described);
    expect(await run({ code: 'FR' }, { 'If-Match': await field() })).toMatchObject({ status: 200, body: { name: 'France' } });
  });

  test.each<[string, Partial<IntentInput>, string[]]>([
    ['name and tags', { intent_name: 'Delete a country', tags: ['new'] }, ['intent_name', 'tags']],
    ['the endpoint', { endpoint: { url: 'https://elsewhere.example/', method: 'GET', content_type: 'application/json' } }, ['endpoint']],
  ])('If-Match refuses after a change of %s, without call or quota, and names the change', async (_, more, changed) => {
    await register(described);
    const known = await digest();
    await change(more);
    const refused = await run({ code: 'FR' }, { 'If-Match': `"${known}"`, 'Idempotency-Key': 'one' });
    expect((await run({ code: 'FR' }, { 'If-Match': known })).body).toEqual(refused.body);
    expectRefusal(refused, {
      status: 409,
      code: 'CONFLICT',
      message: `The intent has changed since you read it: ${changed.join(', ')}. Nothing was executed. Read it again with GET /api/intents/{intent_uid}; if you still want it, send its new digest in If-Match.`,
      details: { reason: 'intent_changed', changed, digest: await digest() },
    });
    expect(refused.headers.RateLimit).toBe('"execute";r=60;t=1');
    expect(upstream.seen).toEqual([]);
  });

  test('If-Match with an unknown digest is refused without naming changed members', async () => {
    await register(described);
    expect(await run({ code: 'FR' }, { 'If-Match': '"unknown"' })).toMatchObject({
      status: 409,
      body: { error: { code: 'CONFLICT', details: { reason: 'intent_changed', changed: [] } } },
    });
  });

  test.each(['', ' ', 'unknown', 'W/"weak"'])(
    'If-Match refuses %j, which is not in quotation marks, as invalid, because reading the intent again would not help',
    async (field) => {
      await register(described);
      expect(await run({ code: 'FR' }, { 'If-Match': field })).toMatchObject({
        status: 400,
        body: { error: { details: { issues: [{ path: '', problem: expect.stringMatching(/If-Match .* in quotation marks$/) }] } } },
      });
      expect(upstream.seen).toEqual([]);
    },
  );
});

describe('refused executions, which call no upstream', () => {
  test.each<[string, unknown, { path: string; problem: string }[]]>([
    ['a missing parameter', {}, [{ path: '/parameters/code', problem: 'is required and must be a string' }]],
    [
      'unknown and wrong at once',
      { code: null, toString: 1, constructor: {} },
      [
        { path: '/parameters/toString', problem: 'is not a parameter of this intent; remove it' },
        { path: '/parameters/constructor', problem: 'is not a parameter of this intent; remove it' },
        { path: '/parameters/code', problem: 'must be a string' },
      ],
    ],
  ])('an execution is refused without costing quota: %s', async (_, parameters, issues) => {
    await register();
    const refused = await run(parameters);
    expectRefusal(refused, {
      status: 400,
      code: 'INVALID_PARAMETER',
      message:
        'The parameters are not valid. Correct every problem in details.issues; GET /api/intents/{intent_uid}?view=full shows what is expected.',
      details: { issues },
    });
    expect(refused.headers.RateLimit).toBe('"execute";r=60;t=1');
    expect(upstream.seen).toEqual([]);
  });

  test('an execution of an unknown uid is refused', async () => {
    expectRefusal(await run(), {
      status: 404,
      code: 'NOT_FOUND',
      message: 'No intent has this intent_uid. Find one with GET /api/intents/search.',
    });
  });

  test('an unusable Idempotency-Key is reported only once the intent and the parameters have been accepted', async () => {
    const unusable = { 'Idempotency-Key': 'two words' };
    expect((await run(undefined, unusable)).body.error.code).toBe('NOT_FOUND');
    await register();
    expect((await run({}, unusable)).body.error.details.issues[0].path).toBe('/parameters/code');
    expect((await run(undefined, unusable)).body.error.details.issues).toEqual([
      { path: '', problem: 'the header Idempotency-Key must have 1 to 255 visible ASCII characters' },
    ]);
  });

  test('an execution of another version is refused', async () => {
    await register({}, 2);
    await register({}, 10);
    expectRefusal(await run(), {
      status: 409,
      code: 'VERSION_CONFLICT',
      message: 'This version of the intent does not exist. Execute one of details.supported_versions.',
      details: { supported_versions: ['v2', 'v10'] },
    });
  });

  test('an execution of a deprecated intent is refused, naming the latest successor', async () => {
    await register({ deprecated: true });
    expectRefusal(await run(), {
      status: 410,
      code: 'INTENT_DEPRECATED',
      message: 'The intent is deprecated and no longer executed. Find another one with GET /api/intents/search.',
    });
    await register({}, 2);
    await register({}, 10);
    expectRefusal(await run(), {
      status: 410,
      code: 'INTENT_DEPRECATED',
      message: 'The intent is deprecated and no longer executed. Execute details.successor instead.',
      details: { successor: uid(10) },
    });
  });

  test('an execution with a revoked PAT is refused, but not with one that is issued afterwards', async () => {
    await register();
    await revokeAgent(gate.database.table, agent.agentId);
    const refused = await run();
    expectRefusal(refused, {
      status: 401,
      code: 'UNAUTHORIZED',
      message: 'The PAT has been revoked. Ask the operators why, then get a new one with POST /api/pat/issue.',
    });
    expect(refused.headers['WWW-Authenticate']).toBe('Bearer realm="intent-gate", error="invalid_token"');
    pat = await obtainPat(gate, agent);
    expect(await run()).toMatchObject({ status: 200 });
  });

  test.each<{ what: string; rules: () => Partial<PolicyTemplate>; reason: string; message: string }>([
    {
      what: 'a prohibited intent',
      rules: () => ({ prohibition: [{ target: `{base_url}/api/intents/${uid()}`, action: 'execute' }] }),
      reason: 'prohibited',
      message: 'The usage policy prohibits this intent. GET /api/policy says which are permitted.',
    },
    {
      what: 'an intent whose slug is only the beginning of a permitted one',
      rules: () => ({
        permission: [{ target: `{base_url}/api/intents/test.example:execute-${slug}-more:v1`, action: 'execute' }],
        prohibition: [],
      }),
      reason: 'not_permitted',
      message: 'The PAT does not permit this intent. GET /api/policy says which are permitted.',
    },
  ])('an execution of $what is refused', async ({ rules, reason, message }) => {
    await register();
    const template = { ...loadPolicyTemplate(), ...rules() };
    pat = await obtainPat(gate, agent, template);
    steps = gate.openExecute({ template });
    expectRefusal(await run(), { status: 403, code: 'FORBIDDEN', message, details: { reason } });
  });

  test('an execution without a token is refused', async () => {
    const refused = await post(steps, '/api/intents/execute', { intent_uid: uid(), parameters: {} });
    expectRefusal(refused, {
      status: 401,
      code: 'UNAUTHORIZED',
      message:
        'Executing an intent needs a PAT. Sign the policy that GET /api/policy returns, get a PAT with POST /api/pat/issue, and send it in the header Authorization: Bearer <PAT>.',
    });
    expect(refused.headers['WWW-Authenticate']).toBe('Bearer realm="intent-gate"');
  });
});

test('no call is made if the counter cannot be reached', async () => {
  await register();
  const { table } = gate.database;
  const fail = () => Promise.reject(unreachable);
  steps = gate.openExecute({ over: { ...table, update: fail, put: fail } });
  const [connections, open] = [upstream.connections, upstream.open()];
  expect(await run()).toMatchObject({ status: 503, headers: { 'Retry-After': '1' }, body: { error: { code: 'SERVICE_UNAVAILABLE' } } });
  expect(upstream.seen).toEqual([]);
  await setTimeout(30);
  // the connection of the call is not kept open
  expect(upstream.open()).toBeLessThan(open + upstream.connections - connections);
});

describe('an Idempotency-Key', () => {
  const prohibiting = () => {
    const template = loadPolicyTemplate();
    const prohibition = [...(template.prohibition ?? []), { target: `{base_url}/api/intents/${uid()}`, action: 'execute' }];
    return { ...template, prohibition } as typeof template;
  };
  test.each<[string, () => Promise<unknown>]>([
    ['its intent now has other parameters', () => change({ input_parameters: [{ name: 'name', type: 'string', required: true }] })],
    ['its intent has changed', () => change({ description: 'Another' })],
    ['its intent has been deleted', () => gate.intents.remove(uid(), anyRevision)],
    [
      'the policy now prohibits it',
      async () => {
        const template = prohibiting();
        steps = gate.openExecute({ template });
        pat = await obtainPat(gate, agent, template);
      },
    ],
  ])('an Idempotency-Key repeats the answer to a call although %s', async (_, alter) => {
    await register();
    const headers = { 'Idempotency-Key': 'made', 'If-Match': `"${await digest()}"` };
    const first = await run({ code: 'FR' }, headers);
    await alter();
    const second = await run({ code: 'FR' }, headers);
    expect(second).toMatchObject({ status: 200, body: first.body, headers: { 'Idempotent-Replayed': 'true' } });
    for (const other of [{ ...headers, 'Idempotency-Key': 'other' }, { 'If-Match': '"other"' }])
      expect((await run({ code: 'FR' }, other)).status).toBeGreaterThanOrEqual(400);
    await blockAgent(gate.database.table, agent.agentId);
    expect(await run({ code: 'FR' }, headers)).toMatchObject({ status: 403, body: { error: { details: { reason: 'agent_blocked' } } } });
    expect(upstream.seen).toHaveLength(1);
  });

  test('an Idempotency-Key answers a repeated request from the record, without call or quota', async () => {
    await register();
    const first = await run({ code: 'FR' }, { 'Idempotency-Key': 'k1' });
    answer.body = '{"name":"changed"}';
    const second = await run({ code: 'FR' }, { 'Idempotency-Key': 'k1' });
    expect(second).toMatchObject({
      status: 200,
      body: first.body,
      headers: { 'Idempotent-Replayed': 'true', RateLimit: expect.stringContaining('r=59') },
    });
    expect(first.headers).not.toHaveProperty('Idempotent-Replayed');
    expect(upstream.seen).toHaveLength(1);
    const { jkt } = JSON.parse(Buffer.from(pat.split('.')[1] ?? '', 'base64url').toString()).cnf;
    expect(upstream.seen[0]?.headers).toMatchObject({
      'agent-key': jkt,
      'idempotency-key': createHash('sha256')
        .update(JSON.stringify([jkt, 'k1']))
        .digest('base64url'),
    });
  });

  test('an Idempotency-Key keeps a refusal of the upstream, and is free again if nothing was sent', async () => {
    await register();
    answer = { status: 422, body: '{"why":"no such code"}', headers: {} };
    const first = await run({ code: 'XX' }, { 'Idempotency-Key': 'k4' });
    const second = await run({ code: 'XX' }, { 'Idempotency-Key': 'k4' });
    expect(first).toMatchObject({
      status: 422,
      body: { error: { details: { upstream_status: 422, upstream_body: { why: 'no such code' } } } },
    });
    expect(second).toMatchObject({ status: 422, body: first.body, headers: { 'Idempotent-Replayed': 'true' } });
    expect(upstream.seen).toHaveLength(1);

    await change({ endpoint: { ...endpointAt(), url: 'http://127.0.0.1:1/closed' } });
    expect(await run({ code: 'FR' }, { 'Idempotency-Key': 'k5' })).toMatchObject({
      status: 503,
      body: { error: { details: { outcome: 'not_sent' } } },
    });
    await change({ endpoint: endpointAt() });
    answer = { status: 200, body: '{"name":"France"}', headers: {} };
    expect(await run({ code: 'FR' }, { 'Idempotency-Key': 'k5' })).toMatchObject({ status: 200 });
  });

  test('an Idempotency-Key is free again after the upstream has answered 429, because it did nothing', async () => {
    await register();
    answer = { status: 429, body: '{}', headers: { 'Retry-After': '7' } };
    const busy = { status: 503, headers: { 'Retry-After': '7' }, body: { error: { details: { upstream_status: 429 } } } };
    expect(await run({ code: 'FR' }, { 'Idempotency-Key': 'k8' })).toMatchObject(busy);
    answer = { status: 200, body: '{"name":"France"}', headers: {} };
    const done = await run({ code: 'FR' }, { 'Idempotency-Key': 'k8' });
    expect(done).toMatchObject({ status: 200 });
    expect(done.headers).not.toHaveProperty('Idempotent-Replayed');
    expect(await run({ code: 'FR' }, { 'Idempotency-Key': 'k8' })).toMatchObject({ headers: { 'Idempotent-Replayed': 'true' } });
    expect(upstream.seen).toHaveLength(2);
  });

  test('an Idempotency-Key is answered even if the limit is used up; a new one is then refused without a record', async () => {
    await register();
    const first = await run({ code: 'FR' }, { 'Idempotency-Key': 'k6' });
    while ((await run()).status !== 429);
    expect(await run({ code: 'FR' }, { 'Idempotency-Key': 'k6' })).toMatchObject({ status: 200, body: first.body });
    expect(await run({ code: 'FR' }, { 'Idempotency-Key': 'k7' })).toMatchObject({ status: 429 });
  });
});
