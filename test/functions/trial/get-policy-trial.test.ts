import { afterAll, expect, test } from '@jest/globals';
import type { Executed } from '../../../functions/core/activity/history.ts';
import { openHistory } from '../../../functions/core/activity/history.ts';
import type { PolicyTemplate } from '../../../functions/core/policy/template.ts';
import { newUlid } from '../../../functions/core/runtime/ulid.ts';
import { createAction } from '../../../functions/trial/get-policy-trial.ts';
import { readTrial } from '../../../functions/trial/read-trial.ts';
import { namedPolicyTrial } from '../../../schemas/trial/policy-trial.ts';
import { byAdmin, invoke, refusalOf } from '../../support/invoke.ts';
import { loadPolicyTemplate, openPolicy } from '../../support/policy.ts';
import { startRegistry } from '../../support/registry.ts';
import { trialOf } from '../../support/trial/policy-trial.ts';

const registry = await startRegistry();
afterAll(() => registry.stop());

const nowMs = Date.parse('2026-03-08T12:30:00Z');
const trial: PolicyTemplate = {
  '@context': 'http://www.w3.org/ns/odrl.jsonld',
  uid: '{base_url}/api/policy',
  type: 'Set',
  permission: [
    {
      target: '{base_url}/api/intents',
      action: 'execute',
      constraint: [
        { leftOperand: '{base_url}/vocabulary/rateLimit', operator: 'lte', rightOperand: 2, unit: '{base_url}/vocabulary/hour' },
      ],
    },
  ],
};
const inForce = {
  ...loadPolicyTemplate(),
  prohibition: [{ target: '{base_url}/api/intents', action: 'execute', assignee: 'agent-9' }],
} as PolicyTemplate;
const read = (tried: PolicyTemplate | undefined, query: Record<string, string> = {}) =>
  invoke(
    byAdmin(
      createAction({
        history: openHistory(registry.table),
        findPolicy: openPolicy(inForce),
        findTrial: trialOf(tried),
        now: () => nowMs,
      }),
    ),
    'GET /api/policy/try',
    { query },
  );

test('GET /api/policy/try answers 404 without a policy on trial', async () => {
  expect(refusalOf(await read(undefined))).toEqual({
    status: 404,
    code: 'NOT_FOUND',
    message: 'No policy is on trial. An admin puts one on trial with: intent-gate policy publish FILE --try',
    details: { reason: 'no_trial' },
  });
});

test('GET /api/policy/try reports by rule, agent and intent what the policy would have done, and which hours have no records', async () => {
  const { digest } = readTrial(trial, 'https://api.example/test');
  const call = (minutesAgo: number, more: Partial<Executed> = {}): Executed => {
    const at = nowMs - minutesAgo * 60_000;
    const started_at = new Date(at).toISOString();
    const verdict = { policy: digest, counts: ['/permission/0'] };
    return {
      ...{ execution_id: newUlid(), at, started_at, agent_id: 'agent-1', holder: 'key-1', outcome: 'OK', sent: true },
      ...{ intent_uid: 'a.example:b:v1', trial: verdict, ...more },
    };
  };
  const prohibited = { outcome: 'FORBIDDEN', reason: 'prohibited', sent: undefined } as const;
  const { sent: _, ...unsent } = call(200, { agent_id: 'agent-2', holder: 'key-2', ...prohibited });
  const { sent: __, ...byAssigned } = call(199, {
    agent_id: 'agent-9',
    holder: 'key-9',
    ...prohibited,
    rule: '/prohibition/0',
    policy_digest: openPolicy(inForce)('https://api.example/test').digest,
  });
  await openHistory(registry.table).keep([
    ...[10, 9, 8, 7].map((minutesAgo) => call(minutesAgo)),
    call(6, { trial: { policy: 'another', refused: '' } }),
    call(5, { agent_id: 'agent-2', holder: 'key-2', trial: { policy: digest, refused: '' } }),
    unsent,
    byAssigned,
  ]);
  const { status, body } = await read(trial);
  expect(status).toBe(200);
  const minute = (ago: number) => new Date(nowMs - ago * 60_000).toISOString();
  const limited = { rule: '/permission/0/constraint/0', words: 'You may execute every intent, at most 2 times an hour.' };
  const row = { agent_id: 'agent-2', intent_uid: 'a.example:b:v1', calls: 1 };
  expect(namedPolicyTrial.parse(body)).toEqual({
    since: '2026-03-07T12:30:00.000Z',
    until: '2026-03-08T12:30:00.000Z',
    calls: 7,
    would_refuse: [
      { ...limited, agent_id: 'agent-1', intent_uid: 'a.example:b:v1', calls: 2, first: minute(8), last: minute(7) },
      { rule: '', words: 'No permission names the intent.', ...row, first: minute(5), last: minute(5) },
    ],
    would_permit: [
      { rule: '', words: 'The policy in force at that time refused it (FORBIDDEN).', ...row, first: minute(200), last: minute(200) },
      {
        ...row,
        rule: '/prohibition/0',
        words: 'The agent agent-9 must not execute any intent, whatever else is permitted.',
        agent_id: 'agent-9',
        first: minute(199),
        last: minute(199),
      },
    ],
    would_wait: [],
    unknown: [],
    gaps: [
      { from: '2026-03-07T12:30:00.000Z', to: '2026-03-08T09:00:00.000Z' },
      { from: '2026-03-08T10:00:00.000Z', to: '2026-03-08T12:00:00.000Z' },
    ],
    rules: [{ rule: '/permission/0', words: limited.words }],
  });
  expect((await read(trial, { period: 'hour' })).body).toMatchObject({ calls: 5, since: '2026-03-08T11:30:00.000Z' });
});
