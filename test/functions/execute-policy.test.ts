import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { recheckAfterMs } from '../../functions/core/execution/block-check.ts';
import type { PolicyTemplate } from '../../functions/core/policy/template.ts';
import { CallFailed } from '../../functions/core/relay/call-failure.ts';
import type { Constraint, PolicyPermission, Prohibition } from '../../schemas/policy.ts';
import { watchExecuted } from '../support/executed-lines.ts';
import { startExecuting } from '../support/executing.ts';
import { type Agent, execute, type Gate, newAgent, obtainPat } from '../support/gate.ts';
import { refusalOf } from '../support/invoke.ts';
import { letPass } from '../support/let-pass.ts';
import { intentOf, serviceNamed } from '../support/records.ts';
import { blockAgent } from '../support/stop-agent.ts';

const { gate, upstream, serviceId, endpointAt } = await startExecuting();
let agent: Agent;
let count = 0;

const intents = '{base_url}/api/intents';
const refund = 'policy.example:refund:v1';
const lookup = 'policy.example:lookup:v1';
const closed = 'policy.example:closed:v1';
const numbers = [{ name: 'amount', type: 'number' as const }];

for (const uid of [refund, lookup])
  await gate.intents.create(serviceId, intentOf(uid, { endpoint: endpointAt(), input_parameters: numbers }));
const unreachable = { ...endpointAt(), url: 'http://127.0.0.1:1/do' };
await gate.intents.create(serviceId, intentOf(closed, { endpoint: unreachable, input_parameters: numbers }));
afterEach(() => {
  jest.restoreAllMocks();
});
beforeEach(async () => {
  agent = await newAgent(`agent-${++count}`);
  upstream.seen.length = 0;
});

const policyOf = (permission: PolicyPermission[], prohibition: Prohibition[] = []): PolicyTemplate => ({
  '@context': 'http://www.w3.org/ns/odrl.jsonld',
  uid: '{base_url}/api/policy',
  type: 'Set',
  permission,
  prohibition,
});
const when = (leftOperand: string, operator: Constraint['operator'], rightOperand: number | string) => ({
  leftOperand,
  operator,
  rightOperand,
});
const rate = (most: number, unit: string) => ({ ...when('v:rateLimit', 'lte', most), unit: `v:${unit}` });
const permit = (target: string, more: Partial<PolicyPermission> = {}): PolicyPermission => ({ target, action: 'execute', ...more });
const amount = (operator: 'lt', value: number) => when(`${intents}/${refund}/parameters/amount`, operator, value);
const budget = (price: number, most: number) => ({
  duty: [{ action: 'pay', amount: { price, budget: most }, unit: 'v:EUR', timeInterval: 'P1D' }],
});

/** Runs calls of one agent under a policy. */
async function under(template: PolicyTemplate, options: Omit<Parameters<Gate['openExecute']>[0] & object, 'template'> = {}) {
  const pat = await obtainPat(gate, agent, template);
  const steps = gate.openExecute({ template, ...options });
  return (uid: string, parameters: object = {}, headers: Record<string, string> = {}) => execute(steps, pat, uid, parameters, headers);
}

test('one intent has its own limit of five a day besides sixty an hour for all, counted in one write', async () => {
  const run = await under(
    policyOf([permit(intents, { constraint: [rate(60, 'hour')] }), permit(`${intents}/${refund}`, { constraint: [rate(5, 'day')] })]),
  );
  expect((await run(lookup)).headers).toMatchObject({
    'RateLimit-Policy': '"execute";q=60;w=3962',
    RateLimit: expect.stringMatching(/^"execute";r=59;t=\d+$/),
  });
  await run(refund);
  gate.database.operations.length = 0;
  const answers = [];
  for (let call = 0; call < 4; call++) answers.push(await run(refund));
  expect(gate.database.operations).toEqual(new Array(4).fill(['BatchGetItem', 'UpdateItem']).flat());
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  expect(answers[3]?.headers).toMatchObject({
    'RateLimit-Policy': '"execute";q=60;w=3962, "policy.example:refund:v1";q=5;w=95042',
    RateLimit: expect.stringMatching(/^"policy.example:refund:v1";r=0;t=\d+, "execute";r=54;t=\d+$/),
  });
  const refused = await run(refund);
  expect(refusalOf(refused)).toEqual({
    status: 429,
    code: 'TOO_MANY_REQUESTS',
    message:
      'The rate limit is used up. Send the request again after Retry-After seconds; RateLimit-Policy gives the number of calls and seconds.',
    details: {
      rule: '/permission/1/constraint/0',
      limit: { rate: 5, period: 86_400, window: 95_042 },
      retry_after_seconds: expect.any(Number),
    },
  });
  expect(Number(refused.headers['Retry-After'])).toBeGreaterThan(86_400);
  expect(await run(lookup)).toMatchObject({ status: 200, headers: { RateLimit: expect.stringMatching(/^"execute";r=53/) } });
});

