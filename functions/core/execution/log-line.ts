import type { RecordedExecution } from '../../../schemas/executions.ts';
import { log } from '../runtime/log.ts';
import { newUlid } from '../runtime/ulid.ts';

/** Members that are logged but not kept; {@link RecordedExecution} has the others. */
interface LoggedOnly {
  /** `sent`; `next`: the rotated values were used; `withheld`: the origin is not allowed to receive it */
  credential?: 'sent' | 'next' | 'withheld';
  /** the answer contained a value of the credential, which was removed */
  credential_echoed?: true;
  answer_bytes?: number;
}

type Notes = Partial<RecordedExecution> & LoggedOnly;

/**
 * Opens the log line of one execution. It suffices to count usage by agent, service and day, and never contains a parameter or a token.
 * @param executionId - id of a deferred call; default: a new one
 */
export function openLogLine({ requestId }: { requestId: string }, agentId: string, policyDigest: string, executionId = newUlid()) {
  const startedMs = performance.now();
  const notes: Notes = {};
  return {
    executionId,
    headers: { 'Execution-Id': executionId },
    note: (more: Notes): void => void Object.assign(notes, more),
    notes: notes as Readonly<Notes>,

    /** Writes one log line: message `executed`, or `deferred` if the call has not been made yet. */
    write(outcome: RecordedExecution['outcome'] | 'DEFERRED', answerHeaders: Record<string, string> = {}): void {
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

export type LogLine = ReturnType<typeof openLogLine>;
