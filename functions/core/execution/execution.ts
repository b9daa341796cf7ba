import type { ApiRequest } from '../http/request.ts';
import { countExecution, type LimitRequest } from '../limit/limit-request.ts';
import type { RateLimiter } from '../limit/rate-limiter.ts';
import type { Authenticated } from '../pat/authenticate.ts';
import { type Holder, holderOf, judgedAgent } from '../pat/holder.ts';
import { chargesOf, rulesForAll } from '../policy/judge.ts';
import type { Rule } from '../policy/reading.ts';
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
  logLine: LogLine;
  quota: Quota;
  counterFor(rules: readonly Rule[]): LimitRequest;
}

/** @param executionId - id of a deferred call; default: a new one */
export function openExecution(
  request: ExecutionRequest,
  caller: Authenticated,
  limits: RateLimiter,
  nowMs: number,
  executionId?: string,
): Execution {
  const { claims, policy } = caller;
  const holder = holderOf(claims);
  const logLine = openLogLine(request, claims.sub, policy.digest, executionId);
  const key = request.header('idempotency-key');
  logLine.note({
    started_at: new Date(nowMs).toISOString(),
    holder: holder.principal,
    agent_domain: judgedAgent(claims).agentDomain ?? '',
    ...(holder.account !== holder.principal && { account: holder.account }),
    ...(executionId !== undefined && { is_deferred: true }),
    ...(key !== undefined && { call_key: upstreamKeyOf(holder.account, key).slice(0, 16) }),
  });
  const counterFor = (rules: readonly Rule[]) => countExecution(holder, chargesOf(rules));
  return {
    request,
    nowMs,
    caller,
    holder,
    logLine,
    quota: openQuota(limits, counterFor(rulesForAll(policy.compiled))),
    counterFor,
  };
}
