import { expect, test } from '@jest/globals';
import { type Around, nest } from '../../../../functions/core/execution/around.ts';
import { unavailable } from '../../../../functions/core/runtime/api-error.ts';
import { openDeferredParts } from '../../../support/deferred.ts';
import { startExecuting } from '../../../support/executing.ts';
import { execute, newAgent, obtainPat } from '../../../support/gate.ts';
import { refusalOf } from '../../../support/invoke.ts';
import { loadPolicyTemplate } from '../../../support/policy.ts';
import { intentOf } from '../../../support/records.ts';

const uid = 'test.example:around:v1';
const { gate, upstream, serviceId, endpointAt } = await startExecuting();
await gate.intents.create(serviceId, intentOf(uid, { endpoint: endpointAt() }));
const pat = await obtainPat(gate, await newAgent());

const failsBefore: Around = () => Promise.reject(unavailable('The feature cannot reach its key.'));

/** Fails in the way of a refusal, once the service has acted. */
const failsAfter: Around = async (_execution, _call, attempt) => {
  await attempt();
  throw unavailable('The feature cannot reach its key.');
};

const run = (around: Around, headers = {}) => execute(gate.openExecute({ around: nest(around) }), pat, uid, { code: 'FR' }, headers);

test('a feature that fails before the attempt leaves the key free', async () => {
  const headers = { 'Idempotency-Key': 'before' };
  expect(refusalOf(await run(failsBefore, headers))).toMatchObject({ status: 503 });
  expect(await run((_execution, _call, attempt) => attempt(), headers)).toMatchObject({ status: 200 });
});

test.each([{}, { 'Idempotency-Key': 'after' }])(
  'a feature that fails after the attempt is a fault of the gate, with %j',
  async (headers) => {
    const before = upstream.seen.length;
    expect(refusalOf(await run(failsAfter, headers))).toMatchObject({ status: 500, code: 'INTERNAL_SERVER_ERROR' });
    expect(upstream.seen.length).toBe(before + 1);
  },
);

test('a background call is made once, although a feature fails after the attempt', async () => {
  const headers = { 'Idempotency-Key': 'background', Prefer: 'respond-async' };
  const policy = loadPolicyTemplate();
  const parts = openDeferredParts(gate);
  const before = upstream.seen.length;
  const ask = async () =>
    String((await run(failsAfter, headers)).body.execution)
      .split('/')
      .at(-1) ?? '';
  const id = await ask();
  const worker = parts.openWorker({ policy, around: nest(failsAfter) });
  await worker(id).catch(() => {});
  expect(await ask()).toBe(id);
  await worker(id).catch(() => {});
  expect(upstream.seen.length).toBe(before + 1);
});
