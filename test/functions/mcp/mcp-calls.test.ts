import { beforeEach, describe, expect, test } from '@jest/globals';
import { startExecuting } from '../../support/executing.ts';
import { newAgent, obtainPat } from '../../support/gate.ts';
import { callTool, openMcp } from '../../support/mcp/mcp.ts';
import { intentOf, serviceNamed } from '../../support/records.ts';

const { gate, upstream, serviceId, endpointAt } = await startExecuting();
const pat = await obtainPat(gate, await newAgent());
beforeEach(() => {
  upstream.seen.length = 0;
});

describe('an intent whose service requires a key', () => {
  const register = async (name: string) => {
    const uid = `keys.example:${name}:v1`;
    const endpoint = { ...endpointAt(), idempotency_key: { required: true as const } };
    await gate.intents.create(serviceId, intentOf(uid, { endpoint, input_parameters: [] }));
    return uid;
  };
  const keys = () => upstream.seen.map(({ headers }) => headers['idempotency-key']);

  test.each<[string, object]>([
    ['without-a-key', {}],
    ['with-one', { idempotency_key: 'mine' }],
  ])('execute_intent sends a digest as the required key from a call %s', async (name, more) => {
    const intent_uid = await register(name);
    const { body } = await callTool(openMcp(gate), 'execute_intent', { intent_uid, parameters: {}, pat, ...more });
    expect([body.result.isError, keys()]).toEqual([false, [expect.stringMatching(/^[\w-]{43}$/)]]);
  });

  test('execute_intent makes the same call twice in one session, unless the agent gives a key', async () => {
    const intent_uid = await register('twice');
    const session = { 'Mcp-Session-Id': 'urls-123e4567-e89b-42d3-a456-426614174000' };
    for (const more of [{}, {}, { idempotency_key: 'x' }, { idempotency_key: 'x' }])
      await callTool(openMcp(gate), 'execute_intent', { intent_uid, parameters: {}, pat, ...more }, session);
    expect(new Set(keys()).size).toBe(3);
    expect(upstream.seen).toHaveLength(3);
  });
});

test('execute_intent of a paused service advises models to tell people or to search again', async () => {
  const { service_id } = await gate.services.create({ ...serviceNamed('Paused'), paused: true });
  const intent_uid = 'paused.example:do:v1';
  await gate.intents.create(service_id, intentOf(intent_uid, { endpoint: endpointAt() }));
  const { body } = await callTool(openMcp(gate), 'execute_intent', { intent_uid, parameters: { code: 'FR' }, pat });
  const message =
    'An admin has paused this service. Nothing was sent. Ask the operators of this gate when it will run again, or find another intent.';
  expect(body.result).toMatchObject({ isError: true, structuredContent: { error: { code: 'SERVICE_UNAVAILABLE', message } } });
  expect(JSON.stringify(body.result)).toContain('Tell the person you work for that this service is paused, or search_intents');
});
