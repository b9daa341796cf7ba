import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Executed } from '../../../functions/core/activity/history.ts';
import { newUlid } from '../../../functions/core/runtime/ulid.ts';
import { createAction } from '../../../functions/usage/get-stats.ts';
import { openExecutionStats } from '../../../functions/usage/stats.ts';
import { maxAgents } from '../../../functions/usage/totals.ts';
import { openUsage } from '../../../functions/usage/usage.ts';
import { stats, statsByAgent, statsByIntent } from '../../../schemas/usage/stats.ts';
import { byAdmin, invoke, refusalOf, someAdmin } from '../../support/invoke.ts';
import { serviceNamed } from '../../support/records.ts';
import { refusals, startRegistry } from '../../support/registry.ts';

const registry = await startRegistry();
afterAll(() => registry.stop());
const { table } = registry;

const noon = Date.parse('2026-03-01T12:00:00Z');
let nowMs = noon;
const now = () => nowMs;

const read = (query: Record<string, string> = {}, admin = someAdmin) =>
  invoke(byAdmin(createAction({ stats: openExecutionStats(table, now), table }), admin), 'GET /api/stats', { query });

async function count(...executed: Partial<Executed>[]): Promise<void> {
  const usage = openUsage(table, now);
  await usage.keep(executed.map((more) => ({ execution_id: newUlid(), at: nowMs, agent_id: 'agent-1', outcome: 'OK', ...more })));
  await usage.rollUp(() => 300_000);
}

const { service_id: own, service_name } = await registry.createService({ namespace: 'pay.example' });
const { service_id: foreign } = await registry.services.create(serviceNamed('Foreign'));
const [pay, look] = ['pay.example:pay:v1', 'free.example:look:v1'];
const called = { upstream_host: 'world.example', upstream_status: 200, upstream_ms: 80 };

const none = {
  executions: 0,
  refusals: {},
  upstream_calls: 0,
  upstream_failures: 0,
  drift: 0,
  upstream_ms: 0,
  latency: [0, 0, 0, 0, 0, 0],
};
const numbers = (more: object = {}) => ({
  ...none,
  executions: 1,
  upstream_calls: 1,
  upstream_ms: 80,
  latency: [1, 0, 0, 0, 0, 0],
  ...more,
});

test('GET /api/stats adds up executions by period', async () => {
  const service = { service_id: own, intent_uid: pay };
  await count(
    { ...service, ...called, drift: true, at: noon - 70_000 },
    ...Array.from({ length: 10 }, () => ({ ...service, outcome: 'TOO_MANY_REQUESTS' as const })),
    { ...service, outcome: 'GATEWAY_TIMEOUT', upstream_host: 'world.example', at: noon + 1_000 },
    {
      ...service,
      outcome: 'INTENT_EXECUTION_FAILED',
      upstream_host: 'world.example',
      upstream_status: 503,
      upstream_ms: 20_000.4,
      at: noon + 60_000,
    },
    { outcome: 'NOT_FOUND' },
  );
  const total = {
    executions: 13,
    refusals: { TOO_MANY_REQUESTS: 10, GATEWAY_TIMEOUT: 1, INTENT_EXECUTION_FAILED: 1 },
    upstream_calls: 3,
    upstream_failures: 2,
    drift: 1,
    upstream_ms: 20_080,
    latency: [1, 0, 0, 0, 0, 1],
  };
  const before = numbers({ drift: 1 });
  const after = { ...total, executions: 12, upstream_calls: 2, drift: 0, upstream_ms: 20_000, latency: [0, 0, 0, 0, 0, 1] };
  const last_failure = { at: '2026-03-01T12:01:00.000Z', code: 'INTENT_EXECUTION_FAILED', upstream_status: 503 };
  const notFound = { ...none, executions: 1, refusals: { NOT_FOUND: 1 } };
  const slots = {
    hour: [
      { from: '2026-03-01T11:55:00.000Z', ...before },
      { from: '2026-03-01T12:00:00.000Z', ...after },
    ],
    day: [
      { from: '2026-03-01T11:00:00.000Z', ...before },
      { from: '2026-03-01T12:00:00.000Z', ...after },
    ],
    month: [{ from: '2026-03-01T00:00:00.000Z', ...total }],
  };
  const from = { hour: '2026-03-01T11:05:00.000Z', day: '2026-02-28T13:00:00.000Z', month: '2026-01-31T00:00:00.000Z' };
  for (const period of ['hour', 'day', 'month'] as const) {
    const { status, body } = await read({ period });
    expect(status).toBe(200);
    expect(stats.parse(body)).toEqual({
      period,
      from: from[period],
      services: [
        { service_id: own, service_name, ...total, last_failure, slots: slots[period] },
        { ...notFound, slots: [{ from: slots[period].at(-1)?.from, ...notFound }] },
      ],
    });
  }
  expect((await read()).body.period).toBe('day');
});

test.each([
  [200, 0],
  [401, 1],
  [429, 1],
  [500, 1],
  [undefined, 1],
])('an upstream that answers %p counts as %i failure', async (upstream_status, failures) => {
  const service_id = `service-${upstream_status}`;
  const status = upstream_status === undefined ? {} : { upstream_status };
  await count({ service_id, outcome: 'INTENT_EXECUTION_FAILED', upstream_host: 'world.example', ...status });
  expect((await read({ service_id })).body.services).toMatchObject([{ upstream_failures: failures }]);
});

