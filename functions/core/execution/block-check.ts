/**
 * Where a block stops an agent. (It also ends what a feature keeps for a person: `functions/connections/connections.ts`.)
 * - New PATs: `pat/bind-agent.ts`, also in the conditions of the writes that bind an agent to its key. A refresh token is refused even after the
 *   block has been lifted (`functions/sign-in/tokens.ts`).
 * - Approvals: `functions/agents/agent-changes.ts` refuses to approve a blocked agent, `functions/agents/waiting-agents.ts` to queue it.
 * - Executions: `resolve.ts` passes the agent's records to {@link requireNotStopped}. Right before the call, or a message that accompanies it, is
 *   sent, they are reread if older than three seconds ({@link openRecheck}); a block is confirmed only after that time ({@link outwaitEarlierReads}).
 * - MCP for hosts that sign people in: `admit.ts` refuses every request.
 * - Stored answers: `answer-as-before.ts` withholds the outcome of an earlier request from a blocked agent, `functions/get-execution.ts` that of a
 *   deferred call.
 * - Deferred calls: before a block is confirmed, `functions/agents/block-agent.ts` voids the agent's calls that have not begun, which frees their places.
 *   A call that was stored at that moment, or approved before, is voided by `deferred-worker.ts`, an approved one also if the block has been lifted; one that still
 *   waits then is voided by `void-check.ts` when an admin approves it, or its agent polls or requests it again.
 */
import type { PatClaims } from '../../../schemas/pat.ts';
import { type AgentRecords, isBlocked, isRevoked } from '../activity/agent.ts';
import { invalidToken } from '../http/bearer.ts';
import { agentBlocked } from '../pat/refusals.ts';
import { unavailable } from '../runtime/api-error.ts';

/** @throws ApiError FORBIDDEN if the agent or its key is blocked, UNAUTHORIZED if the PAT has been revoked */
export function requireNotStopped(records: AgentRecords, claims: PatClaims): void {
  if (isBlocked(records)) throw agentBlocked('FORBIDDEN');
  if (isRevoked(records.agent, claims))
    throw invalidToken('The PAT has been revoked. Ask the operators why, then get a new one with POST /api/pat/issue.');
}

/**
 * Maximum delay between reading an agent's block status and sending its call, in milliseconds; after that, the status is reread. The response
 * to a block is delayed this long, so every execution that read the status before the block has either sent its call or must reread. Both sides
 * measure durations, so their clocks need not agree.
 */
export const recheckAfterMs = 3_000;

/** Added to that delay, in milliseconds, because clocks run at slightly different speeds. */
const marginMs = 100;

const maxReads = 3;

/** Makes sure that the records a call depends on were read recently enough, rereading them if necessary. */
export type Recheck = () => Promise<'still fresh' | 'read again'>;

/**
 * @param readAgain - throws if the call is no longer allowed
 * @param startedMs - before the first read; by `performance.now()`
 * @returns a check to run right before sending; throws what `readAgain` throws, or ApiError SERVICE_UNAVAILABLE if reads take too long
 */
export function openRecheck(readAgain: () => Promise<void>, startedMs: number): Recheck {
  let readMs = startedMs;
  const isFresh = () => performance.now() - readMs <= recheckAfterMs;
  return async () => {
    if (isFresh()) return 'still fresh';
    for (let read = 0; read < maxReads; read++) {
      const againMs = performance.now();
      await readAgain();
      readMs = againMs;
      if (isFresh()) return 'read again';
    }
    throw unavailable('The call could not be admitted in time, and was not made. Try again after Retry-After.');
  };
}

/** Waits until every execution that has already read its agent's status has sent its call or must reread. */
export const outwaitEarlierReads = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, recheckAfterMs + marginMs));
