import { createHash } from 'node:crypto';
import { beforeEach, describe, expect, test } from '@jest/globals';
import type { IntentEndpoint } from '../../schemas/intent.ts';
import { startExecuting } from '../support/executing.ts';
import { newAgent, obtainPat } from '../support/gate.ts';
import { invoke } from '../support/invoke.ts';
import { intentOf } from '../support/records.ts';

const { gate, upstream, serviceId, endpointAt } = await startExecuting();
const execute = gate.openExecute();
const agent = await newAgent();
const pat = await obtainPat(gate, agent);
const otherPat = await obtainPat(gate, await newAgent());
beforeEach(() => {
  upstream.seen.length = 0;
});

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

async function register(name: string, idempotency_key: IntentEndpoint['idempotency_key']): Promise<string> {
  const uid = `keys.example:${name}:v1`;
  await gate.intents.create(serviceId, intentOf(uid, { endpoint: { ...endpointAt(), idempotency_key }, input_parameters: [] }));
  return uid;
}

/** Executes an intent, and returns the answer with the keys that reached the service. */
async function run(intent_uid: string, key?: string, token = pat) {
  upstream.seen.length = 0;
  const headers = { Authorization: `Bearer ${token}`, ...(key !== undefined && { 'Idempotency-Key': key }) };
  const { status, body } = await invoke(execute, 'POST /api/intents/execute', { headers, body: { intent_uid, parameters: {} } });
  return { status, body, keys: upstream.seen.map((seen) => seen.headers['idempotency-key']) };
}

describe('an intent whose service requires a key', () => {
  test('an intent whose service requires a key refuses a call without one before it is sent', async () => {
    const message =
      'The service of this intent requires a key, so the call was not sent. Send it with the header idempotency-key, and repeat it only with the same key.';
    const issues = [{ path: '', problem: 'the header Idempotency-Key is required' }];
    const { status, body, keys } = await run(await register('refuses', { required: true }));
    expect([status, keys]).toEqual([400, []]);
    expect(body.error).toMatchObject({ code: 'INVALID_PARAMETER', message, details: { issues } });
  });

  test('an intent whose service requires a key sends the digest of a key', async () => {
    const { status, keys } = await run(await register('digest', { required: true }), 'one');
    expect([status, keys]).toEqual([200, [expect.stringMatching(/^[\w-]{43}$/)]]);
  });
});

describe('a service that takes only UUIDs as keys', () => {
  test.each(['a', 'k'.repeat(255), '123e4567-e89b-42d3-a456-426614174000'])('the key %s becomes a UUID of version 8', async (key) => {
    const uid = await register(`uuid-${key.length}`, { format: 'uuid' });
    const { status, keys } = await run(uid, key);
    expect([status, keys]).toEqual([200, [expect.stringMatching(uuid)]]);
    expect(keys[0]).not.toBe(key);
    expect(keys[0]?.slice(0, 8)).not.toBe(createHash('sha256').update(key).digest('hex').slice(0, 8));
  });

  test('a service that takes only UUIDs gets another one for another key or agent', async () => {
    const [uid, other] = [await register('same', { format: 'uuid' }), await register('other', { format: 'uuid' })];
    const [first] = (await run(uid, 'one')).keys;
    expect((await run(other, 'two')).keys).not.toEqual([first]);
    expect((await run(other, 'one', otherPat)).keys).not.toEqual([first]);
  });

  test('a service that takes only UUIDs gets none if the agent sends none', async () => {
    expect(await run(await register('none', { format: 'uuid' }))).toMatchObject({ status: 200, keys: [undefined] });
  });
});
