import type { ApiRequest } from '../http/request.ts';
import type { RateLimiter } from '../limit/rate-limiter.ts';
import type { Authenticated } from '../pat/authenticate.ts';
import { type Holder, holderOf, judgedAgent } from '../pat/holder.ts';
import type { JudgedAgent, JudgedIntent } from '../policy/conditions.ts';
import { rulesForAll } from '../policy/judge.ts';
import { upstreamKeyOf } from './idempotency-key.ts';
import { type LogLine, openLogLine } from './log-line.ts';
import { openQuota, type Quota } from './quota.ts';

/** The part of a request that an execution reads. */
export type ExecutionRequest = Pick<
  ApiRequest,
  'requestId' | 'baseUrl' | 'header' | 'headerValues' | 'ifMatch' | 'keyIfDeferred' | 'keyIfRequired' | 'remainingMs'
>;

export interface Execution {
  request: ExecutionRequest;
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
 * What a feature notes in the log line of an execution, once its intent is known and before the policy decides. It must not throw.
 * @param valuesOf - validates the arguments; throws ApiError
 */
export type Observe = (execution: Execution, intent: JudgedIntent, valuesOf: () => Record<string, unknown>) => void;

/** @param executionId - id of a deferred call; default: a new one */
export function openExecution(
  request: ExecutionRequest,
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
