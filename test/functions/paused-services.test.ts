import { beforeEach, describe, expect, jest, test } from '@jest/globals';
import { recheckAfterMs } from '../../functions/core/execution/block-check.ts';
import { openChangeLog } from '../../functions/core/registry/change-log.ts';
import { createAction as createGetIntent } from '../../functions/get-intent.ts';
import { createAction as createGetService } from '../../functions/get-service.ts';
import { createAction as createListServices } from '../../functions/list-services.ts';
import { createAction as createUpdate } from '../../functions/update-service.ts';
import { describedDetails, fullIntent, intentUpdate } from '../../schemas/intent.ts';
import { serviceList, shownService } from '../../schemas/service.ts';
import { captureLog } from '../support/capture-log.ts';
import { startExecuting } from '../support/executing.ts';
import { execute, newAgent, obtainPat } from '../support/gate.ts';
import { type Answer, byAdmin, invoke, refusalOf, someAdmin } from '../support/invoke.ts';
import { letPass } from '../support/let-pass.ts';
import { loadPolicyTemplate, openPolicy } from '../support/policy.ts';
import { intentOf, serviceNamed } from '../support/records.ts';
import { refusals } from '../support/registry.ts';

const { gate, upstream, endpointAt } = await startExecuting();
const { database, services } = gate;
const verifyAdmin = async () => someAdmin;
const input = { ...serviceNamed('Paused'), limit: { rate: 60, period: 3_600 } };
let serviceId: string;
let uid: string;
let pat: string;
let count = 0;

beforeEach(async () => {
  jest.restoreAllMocks();
  count++;
  uid = `test.example:pause-${count}:v1`;
  serviceId = (await services.create({ ...input, service_name: `Paused ${count}` })).service_id;
  await gate.intents.create(serviceId, intentOf(uid, { endpoint: endpointAt() }));
  pat = await obtainPat(gate, await newAgent());
  upstream.seen.length = 0;
});

const update = (more: object): Promise<Answer> =>
  invoke(byAdmin(createUpdate({ services })), 'PUT /api/services/{service_id}', {
    path: { service_id: serviceId },
    body: { ...input, service_name: `Paused ${count}`, ...more },
  });
const pause = async () => expect((await update({ paused: true })).status).toBe(200);
const resume = async () => expect((await update({})).status).toBe(200);
const run = (steps = gate.openExecute(), headers = {}, code = 'FR') => execute(steps, pat, uid, { code }, headers);

const message =
  'An admin has paused this service. Nothing was sent. Ask the operators of this gate when it will run again, or find another intent.';
const paused = {
  status: 503,
  code: 'SERVICE_UNAVAILABLE',
  message,
  details: { reason: 'paused', outcome: 'not_sent', retry_after_seconds: 300 },
};

