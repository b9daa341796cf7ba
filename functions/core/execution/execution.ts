import type { RecordedExecution } from '../../../schemas/executions.ts';
import type { ApiRequest } from '../http/request.ts';
import type { RateLimiter } from '../limit/rate-limiter.ts';
import type { Authenticated } from '../pat/authenticate.ts';
import { type Holder, holderOf, judgedAgent } from '../pat/holder.ts';
import type { JudgedAgent, JudgedIntent } from '../policy/conditions.ts';
import { rulesForAll } from '../policy/judge.ts';
import { log } from '../runtime/log.ts';
import { newUlid } from '../runtime/ulid.ts';
import { upstreamKeyOf } from './idempotency-key.ts';
import { openQuota, type Quota } from './quota.ts';

/** The part of a request that an execution reads. */
export type ExecutionHttp = Pick<
  ApiRequest,
  'requestId' | 'baseUrl' | 'header' | 'headerValues' | 'ifMatch' | 'keyIfDeferred' | 'keyIfRequired' | 'remainingMs'
>;

export interface Execution {
  request: ExecutionHttp;
  /** start of the execution, in milliseconds since the epoch */
  nowMs: number;
  caller: Authenticated;
  holder: Holder;
  /** what conditions of the policy can test about the holder */
  agent: JudgedAgent;
  logLine: LogLine;
  quota: Quota;
}

/**
 * What a feature notes in the log line of an execution, once its intent is known and before the policy decides. It delays the call, and must not reject.
 * @param valuesOf - validates the arguments; throws ApiError
 */
export type Observe = (execution: Execution, intent: JudgedIntent, valuesOf: () => Record<string, unknown>) => void | Promise<void>;

/** @param executionId - id of a deferred call; default: a new one */
export function openExecution(
  request: ExecutionHttp,
  caller: Authenticated,
  limits: RateLimiter,
  nowMs: number,
  executionId?: string,
): Execution {
  const { claims, policy } = caller;
  const [holder, agent] = [holderOf(claims), judgedAgent(claims)];
  const logLine = openLogLine(request, claims.sub, policy.digest, executionId);
  const key = request.header('idempotency-key');
  logLine.note({
    started_at: new Date(nowMs).toISOString(),
    holder: holder.principal,
    agent_domain: agent.agentDomain ?? '',
    ...(holder.account !== holder.principal && { account: holder.account }),
    ...(executionId !== undefined && { is_deferred: true }),
    ...(key !== undefined && { call_key: upstreamKeyOf(holder.account, key).slice(0, 16) }),
  });
  return { request, nowMs, caller, holder, agent, logLine, quota: openQuota(limits, holder, rulesForAll(policy.compiled)) };
}

/** Members that are logged but not kept; {@link RecordedExecution} has the others. */
interface LoggedOnly {
  /** `sent`; `next`: the next values or a renewed token were accepted; `withheld`: the origin is not allowed to receive it */
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
function openLogLine({ requestId }: { requestId: string }, agentId: string, policyDigest: string, executionId = newUlid()) {
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
