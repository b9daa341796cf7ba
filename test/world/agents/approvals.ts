import assert from 'node:assert/strict';
import { openAgents } from '../../../functions/agents/agents.ts';
import { operator } from '../../../functions/core/admin/admin.ts';
import { approveAndWork, waiting } from '../approvals/scenarios.ts';
import type { Scenario } from '../explore.ts';
import { answerOf, firstOf, lastOf } from '../outcomes.ts';

/** What two features promise together. */
export const blockedApprovalScenarios: Scenario[] = [
  waiting('waiting call approved beside a block', 'I1: no call after a block was read', {
    callers: {
      approve: approveAndWork,
      block: async ({ table }) => (await openAgents(table).block(operator, { agentId: 'agent' }, 'why')) && 'blocked',
    },
    budget: { faults: 1, crashes: 1 },
    check: (end, sent) => {
      if (answerOf(end.outcomes[1]) === undefined || sent.length === 0) return;
      assert.ok(lastOf(end, 0, 'get AGENT#') < firstOf(end, 1, 'transact'), 'a call was made for an agent who had been read as blocked');
    },
  }),
];
