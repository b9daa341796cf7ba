import { afterAll, expect, test } from '@jest/globals';
import { type CountedExecution, openExecutionStats } from '../../functions/core/activity/stats.ts';
import { unavailable } from '../../functions/core/api-error.ts';
import { findServices } from '../../functions/core/registry/service-list.ts';
import { createAction } from '../../functions/get-stats.ts';
import { stats } from '../../schemas/stats.ts';
import { invoke, refusalOf } from '../support/invoke.ts';
import { serviceNamed } from '../support/records.ts';
import { type Headers, refusals, startRegistry, testAdminsAlone } from '../support/registry.ts';

const registry = await startRegistry();
afterAll(() => registry.stop());
const { table, operations } = registry;

let nowMs = Date.parse('2026-03-01T10:15:00Z');
const now = () => nowMs;

const read = (period?: string, headers: Headers = registry.asAdmin) =>
  invoke(
    createAction({
      verifyAdmin: registry.verifyAdmin,
      stats: openExecutionStats(table, now),
      findServices: (ids) => findServices(table, ids),
    }),
    { path: '/api/stats', headers, ...(period !== undefined && { query: { period } }) },
  );

testAdminsAlone(registry, (headers) => read('year', headers));

const { service_id: serviceId, service_name } = await registry.createService({ namespace: 'pay.example' });
const answered: CountedExecution = { serviceId, outcome: 'OK', upstream: { status: 200, durationMs: 80 } };

const numbers = (more: object = {}) => ({
  executions: 1,
  refusals: {},
  upstream_calls: 1,
  upstream_failures: 0,
  drift: 0,
  upstream_ms: 80,
  latency: [1, 0, 0, 0, 0, 0],
  ...more,
});

test('what was counted is written with the first execution, then once a minute, and added up', async () => {
  const counter = openExecutionStats(table, now);
  operations.length = 0;
  await counter.count({ ...answered, hasDrifted: true });
  expect(operations).toEqual(['UpdateItem', 'UpdateItem']);
  for (let calls = 0; calls < 10; calls++) await counter.count({ serviceId, outcome: 'TOO_MANY_REQUESTS' });
  await counter.count({ serviceId, outcome: 'GATEWAY_TIMEOUT', upstream: { status: undefined, durationMs: undefined } });
  await counter.count({ outcome: 'NOT_FOUND' });
  expect(operations).toEqual(['UpdateItem', 'UpdateItem']);
  nowMs += 60_000;
  await counter.count({ serviceId, outcome: 'INTENT_EXECUTION_FAILED', upstream: { status: 503, durationMs: 20_000 } });
  expect(operations).toHaveLength(6);

  const { status, body } = await read();
  const total = {
    executions: 13,
    refusals: { TOO_MANY_REQUESTS: 10, GATEWAY_TIMEOUT: 1, INTENT_EXECUTION_FAILED: 1 },
    upstream_calls: 3,
    upstream_failures: 2,
    drift: 1,
    upstream_ms: 20_080,
    latency: [1, 0, 0, 0, 0, 1],
  };
  const none = numbers({ refusals: { NOT_FOUND: 1 }, upstream_calls: 0, upstream_ms: 0, latency: [0, 0, 0, 0, 0, 0] });
  const from = '2026-03-01T10:00:00.000Z';
  expect(status).toBe(200);
  expect(stats.parse(body)).toEqual({
    period: 'day',
    from: '2026-02-28T11:00:00.000Z',
    services: expect.arrayContaining([
      {
        service_id: serviceId,
        service_name,
        ...total,
        last_failure: { at: '2026-03-01T10:16:00.000Z', code: 'INTENT_EXECUTION_FAILED', upstream_status: 503 },
        slots: [{ from, ...total }],
      },
      { ...none, slots: [{ from, ...none }] },
    ]),
  });
  const month = await read('month');
  expect(month.body).toMatchObject({ period: 'month', from: '2026-01-31T00:00:00.000Z' });
  expect(month.body.services.map(({ slots }: { slots: unknown[] }) => slots)).toEqual(
    expect.arrayContaining([[{ from: '2026-03-01T00:00:00.000Z', ...total }]]),
  );
});

test('hours and days are kept apart, also over the end of months', async () => {
  nowMs = Date.parse('2026-02-28T23:59:59Z');
  const { service_id } = await registry.createService();
  await openExecutionStats(table, now).count({ ...answered, serviceId: service_id });
  nowMs = Date.parse('2026-03-01T00:00:00Z');
  await openExecutionStats(table, now).count({ ...answered, serviceId: service_id });
  for (const [period, froms] of [
    ['day', ['2026-02-28T23:00:00.000Z', '2026-03-01T00:00:00.000Z']],
    ['month', ['2026-02-28T00:00:00.000Z', '2026-03-01T00:00:00.000Z']],
  ] as const) {
    const { body } = await read(period);
    const own = body.services.find((one: { service_id?: string }) => one.service_id === service_id);
    expect(own.slots).toEqual(froms.map((from) => ({ from, ...numbers() })));
    expect(own.executions).toBe(2);
  }
  nowMs += 49 * 3_600_000;
  expect((await read()).body.services).toEqual([]);
  nowMs -= 49 * 3_600_000;
});

test.each([
  [200, 0],
  [404, 0],
  [422, 0],
  [401, 1],
  [403, 1],
  [429, 1],
  [500, 1],
  [undefined, 1],
])('an upstream that answers %p counts as %i failure', async (status, failures) => {
  const counter = openExecutionStats(table, now);
  const failing = `service-${status}`;
  await counter.count({ serviceId: failing, outcome: 'INTENT_EXECUTION_FAILED', upstream: { status, durationMs: 1 } });
  const found = (await counter.read('day')).services.find(({ service_id }) => service_id === failing);
  expect(found?.upstream_failures).toBe(failures);
});

test('an execution does not fail because it cannot be counted', async () => {
  const away = { ...table, update: () => Promise.reject(unavailable('The table is away.')) };
  await expect(openExecutionStats(away, now).count(answered)).resolves.toBeUndefined();
});

test('an admin of a namespace sees the services that belong to it', async () => {
  await openExecutionStats(table, now).count(answered);
  const foreign = await registry.services.create(serviceNamed('Foreign'));
  await openExecutionStats(table, now).count({ ...answered, serviceId: foreign.service_id });
  const { body } = await read('day', { Authorization: `Bearer ${await registry.machineTokenOf(['intent-gate/admin:pay.example'])}` });
  expect(body.services.map(({ service_id }: { service_id: string }) => service_id)).toEqual([serviceId]);
});

test('the period is a day or a month', async () => {
  expect(refusalOf(await read('year'))).toEqual(refusals.invalid(['/period', 'must be one of "day", "month"']));
});