describe('conditions', () => {
  test('conditions are judged after the parameters, before idempotency key and quota', async () => {
    const run = await under(policyOf([permit(intents, { constraint: [amount('lt', 500), rate(60, 'day')] })]));
    expect(await run(refund, { amount: 499.99 })).toMatchObject({ status: 200 });
    expect(await run(refund, { amount: '499' })).toMatchObject({ status: 400, body: { error: { code: 'INVALID_PARAMETER' } } });
    gate.database.operations.length = 0;
    const refused = await run(refund, { amount: 500 }, { 'Idempotency-Key': 'k' });
    expect(refusalOf(refused)).toEqual({
      status: 403,
      code: 'FORBIDDEN',
      message: 'The usage policy does not permit this call; details.words says why. GET /api/policy returns the full policy.',
      details: {
        reason: 'condition',
        rule: '/permission/0/constraint/0',
        words: `You may execute every intent only if parameter amount of ${refund} is less than 500.`,
      },
    });
    expect(new Set(gate.database.operations)).toEqual(new Set(['BatchGetItem', 'GetItem']));
    expect(await run(refund, { amount: 1 }, { 'Idempotency-Key': 'k' })).toMatchObject({ status: 200 });
    expect(upstream.seen).toHaveLength(2);
  });

  test('conditions on the time are judged at the time of the call', async () => {
    const nowMs = Date.now();
    let offsetMs = 0;
    const until = new Date(nowMs + 600_000).toISOString();
    const template = policyOf([permit(intents, { constraint: [when('v:dateTime', 'lt', until)] })]);
    const run = await under(template, { now: () => nowMs + offsetMs });
    expect(await run(lookup)).toMatchObject({ status: 200 });
    offsetMs = 600_000;
    expect(refusalOf(await run(lookup)).details).toEqual({
      reason: 'condition',
      rule: '/permission/0/constraint/0',
      words: `You may execute every intent only if the date is before ${until}.`,
    });
  });
});

test('conditions on the intent are judged by the current records of the intent and its service', async () => {
  const on = (term: string, value: string) => when(`{base_url}/vocabulary/${term}`, 'eq', value);
  const service_name = `Tagged ${count}`;
  const { service_id } = await gate.services.create(serviceNamed(service_name));
  const uid = `tagged-${count}.example:read:v1`;
  const tagged = (tag: string) => intentOf(uid, { endpoint: endpointAt('/do', 'GET'), input_parameters: numbers, tags: [tag] });
  await gate.intents.create(service_id, tagged('Public'));
  const constraint = [on('service', service_name), on('method', 'GET'), on('tag', 'public')];
  const run = await under(policyOf([permit(intents, { constraint })]));
  expect((await run(uid)).status).toBe(200);
  await gate.intents.replace(uid, tagged('internal'), () => true);
  expect(refusalOf(await run(uid))).toMatchObject({ status: 403, details: { reason: 'condition', rule: '/permission/0/constraint/2' } });
});

describe('a budget', () => {
  test('a budget is charged for calls that are sent; replays and calls that were not sent cost nothing', async () => {
    const run = await under(policyOf([permit(intents, budget(3, 10))]));
    expect(await run(lookup, {}, { 'Idempotency-Key': 'k' })).toMatchObject({ status: 200 });
    expect(await run(lookup, {}, { 'Idempotency-Key': 'k' })).toMatchObject({ status: 200, headers: { 'Idempotent-Replayed': 'true' } });
    expect(await run(closed)).toMatchObject({ status: 503, body: { error: { details: { outcome: 'not_sent' } } } });
    expect(await run(lookup)).toMatchObject({ status: 200 });
    const last = await run(lookup);
    expect(last).toMatchObject({ status: 200, headers: { 'Budget-Warning': '"execute";used="9.00";budget="10.00";unit="EUR"' } });
    expect(refusalOf(await run(lookup))).toMatchObject({
      status: 429,
      details: { reason: 'budget', rule: '/permission/0/duty/0', budget: { amount: '10.00', unit: 'EUR', period: 86_400 } },
    });
    expect(upstream.seen).toHaveLength(3);
  });

  test('a budget that is used up refuses calls without connecting, also in a new instance', async () => {
    const template = policyOf([permit(intents, budget(6, 10))]);
    const pat = await obtainPat(gate, agent, template);
    expect(await execute(gate.openExecute({ template }), pat, lookup, {})).toMatchObject({ status: 200 });
    const connect = jest.fn(async () => {});
    const answer = await execute(gate.openExecute({ template, connect }), pat, lookup, {}, { 'Idempotency-Key': 'k' });
    expect(refusalOf(answer)).toMatchObject({ status: 429, details: { reason: 'budget' } });
    expect(connect).not.toHaveBeenCalled();
  });
});

