import { longestCallSeconds } from '../../../schemas/deferred.ts';
import { executionRequest } from '../../../schemas/execution.ts';
import { logAnswer } from '../http/log-answer.ts';
import { parseWithNulls } from '../json/json.ts';
import type { RateLimiter } from '../limit/rate-limiter.ts';
import { judgedAgent } from '../pat/holder.ts';
import { rulesRequiringApproval } from '../policy/judge.ts';
import { type FindPolicy, policyFor } from '../policy/policy.ts';
import type { LiveIntents } from '../registry/live-intents.ts';
import type { Relay } from '../relay/call.ts';
import { ApiError } from '../runtime/api-error.ts';
import { readTrace, withinTrace } from '../runtime/trace.ts';
import { newUlid } from '../runtime/ulid.ts';
import type { Around } from './around.ts';
import { attempt } from './attempt.ts';
import type { DeferredCall, DeferredCalls } from './deferred-call-store.ts';
import { type Execution, type ExecutionHttp, openExecution } from './execution.ts';
import { logOutcome } from './log-outcome.ts';
import { type Attempted, answerOrThrow, isOutcome, withAdded } from './once.ts';
import type { openResolver } from './resolve.ts';
import { findChangeSinceRequest, readCircumstances, voidBecause } from './void-check.ts';

export interface DeferredRunParts {
  deferred: Pick<DeferredCalls, 'find' | 'claim' | 'finish' | 'leave'>;
  intents: Pick<LiveIntents, 'findWith'>;
  resolve: ReturnType<typeof openResolver>['resolve'];
  findPolicy: FindPolicy;
  limits: RateLimiter;
  relay: Pick<Relay, 'connect'>;
  around: Around;
  /** milliseconds since the epoch */
  now: () => number;
}

/**
 * Opens the worker of deferred calls. However often it is started for a call, the call is made at most once: only the run that claims it may make it, and
 * it can be claimed only once, unless nothing was sent and it is resumed. Policy, agent, intent and limits are read at run time; agent and intent are rechecked right before the call is sent.
 * @returns a function that makes the call of an execution; `remainingMs`: remaining time of the run
 */
export function openDeferredRun({ deferred, intents, resolve, findPolicy, limits, relay, around, now }: DeferredRunParts) {
  return async (executionId: string, remainingMs: () => number): Promise<void> => {
    const nowMs = now();
    const call = await deferred.find(executionId);
    if (call?.item.state !== 'queued') return;
    const { baseUrl, claims, trace, requestId } = call.content;
    // before the claim: a run that cannot read the policy leaves the call to the next one
    const caller = { claims, policy: policyFor(await findPolicy(baseUrl), judgedAgent(claims)), proof: undefined };
    const run = newUlid();
    if (!(await deferred.claim(call, run, nowMs))) return;
    const execution = openExecution(requestOf(call, remainingMs), caller, limits, nowMs, executionId);
    await withinTrace(readTrace(trace.traceparent, trace.tracestate), async () => {
      const attempted = await voidIfChanged(
        call,
        await make(call, execution).catch((refusal: unknown): Made => ({ mayHaveActed: false, result: refusal, isRefused: true })),
      );
      const outcome = withAdded(attempted);
      // No client waits for this answer, but alarms count the gate's failures by the line that `logAnswer` writes.
      const failure: unknown = await logOutcome(execution, (async () => answerOrThrow(outcome))()).then(
        () => undefined,
        (error: unknown) => error,
      );
      logAnswer('answered', { request_id: requestId, endpoint: 'run-deferred-call' }, failure as Error | undefined);
      if (!isOutcome(outcome)) throw outcome;
      const { mayHaveActed, isRefused, added } = attempted;
      // a call on which the service may have acted, or that is refused for good or void, uses up its key
      const mayRepeat = !mayHaveActed && outcome instanceof ApiError && (!isRefused || isTemporary(outcome));
      const repeatable = !mayRepeat ? undefined : outcome.details.upstream_status === undefined ? 'not sent' : 'sent';
      const stored = repeatable === 'not sent' ? (outcome as ApiError).withDetails({ outcome: 'not_sent' }) : outcome;
      await deferred.finish(call, { run, outcome: stored, repeatable, writes: added?.writes }, remainingMs);
    }).finally(() => (call.content.shown ? undefined : deferred.leave(call)));
  };

  /** Makes the call unless its circumstances have changed. */
  async function make({ content }: DeferredCall, execution: Execution): Promise<Made> {
    if (execution.caller.policy.reference !== content.claims.pol) throw voidBecause('The policy has changed');
    const resolved = await resolve(execution, parseWithNulls(executionRequest, content.body));
    const { call, guards } = resolved;
    const change = findChangeSinceRequest(content, { found: call, records: call.records, policy: content.claims.pol });
    if (change) throw change;
    if (!content.shown && rulesRequiringApproval(call.rules).length > 0)
      throw voidBecause("The policy has changed to require a person's approval");
    await guards.precheck();
    return around(execution, call, () => attempt(relay, execution, resolved));
  }

  /** A refusal of the gate whose reason is that the circumstances have changed makes the call void. */
  async function voidIfChanged({ content }: DeferredCall, made: Made): Promise<Made> {
    const { mayHaveActed, result } = made;
    if (mayHaveActed || !(result instanceof ApiError) || result.details.upstream_status !== undefined || isTemporary(result)) return made;
    const change = await readCircumstances(intents, content).then(
      (seen) => findChangeSinceRequest(content, { ...seen, policy: content.claims.pol }),
      () => undefined,
    );
    return change ? { mayHaveActed, result: change, isRefused: true } : made;
  }
}

/** An attempt, or the refusal to make one. */
type Made = Attempted & { isRefused?: true };

/** Whether a refusal is temporary. */
const isTemporary = ({ status }: ApiError): boolean => [429, 503].includes(status);

/** Reconstructs the request from the stored call. `If-Match` was checked when the call was accepted. */
function requestOf({ key, content }: DeferredCall, remainingMs: () => number): ExecutionHttp {
  const { requestId, baseUrl } = content;
  const header = (name: string) => (name === 'idempotency-key' ? key : undefined);
  return {
    requestId,
    baseUrl,
    header,
    headerValues: (name) => [header(name) ?? []].flat(),
    ifMatch: () => true,
    remainingMs: () => Math.min(remainingMs(), longestCallSeconds * 1_000 + 10_000),
  };
}
