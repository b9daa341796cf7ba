import { afterAll, expect, test } from '@jest/globals';
import { openApprovalRequests } from '../../../functions/approvals/request.ts';
import type { Instead } from '../../../functions/core/execution/instead.ts';
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
