import { type BoundAgent, isBlocked, type Standing, sharedIdOf } from '../activity/agent.ts';
import { agentBlockedAtIssue, agentIdTaken } from '../activity/agent-refusals.ts';
import type { Applicants } from '../activity/applicants.ts';
import { ApiError, unavailable } from '../api-error.ts';
import { invalidSignature } from './refusals.ts';

export interface BindingRules {
  /** agents have to be approved before their first PAT */
  isApprovalRequired: boolean;
  /** several keys may use one agent_id */
  isSharingAllowed: boolean;
}

/** Who asks for a PAT, and when. */
interface Presented {
  agentId: string;
  thumbprint: string;
  nowMs: number;
  hasProof: boolean;
}

/** What is known of an agent, and what it is called. */
interface Found extends Presented {
  standing: Standing;
}

/**
 * Finds the agent that an id and a key mean: if ids may be shared, a key that presents the id of another is an agent of its own.
 * @throws ApiError if what is known of the agent rules a PAT out: POLICY_REJECTED, or INVALID_SIGNATURE if a proof is missing
 */
export async function findAgent(agents: Applicants, presented: Presented, rules: BindingRules): Promise<Found> {
  const { agentId, thumbprint, hasProof } = presented;
  const standing = await agents.standingOf(agentId, thumbprint);
  const { agent, key } = standing;
  const isTaken = agent?.thumbprint !== undefined && agent.thumbprint !== thumbprint;
  if (isBlocked(standing)) throw agentBlockedAtIssue();
  if (isTaken && rules.isSharingAllowed) {
    const own = sharedIdOf(agentId, thumbprint);
    return findAgent(agents, { ...presented, agentId: own }, { ...rules, isSharingAllowed: false });
  }
  if (isTaken) throw agentIdTaken();
  if (!hasProof && (agent?.proof || key?.proof)) throw proofMissing();
  if (rules.isApprovalRequired && standing.isWaiting && agent?.generation === undefined) throw approvalPending();
  return { ...presented, standing };
}

/** Binds the agent_id to the key; or lets the agent wait for approval, if it needs one. */
export async function bindAgent(agents: Applicants, presented: Presented, seen: Found, rules: BindingRules): Promise<BoundAgent> {
  const { isApprovalRequired } = rules;
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const { standing, ...found } = attempt === 0 ? seen : await findAgent(agents, presented, rules);
    if (isApprovalRequired && standing.agent?.generation === undefined) {
      await agents.ask(found);
      throw approvalPending();
    }
    const bound = await agents.bind({ ...found, mustBeKnown: isApprovalRequired }, standing);
    if (bound) return bound;
  }
  throw unavailable('Several requests ask for this agent at once. Try again after Retry-After.');
}

/** An attempt fails only if the agent has changed since it was read. */
const maxAttempts = 5;

const proofMissing = () =>
  invalidSignature(
    'This agent or its key has been issued a PAT with a proof of possession, and gets none without since then. Send a DPoP header (RFC 9449) made with agent_public_key.',
  );

const approvalPending = () =>
  new ApiError(
    'POLICY_REJECTED',
    'The operators of this gate approve each agent before its first PAT. This one waits for that; ask again once it is approved.',
    { details: { reason: 'approval_pending' } },
  );
