import { afterAll, expect, test } from '@jest/globals';
import { openApprovalRequests } from '../../../functions/approvals/request.ts';
import type { DeferredContent } from '../../../functions/core/execution/deferred-call-store.ts';
import type { Instead } from '../../../functions/core/execution/instead.ts';
import { findChangeSinceRequest, readCircumstances } from '../../../functions/core/execution/void-check.ts';
import { openLiveIntents } from '../../../functions/core/registry/live-intents.ts';
import { digestIntent } from '../../../schemas/intent-digest.ts';
import { openConnectionParts } from '../../support/connections/parts.ts';
import { execute, startGate } from '../../support/gate.ts';

const gate = await startGate();
afterAll(gate.stop);
const parts = openConnectionParts(gate);
const client = { issuer: 'https://id.example', client_id: 'gate', client_secret: 'secret', grant: 'person' };

test('an approver is shown the person as whom the call will be made', async () => {
  const { uid } = await parts.newService('http://127.0.0.1:1', client);
  const shown: unknown[] = [];
  const ask = openApprovalRequests({ announce: async () => {}, approvalSeconds: 60 });
  const instead: Instead = (execution, call) =>
    ask(execution, { ...call, rules: call.rules.map((rule) => ({ ...rule, needsApproval: true })) }, async ({ content }) => {
      shown.push(content?.shown);
      throw new Error('deferred');
    });
  await execute(gate.openExecute({ ...parts.openTokens(), instead }), await parts.newPersonPat('person-1'), uid, { code: 'FR' });
  expect(shown).toEqual([expect.objectContaining({ calls_as: 'person-1' })]);
});

test.each([
  { shown: 'a person', calls_as: 'person-1', has: client, isVoid: false },
  { shown: 'a person', calls_as: 'person-1', has: undefined, isVoid: true },
  { shown: 'nobody', calls_as: undefined, has: client, isVoid: true },
  { shown: 'nobody', calls_as: undefined, has: undefined, isVoid: false },
])(
  'an approval of a call that was shown as made for $shown is void: $isVoid, if its service has the client $has.issuer',
  async ({ calls_as, has, isVoid }) => {
    const { uid, serviceId } = await parts.newService('http://127.0.0.1:1', client);
    if (has === undefined) await gate.services.setCredential(serviceId, undefined, () => true);
    const claims = { sub: 'person-1', person: `person.${'x'.repeat(43)}`, pol: 'policy' };
    const asked = { claims, body: { intent_uid: uid }, shown: { since: new Date().toISOString(), calls_as } } as unknown as DeferredContent;
    const seen = await readCircumstances(openLiveIntents(gate.database.table), asked);
    if (!seen.found) throw new Error('the intent is not there');
    const change = findChangeSinceRequest({ ...asked, intentDigest: digestIntent(seen.found.intent) }, { ...seen, policy: 'policy' });
    const message =
      'The kind of credential that the call carries has changed since this call was requested, so it is not made. Request it again under a new Idempotency-Key.';
    expect(change?.message).toBe(isVoid ? message : undefined);
  },
);