describe('by service, intent and agent', () => {
  const at = Date.parse('2026-04-01T12:00:00Z');
  const [refused, failed] = [
    { outcome: 'FORBIDDEN' as const },
    { ...called, outcome: 'INTENT_EXECUTION_FAILED' as const, upstream_status: 500 },
  ];
  const calls: Partial<Executed>[] = [
    { agent_id: 'bob', service_id: own, intent_uid: pay, ...called },
    { agent_id: 'bob', service_id: own, intent_uid: pay, ...failed },
    { agent_id: 'Bob', service_id: foreign, intent_uid: look, ...refused },
    { agent_id: 'eve', service_id: own, intent_uid: pay, ...refused },
    { agent_id: 'eve', outcome: 'NOT_FOUND' },
    ...Array.from({ length: 3 }, () => ({ agent_id: 'eve', service_id: foreign, intent_uid: look, ...called })),
  ];
  const row = (members: object, executions: number, codes: Record<string, number>, upstream_calls: number, upstream_failures = 0) => ({
    ...members,
    executions,
    refusals: codes,
    upstream_calls,
    upstream_failures,
  });
  const bob = row({ agent_id: 'bob' }, 2, { INTENT_EXECUTION_FAILED: 1 }, 2, 1);
  const eve = row({ agent_id: 'eve' }, 1, { FORBIDDEN: 1 }, 0);
  const eveOfAll = row({ agent_id: 'eve' }, 5, { FORBIDDEN: 1, NOT_FOUND: 1 }, 3);
  const bobOfAll = row({ agent_id: 'bob' }, 3, { FORBIDDEN: 1, INTENT_EXECUTION_FAILED: 1 }, 2, 1);
  const paid = row({ service_id: own }, 3, { FORBIDDEN: 1, INTENT_EXECUTION_FAILED: 1 }, 2, 1);
  const looked = row({ service_id: foreign }, 4, { FORBIDDEN: 1 }, 3);
  beforeAll(() => {
    nowMs = at;
    return count(...calls);
  });

  test.each<['admin' | 'ofNamespace', Record<string, string>, object]>([
    ['admin', { by: 'service' }, { services: [looked, paid, row({}, 1, { NOT_FOUND: 1 }, 0)] }],
    ['ofNamespace', { by: 'service' }, { services: [paid] }],
    ['ofNamespace', { service_id: foreign }, { services: [] }],
    ['admin', { by: 'intent', service_id: own }, { intents: [{ intent_uid: pay, ...paid }] }],
    ['admin', { by: 'intent', service_id: foreign }, { intents: [{ intent_uid: look, ...looked }] }],
    ['ofNamespace', { by: 'intent' }, { intents: [{ intent_uid: pay, ...paid }] }],
    ['admin', { by: 'agent' }, { agents: [eveOfAll, bobOfAll] }],
    ['admin', { by: 'agent', service_id: own }, { agents: [bob, eve] }],
    ['ofNamespace', { by: 'agent' }, { agents: [bob, eve] }],
  ])('the role %s sees the stats of %j', async (role, query, expected) => {
    const { status, body } = await read(query, { ...someAdmin, ...(role === 'ofNamespace' && { namespaces: ['pay.example'] }) });
    const [list = ''] = Object.keys(expected);
    expect([status, Object.keys(body)]).toEqual([200, ['period', 'from', list]]);
    const left = ['drift', 'upstream_ms', 'latency', 'slots', 'last_failure', 'service_name'];
    const shown = body[list].map((one: object) => Object.fromEntries(Object.entries(one).filter(([name]) => !left.includes(name))));
    expect({ [list]: shown }).toEqual(expected);
  });

  test('GET /api/stats lists the 200 intents and agents with the most executions', async () => {
    nowMs = at + 40 * 86_400_000;
    const names = Array.from({ length: 201 }, (_, number) => `number-${number}`);
    const of = (name: string) => ({ agent_id: name, service_id: own, intent_uid: `pay.example:${name}:v1` });
    await count(...names.map(of), ...names.slice(1).map(of));
    const agents = statsByAgent.parse((await read({ by: 'agent' })).body).agents;
    const intents = statsByIntent.parse((await read({ by: 'intent' })).body).intents;
    for (const rows of [agents, intents]) expect(rows.map(({ executions }) => executions)).toEqual(Array(200).fill(2));
  });
});

test.each<[Record<string, string>, string, string]>([
  [{ period: 'year' }, '/period', 'must be one of "hour", "day", "month"'],
  [{ by: 'namespace' }, '/by', 'must be one of "service", "intent", "agent"'],
  [{ service_id: 'x'.repeat(201) }, '/service_id', 'must have at most 200 characters'],
])('the query %p is refused', async (query, path, problem) => {
  expect(refusalOf(await read(query))).toEqual(refusals.invalid([path, problem]));
});

test('GET /api/stats lists agents without the total that those beyond the busiest share', async () => {
  nowMs = noon + 40 * 86_400_000;
  const at = nowMs;
  nowMs += 120_000;
  const one = { at, service_id: own, intent_uid: pay };
  const crowd = Array.from({ length: maxAgents + 2 }, (_, place) => ({ ...one, agent_id: `crowd-${place}` }));
  await count(...crowd, { ...one, agent_id: 'busy' }, { ...one, agent_id: 'busy' });
  const { body } = await read({ period: 'hour', by: 'agent' });
  const { agents } = statsByAgent.parse(body);
  expect(agents).toHaveLength(200);
  expect(agents[0]).toMatchObject({ agent_id: 'busy', executions: 2 });
  const { services } = stats.parse((await read({ period: 'hour' })).body);
  expect(services).toMatchObject([{ service_id: own, executions: maxAgents + 4 }]);
});