describe('a call with a slow connection', () => {
  const everySecond = { constraint: [rate(1, 'second')] };

  /** `meanwhile` runs once, while the upstream is being connected. Otherwise the clock stands still. */
  async function underSlow(more: Partial<PolicyPermission>, options: Parameters<typeof under>[1] = {}) {
    const world = { nowMs: Date.now(), meanwhile: async () => {} };
    const connect = async () => {
      const { meanwhile } = world;
      world.meanwhile = async () => {};
      await meanwhile();
    };
    return { world, run: await under(policyOf([permit(intents, more)]), { ...options, now: () => world.nowMs, connect }) };
  }

  test('a call with a slow connection is refused if other calls have used the limit meanwhile, and frees its key', async () => {
    const counted = watchExecuted();
    const { world, run } = await underSlow(everySecond);
    const key = { 'Idempotency-Key': 'k' };
    world.meanwhile = async () => {
      world.nowMs += 2_000;
      expect(await run(lookup)).toMatchObject({ status: 200 });
    };
    expect(refusalOf(await run(lookup, {}, key))).toMatchObject({
      status: 429,
      details: { limit: { rate: 1, period: 1 } },
    });
    expect(upstream.seen).toHaveLength(1);
    expect(counted.lines().map(({ outcome, upstream_status }) => [outcome, upstream_status])).toEqual([
      ['OK', 200],
      ['TOO_MANY_REQUESTS', undefined],
    ]);
    expect(counted.lines()[1]).not.toHaveProperty('upstream_host');
    world.nowMs += 2_000;
    expect(await run(lookup, {}, key)).toMatchObject({ status: 200 });
  });

  test('a call with a slow connection frees its key and is refunded also if the gate fails meanwhile', async () => {
    const { table } = gate.database;
    let isBroken = false;
    const over: typeof table = {
      ...table,
      put: async (item, condition) => {
        if (isBroken) {
          isBroken = false;
          throw new TypeError('a fault of the gate');
        }
        return table.put(item, condition);
      },
    };
    const { world, run } = await underSlow({ ...everySecond, ...budget(3, 6) }, { over });
    const key = { 'Idempotency-Key': 'k' };
    world.meanwhile = async () => {
      world.nowMs += 200;
      isBroken = true;
    };
    expect(await run(lookup, {}, key)).toMatchObject({ status: 500 });
    world.nowMs += 2_000;
    expect((await run(lookup, {}, key)).headers).not.toHaveProperty('Budget-Warning');
    world.nowMs += 2_000;
    expect(await run(lookup)).toMatchObject({ status: 200, headers: { 'Budget-Warning': expect.stringMatching('used="6.00"') } });
  });

  test('a call with a slow connection is not made if the agent is blocked meanwhile', async () => {
    const { world, run } = await underSlow({});
    world.meanwhile = async () => {
      await blockAgent(gate.database.table, agent.agentId);
      letPass(recheckAfterMs);
    };
    expect(refusalOf(await run(lookup))).toMatchObject({ status: 403, code: 'FORBIDDEN', details: { reason: 'agent_blocked' } });
    expect(upstream.seen).toEqual([]);
  });
});

test('the limit of a service applies to all agents together, and a call that it refuses costs nothing', async () => {
  const { service_id } = await gate.services.create({ ...serviceNamed(`Limited ${count}`), limit: { rate: 2, period: 3_600 } });
  const uid = `limited-${count}.example:do:v1`;
  await gate.intents.create(service_id, intentOf(uid, { endpoint: endpointAt(), input_parameters: numbers }));
  const template = policyOf([permit(intents, budget(1, 100))]);
  const runAs = (pat: string, intentUid = uid, connect = async () => {}) =>
    execute(gate.openExecute({ template, connect }), pat, intentUid, {});
  expect((await runAs(await obtainPat(gate, await newAgent(), template))).headers).toMatchObject({
    'RateLimit-Policy': `"execute";q=100;w=95042, "service:${service_id}";q=2;w=3962`,
    RateLimit: expect.stringMatching(`^"service:${service_id}";r=1;t=\\d+, "execute";r=99;t=\\d+$`),
  });
  // an answer to a call that was not counted names it, too
  const keyed = await obtainPat(gate, await newAgent(), template);
  const key = { 'Idempotency-Key': 'limited' };
  const unreachable = async () => Promise.reject(new CallFailed('unreachable'));
  const failed = await execute(gate.openExecute({ template, connect: unreachable }), keyed, uid, {}, key);
  expect([failed.status, failed.headers.RateLimit]).toEqual([503, expect.stringContaining(`"service:${service_id}";r=1`)]);
  const [second, third] = [await obtainPat(gate, await newAgent(), template), await obtainPat(gate, await newAgent(), template)];
  const { status, body, headers } = await runAs(third, uid, async () => expect((await runAs(second)).status).toBe(200));
  expect([status, body.error.details]).toMatchObject([429, { reason: 'service_limit', limit: { rate: 2, period: 3_600 } }]);
  expect(headers.RateLimit).toMatch(`"service:${service_id}";r=0;t=${headers['Retry-After']}`);
  expect(upstream.seen).toHaveLength(2);
  expect((await runAs(third, lookup)).headers.RateLimit).toMatch('"execute";r=99;');
});
