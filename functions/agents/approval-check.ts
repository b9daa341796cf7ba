import type { AgentItem } from '../core/activity/agent.ts';
import type { IssueCheck } from '../core/pat/bind-agent.ts';
import { ApiError } from '../core/runtime/api-error.ts';
import type { Table } from '../core/table/table.ts';
import { approvalKeys, readAgentEnvironment, type WaitingItem } from './records.ts';
import { isWaiting, type QueueItem, removeWaiting, requestApproval } from './waiting-agents.ts';

/** Whether the agent needs no further approval: an earlier PAT or an admin has bound the id to its key, and no domain had to vouch for it. */
const isApproved = (agent: AgentItem | undefined, thumbprint: string, domain: string | undefined): boolean =>
  agent?.thumbprint === thumbprint && (agent.admitted_by === undefined || agent.admitted_by === domain);

/**
 * Lets an agent have a PAT only once it or its domain is approved, and adds it to the approval queue until then. An agent that gets a PAT leaves the
 * queue, also if no approval is required any more.
 */
export const openApprovalCheck = (table: Table, isRequired: boolean): IssueCheck => ({
  ...(isRequired && { notice: approvalNotice }),

  recordKeys: ({ agentId, thumbprint, domain }) => [
    approvalKeys.waiting(agentId, thumbprint),
    approvalKeys.waitingAgents(),
    ...(domain === undefined ? [] : [approvalKeys.approvedDomain(domain)]),
  ],

  decide(application, { agent }, [wait, queue, ofDomain]) {
    const { agentId, thumbprint, domain, nowMs } = application;
    const waits = isWaiting(wait as WaitingItem | undefined, queue as QueueItem | undefined, nowMs);
    if (isRequired && !ofDomain && !isApproved(agent, thumbprint, domain)) {
      return { refusal: { error: approvalPending(agent), record: waits ? undefined : () => requestApproval(table, application) } };
    }
    const writes = removeWaiting(agentId, thumbprint, wait as WaitingItem | undefined, waits);
    if (!isRequired || agent?.thumbprint === thumbprint || domain === undefined) return { writes };
    return { set: { admitted_by: domain }, writes: [...writes, { check: approvalKeys.approvedDomain(domain), when: [['exists', 'pk']] }] };
  },
});

export const approvalCheckFromEnvironment = (table: Table): IssueCheck =>
  openApprovalCheck(table, readAgentEnvironment(['agents']).agents === 'approved');

const approvalNotice =
  'The operators of this gate must approve each program before it acts for you for the first time. Until they have approved this one, it gets an error after you accept; connect it again then.';

const approvalPending = (agent: AgentItem | undefined) =>
  new ApiError(
    'POLICY_REJECTED',
    agent?.admitted_by === undefined
      ? 'The operators of this gate must approve each agent before it can get its first PAT. This agent is waiting for approval; ask again once it is approved.'
      : 'This agent was approved through its domain. Send agent_directory again, or ask again once the agent itself is approved.',
    { details: { reason: 'approval_pending' } },
  );
