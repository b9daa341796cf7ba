import type { ErrorCode } from '../../../schemas/errors.ts';
import { log } from '../log.ts';
import { newUlid } from '../ulid.ts';

/** What becomes known about an execution while it runs. */
interface Notes {
  intent_uid?: string;
  service_id?: string;
  upstream_host?: string;
  /** of a service that has one: whether the call is to carry it, or has carried the values that come next, or is at another origin than those that it goes to */
  credential?: 'sent' | 'next' | 'withheld';
  upstream_status?: number;
  upstream_ms?: number;
  /** the upstream's answer did not match the intent's output_parameters */
  drift?: true;
  /** the upstream's answer held a value of the service's credential, which was taken out */
  credential_echoed?: true;
  /** size of the upstream's answer */
  answer_bytes?: number;
}

/** The record of one execution: enough to count usage by agent, service and day, never a parameter or a token. */
export interface Receipt {
  executionId: string;
  /** `Execution-Id`, for the answer */
  headers: Record<string, string>;
  note(notes: Notes): void;
  /** what is known so far */
  readonly notes: Readonly<Notes>;
  /** Writes one log line: message `executed`, or `deferred` if the call has not been made yet. */
  write(outcome: 'OK' | 'DEFERRED' | ErrorCode, answerHeaders?: Record<string, string>): void;
}

/** @param executionId - of a call that was deferred */
export function openReceipt({ requestId }: { requestId: string }, agentId: string, policyDigest: string, executionId = newUlid()): Receipt {
  const startedMs = performance.now();
  const notes: Notes = {};
  return {
    executionId,
    headers: { 'Execution-Id': executionId },
    note: (more) => void Object.assign(notes, more),
    notes,
    write: (outcome, answerHeaders = {}) => {
      const durationMs = Math.round(performance.now() - startedMs);
      log.info(outcome === 'DEFERRED' ? 'deferred' : 'executed', {
        execution_id: executionId,
        request_id: requestId,
        agent_id: agentId,
        policy_digest: policyDigest,
        outcome,
        is_replayed: answerHeaders['Idempotent-Replayed'] === 'true',
        ...notes,
        duration_ms: durationMs,
      });
    },
  };
}
