import type { ErrorCode } from '../../../schemas/errors.ts';
import type { RecordedExecution } from '../../../schemas/executions.ts';
import { log } from '../log.ts';
import { newUlid } from '../ulid.ts';

interface Notes {
  intent_uid?: string;
  service_id?: string;
  upstream_host?: string;
  /** `sent`; `next`: the rotated values were used; `withheld`: the origin is not allowed to receive it */
  credential?: 'sent' | 'next' | 'withheld';
  upstream_status?: number;
  upstream_ms?: number;
  /** the upstream's answer did not match the intent's output_parameters */
  drift?: true;
  /** the answer contained a value of the credential, which was removed */
  credential_echoed?: true;
  answer_bytes?: number;
}

/** Input of later policy trials (see `schemas/executions.ts`): caller, time, and the properties of the intent that conditions can test. */
type Recorded = Pick<
  RecordedExecution,
  | 'started_at'
  | 'holder'
  | 'account'
  | 'agent_domain'
  | 'method'
  | 'tags'
  | 'reason'
  | 'rule'
  | 'sent'
  | 'is_deferred'
  | 'call_key'
  | 'trial'
>;

/** The log line of one execution. It suffices to count usage by agent, service and day, and never contains a parameter or a token. */
export interface LogLine {
  executionId: string;
  /** response header `Execution-Id` */
  headers: Record<string, string>;
  note(notes: Notes & Recorded): void;
  readonly notes: Readonly<Notes & Recorded>;
  /** Writes one log line: message `executed`, or `deferred` if the call has not been made yet. */
  write(outcome: 'OK' | 'DEFERRED' | ErrorCode, answerHeaders?: Record<string, string>): void;
}

/** @param executionId - id of a deferred call; default: a new one */
export function openLogLine({ requestId }: { requestId: string }, agentId: string, policyDigest: string, executionId = newUlid()): LogLine {
  const startedMs = performance.now();
  const notes: Notes & Recorded = {};
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
