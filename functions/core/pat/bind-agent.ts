import type { Applicants } from '../../agents/applicants.ts';
import { type AgentRecords, type BoundAgent, isApproved, isBlocked, sharedIdOf } from '../activity/agent.ts';
import { agentBlockedAtIssue, agentIdTaken } from '../activity/agent-refusals.ts';
import { ApiError, unavailable } from '../runtime/api-error.ts';
import { invalidSignature } from './refusals.ts';

export interface BindingRules {
  isApprovalRequired: boolean;
  isSharingAllowed: boolean;
}

interface Application {
  agentId: string;
  thumbprint: string;
  nowMs: number;
  hasProof: boolean;
  /** domain that it is verified for */
  domain: string | undefined;
}

interface Found extends Application {
  records: AgentRecords;
}

/**
 * Finds the agent of an id and a key. If ids may be shared, a key that uses another key's id is a separate agent.
 * @throws ApiError POLICY_REJECTED if the agent may not get a PAT, INVALID_SIGNATURE if a proof is missing
 */
export async function findAgent(agents: Applicants, application: Application, rules: BindingRules): Promise<Found> {
  const { agentId, thumbprint, hasProof, domain } = application;
  const records = await agents.recordsOf(agentId, thumbprint, { domain });
  const { agent, key } = records;
  const isTaken = agent?.thumbprint !== undefined && agent.thumbprint !== thumbprint;
  if (isBlocked(records)) throw agentBlockedAtIssue();
  if (isTaken && rules.isSharingAllowed) {
    const own = sharedIdOf(agentId, thumbprint);
    return findAgent(agents, { ...application, agentId: own }, { ...rules, isSharingAllowed: false });
  }
  if (isTaken) throw agentIdTaken();
  if (!hasProof && (agent?.proof || key?.proof)) throw proofMissing();
  if (rules.isApprovalRequired && records.isWaiting && !isApproved(records, application)) throw approvalPending(records);
  return { ...application, records };
}

/** Binds the agent_id to the key, or adds the agent to the approval queue. */
export async function bindAgent(agents: Applicants, application: Application, seen: Found, rules: BindingRules): Promise<BoundAgent> {
  const { isApprovalRequired } = rules;
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const { records, ...found } = attempt === 0 ? seen : await findAgent(agents, application, rules);
    if (isApprovalRequired && !isApproved(records, found)) {
      await agents.requestApproval(found);
      throw approvalPending(records);
    }
    const bound = await agents.bind({ ...found, mustBeApproved: isApprovalRequired }, records);
    if (bound) return bound;
  }
  throw unavailable('Several requests are changing this agent at the same time. Try again after Retry-After.');
}

/** Attempts fail only if the agent has changed in the meantime. */
const maxAttempts = 5;

const proofMissing = () =>
  invalidSignature(
    'A PAT with proof of possession has been issued to this agent or its key, so every later request needs a proof, too. Send a DPoP header (RFC 9449) made with agent_public_key.',
  );

const approvalPending = ({ agent }: AgentRecords) =>
  new ApiError(
    'POLICY_REJECTED',
    agent?.admitted_by === undefined
      ? 'The operators of this gate must approve each agent before it can get its first PAT. This agent is waiting for approval; ask again once it is approved.'
      : 'This agent was approved through its domain. Send agent_directory again, or ask again once the agent itself is approved.',
    { details: { reason: 'approval_pending' } },
  );