describe('the intents of a paused service', () => {
  test.each([{}, { 'Idempotency-Key': 'one' }])(
    'the intents of a paused service are refused from the next execution on, uncounted and without a write: %j',
    async (headers) => {
      const steps = gate.openExecute();
      expect((await run(steps)).headers.RateLimit).toMatch(/^"service:\w+";r=59.*"execute";r=59/);
      await pause();
      upstream.seen.length = database.operations.length = 0;
      for (let attempt = 0; attempt < 3; attempt++) {
        const refused = await run(steps, headers);
        expect(refusalOf(refused)).toEqual(paused);
        expect(refused.headers['Retry-After']).toBe('300');
        expect(refused.headers['Execution-Id']).toEqual(expect.any(String));
      }
      expect(database.operations.filter((operation) => /Put|Update|Delete|Transact/.test(operation))).toEqual([]);
      expect(upstream.seen).toEqual([]);
      await resume();
      expect(await run(steps, headers)).toMatchObject({
        status: 200,
        headers: { RateLimit: expect.stringMatching(/^"service:\w+";r=58.*"execute";r=58/) },
      });
      expect(upstream.seen).toHaveLength(1);
    },
  );

  test('the intents of a paused service are logged without raising an alarm', async () => {
    await pause();
    const written = captureLog();
    await run();
    const lines = written.map((line) => JSON.parse(line));
    expect(lines).toEqual([
      expect.objectContaining({ message: 'executed', outcome: 'SERVICE_UNAVAILABLE', service_id: serviceId }),
      expect.objectContaining({ message: 'answered', level: 'INFO', code: 'SERVICE_UNAVAILABLE', fault: 'upstream' }),
    ]);
    expect(lines[0]).not.toHaveProperty('upstream_host');
  });

  test('the intents of a paused service still repeat earlier answers', async () => {
    const headers = { 'Idempotency-Key': 'before' };
    expect((await run(undefined, headers)).status).toBe(200);
    await pause();
    expect(await run(undefined, headers)).toMatchObject({
      status: 200,
      body: { name: 'France' },
      headers: { 'Idempotent-Replayed': 'true' },
    });
    expect(refusalOf(await run(undefined, { 'Idempotency-Key': 'after' }))).toEqual(paused);
    expect(upstream.seen).toHaveLength(1);
  });

  test('the intents of a paused service are refused to callers without permission for that reason instead', async () => {
    await pause();
    const refused = await execute(gate.openExecute(), 'x.y.z', uid, { code: 'FR' });
    expect(refusalOf(refused)).toMatchObject({ status: 401, code: 'UNAUTHORIZED' });
    expect(refusalOf(await execute(gate.openExecute(), pat, uid, {}))).toMatchObject({ status: 400, code: 'INVALID_PARAMETER' });
  });

  test('the intents of a paused service are not called if they are paused while connecting', async () => {
    const headers = { 'Idempotency-Key': 'slow' };
    const connect = async () => {
      await pause();
      letPass(recheckAfterMs + 50);
    };
    expect(refusalOf(await run(gate.openExecute({ connect }), headers))).toEqual(paused);
    expect(upstream.seen).toEqual([]);
    await resume();
    expect((await run(undefined, headers)).status).toBe(200);
  });

  test('the intents of a paused service can be found and read, marked as paused', async () => {
    const show = (view: string) =>
      invoke(createGetIntent({ intents: gate.intents, findPolicy: openPolicy(loadPolicyTemplate()) }), 'GET /api/intents/{intent_uid}', {
        path: { intent_uid: uid },
        query: { view },
      });
    const before = await show('details');
    expect(before.body).not.toHaveProperty('paused');
    await pause();
    const [details, full] = [await show('details'), await show('full')];
    expect(details).toMatchObject({ status: 200, body: { ...before.body, paused: true } });
    expect(details.headers.ETag).not.toBe(before.headers.ETag);
    describedDetails.parse(details.body);
    fullIntent.parse(full.body);
    expect(full.body.paused).toBe(true);
    expect(intentUpdate.parse(full.body)).toMatchObject({ intent_uid: uid });

    const showService = () =>
      invoke(createGetService({ verifyAdmin, services, table: database.table }), 'GET /api/services/{service_id}', {
        path: { service_id: serviceId },
      });
    const shown = await showService();
    expect(shownService.parse(shown.body)).toMatchObject({ service_id: serviceId, paused: true });
    const list = await invoke(createListServices({ verifyAdmin, table: database.table }), 'GET /api/services', {
      query: { page_size: '100' },
    });
    const rows = serviceList.parse(list.body).services;
    expect(rows.find(({ service_id }) => service_id === serviceId)).toMatchObject({ paused: true });
    await resume();
    expect((await show('details')).body).toEqual(before.body);
    expect((await showService()).body).not.toHaveProperty('paused');
  });
});

test('a paused service can be changed and deleted, and keeps its credential; each change is logged', async () => {
  const credential = { headers: ['X-Api-Key'], query: [], origins: ['https://world.example'], set_at: 0, version: 'v' };
  await services.setCredential(serviceId, credential, () => true);
  await pause();
  expect(await services.find(serviceId)).toMatchObject({ paused: true, credential });
  expect((await update({ paused: true, description: 'Changed' })).status).toBe(200);
  expect(await services.find(serviceId)).toMatchObject({ paused: true, description: 'Changed' });
  await resume();
  await pause();
  expect(await services.remove(serviceId, () => true)).toBe(true);
  expect(refusalOf(await run())).toMatchObject({ status: 404, code: 'NOT_FOUND' });
  const { entries } = await openChangeLog(database.table).list({ count: 6, isWanted: () => true });
  const changes = entries.map(({ changes: [change] }) => change);
  expect(changes.map((change) => [change?.id, change?.action])).toEqual(
    ['delete', 'update', 'update', 'update', 'update', 'credential'].map((action) => [serviceId, action]),
  );
  const [, pausedAgain, resumed, , first] = changes;
  expect(pausedAgain?.digest_before).toBe(resumed?.digest_after);
  expect(pausedAgain?.digest_after).toBe(first?.digest_after);
  expect(pausedAgain?.digest_after).not.toBe(resumed?.digest_after);
});

test('paused must be a boolean, and false has no effect', async () => {
  expect(refusalOf(await update({ paused: 'true' }))).toEqual(refusals.invalid(['/paused', expect.any(String)]));
  expect((await update({ paused: false })).status).toBe(200);
  expect((await run()).status).toBe(200);
});
