import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, test } from '@jest/globals';
import { executionPage } from '../../../schemas/executions.ts';
import { namedPolicyTrial } from '../../../schemas/trial/policy-trial.ts';
import { intentOf } from '../../support/records.ts';
import { startUpstream } from '../../support/upstream.ts';
import { bodyOf, startApi } from '../api.ts';

const [uid, target] = ['trial.example:call:v1', '{base_url}/api/intents'];
const france = { leftOperand: `${target}/parameters/code`, operator: 'eq', rightOperand: 'FR' };
const onTrial = {
  '@context': 'http://www.w3.org/ns/odrl.jsonld',
  uid: '{base_url}/api/policy',
  type: 'Set',
  permission: [{ target, action: 'execute', constraint: [{ leftOperand: 'rateLimit', operator: 'lteq', rightOperand: 4, unit: 'hour' }] }],
  prohibition: [{ target, action: 'execute', constraint: [france] }],
};
const upstream = await startUpstream((_, response) => response.writeHead(200, { 'Content-Type': 'application/json' }).end('{"name":"x"}'));
const api = await startApi();
afterAll(() => upstream.stop());

test('a policy on trial judges every execution, over HTTP, MCP and later, and decides about none', async () => {
  const endpoint = { url: `http://127.0.0.1:${upstream.port}/`, method: 'POST', content_type: 'application/json' } as const;
  await api.createIntent(intentOf(uid, { endpoint }));
  bodyOf(await api.asAdmin('PUT', '/api/policy/try', onTrial));
  const pat = await api.obtainPat('ann');
  const run = async (code: string) => bodyOf(await api.execute(pat, uid, { code }));
  for (const code of ['FR', 'DE', 'DE']) await run(code);
  bodyOf(await api.executeOverMcp(pat, uid, { code: 'FR' }));
  bodyOf(await api.execute(pat, uid, { code: 'FR' }, { 'Idempotency-Key': 'later', Prefer: 'respond-async' }), 202);
  for (const code of ['DE', 'DE', 'DE', 'DE']) await run(code);
  const readTrial = async () => namedPolicyTrial.parse(bodyOf(await api.asAdmin('GET', '/api/policy/try?period=hour')));
  let trial = await readTrial();
  for (let attempt = 0; trial.calls < 9 && attempt < 100; attempt++) {
    await sleep(200);
    trial = await readTrial();
  }
  const row = { agent_id: 'ann', intent_uid: uid, first: expect.any(String), last: expect.any(String) };
  expect(trial).toMatchObject({
    calls: 9,
    would_refuse: [
      { rule: '/prohibition/0/constraint/0', words: 'You must not execute any intent if parameter code is "FR".', calls: 3, ...row },
      { rule: '/permission/0/constraint/0', words: 'You may execute every intent, at most 4 times an hour.', calls: 2, ...row },
    ],
    would_permit: [],
    unknown: [],
  });
  expect(upstream.seen).toHaveLength(9);
  const from = new Date(Date.now() - 3_600_000).toISOString();
  const { executions } = executionPage.parse(bodyOf(await api.asAdmin('GET', `/api/executions?from=${from}`)));
  expect(executions).toHaveLength(9);
  expect(JSON.stringify(executions)).not.toMatch(/"FR"|"DE"|code/);
});
