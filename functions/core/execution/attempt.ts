/**
 * The order before a call is sent: `countAndRecheck` counts it against the limits of agent and service (`quota.ts`, which calls
 * `limit/rate-limiter.ts`), then rereads agent and intent if the last read is more than three seconds old (`recheck` in `block-check.ts`). `send` of
 * `relay/call.ts` follows immediately; it first checks the deadline and, if the connection is reused, that it is still open.
 */

import { type ApiResponse, ok } from '../http/response.ts';
import { mapAnswer, refuseMismatch } from '../relay/answer.ts';
import { describeHead, describeIssues } from '../relay/answer-headers.ts';
import type { ConnectedCall, Relay, Resend, UpstreamAnswer } from '../relay/call.ts';
import { CallFailed } from '../relay/call-failure.ts';
import { carriesCredential } from '../relay/credential.ts';
import { ApiError } from '../runtime/api-error.ts';
import { bounded } from '../runtime/invocation.ts';
import type { Execution, LogLine } from './execution.ts';
import { upstreamKeyOf, upstreamUuidOf } from './idempotency-key.ts';
import type { Attempted } from './once.ts';
import type { Guards, Resolved, ResolvedCall } from './resolve.ts';

/** Time reserved at the end of the invocation to record the outcome of the call, in milliseconds. */
const reservedMs = 3_000;

/**
 * Connects, counts and sends a call. Sends it again only if the upstream has certainly not acted. If nothing was sent, refunds budgets and totals;
 * rates stay counted.
 */
export async function attempt(relay: Pick<Relay, 'connect'>, execution: Execution, { call, guards }: Resolved): Promise<Attempted> {
  const { logLine, quota } = execution;
  let endWatch: (() => Promise<void>) | undefined;
  let connected: ConnectedCall | undefined;
  let mayBeSent = false;
  try {
    endWatch = await guards.slowCalls.watch();
    connected = await relay.connect(outgoing(execution, call, guards));
    await countAndRecheck(execution, guards);
    mayBeSent = true;
    logLine.note({ sent: true });
    let outcome = await connected.send();
    while ('giveUp' in outcome) outcome = await sendAgain(outcome, execution, guards);
    logLine.note({ ...upstreamOf(call), ...(outcome.isByNext && { credential: 'next' }) });
    return { mayHaveActed: true, result: toResponse(outcome, call, logLine) };
  } catch (error) {
    const failure = error instanceof CallFailed ? error : undefined;
    // failures of the gate itself are not attributed to the upstream
    if (failure?.isOfUpstream) logLine.note(upstreamOf(call));
    if (mayBeSent && failure?.outcome !== 'not_sent') return { mayHaveActed: !isTurnedAway(error), result: error };
    if (mayBeSent) logLine.note({ sent: false });
    else connected?.drop();
    await quota.giveBack();
    return { mayHaveActed: false, result: error };
  } finally {
    await endWatch?.();
  }
}

/** Remaining time for the call, in milliseconds. */
const leftMs = ({ request }: Execution): number => Math.max(0, request.remainingMs() - reservedMs);

/** Runs right before each send. Counts again after a reread, because counts and reads both age. */
async function countAndRecheck({ quota, logLine }: Execution, { recheck }: Guards): Promise<void> {
  do {
    await quota.count();
    // counted, but not sent yet
    logLine.note({ sent: false });
  } while ((await recheck()) === 'read again');
}

/** Resends a call on which the upstream has not acted. If the call is no longer allowed, its first outcome stands. */
async function sendAgain(resend: Resend, execution: Execution, guards: Guards): Promise<UpstreamAnswer | Resend> {
  try {
    await bounded(leftMs(execution), () => countAndRecheck(execution, guards));
  } catch (error) {
    if (error instanceof ApiError || leftMs(execution) <= 0) return resend.giveUp();
    resend.drop();
    throw error;
  } finally {
    execution.logLine.note({ sent: true });
  }
  return resend.send();
}

/** Whether the upstream answered 429 (RFC 6585 section 4): it did not act, so the call may be repeated under the same key. */
const isTurnedAway = (error: unknown): boolean => error instanceof ApiError && error.details.upstream_status === 429;

function outgoing(execution: Execution, { intent, service, upstreamRequest, keyed, token }: ResolvedCall, { recheck }: Guards) {
  const { request, logLine, caller, agent } = execution;
  const { account, agentDomain } = agent;
  return {
    agentId: caller.claims.sub,
    account,
    agentDomain,
    executionId: logLine.executionId,
    request: upstreamRequest,
    intentUid: intent.intent_uid,
    service,
    token,
    recheck,
    requestId: request.requestId,
    ...(keyed && { idempotencyKey: (intent.endpoint.idempotency_key?.format ? upstreamUuidOf : upstreamKeyOf)(account, keyed.key) }),
    baseUrl: request.baseUrl,
    deadlineMs: leftMs(execution),
  };
}

function upstreamOf({ service, upstreamRequest }: ResolvedCall): LogLine['notes'] {
  const { host, origin } = new URL(upstreamRequest.url);
  return {
    upstream_host: host,
    ...(service.credential && { credential: carriesCredential(service, origin) ? 'sent' : 'withheld' }),
  };
}

/** @throws ApiError the upstream's refusal */
function toResponse(answer: UpstreamAnswer, { intent }: ResolvedCall, logLine: LogLine): ApiResponse {
  logLine.note({ upstream_status: answer.status, upstream_ms: Math.round(answer.durationMs), answer_bytes: answer.body.length });
  try {
    const { body, issues } = mapAnswer(answer, intent);
    const head = describeHead(answer, intent);
    if (issues.length === 0) return ok(body, head);
    logLine.note({ drift: true });
    if (intent.strict) throw refuseMismatch(answer, issues, intent);
    return ok(body, { ...head, ...describeIssues(issues) });
  } finally {
    if (answer.redactor.hasFound) logLine.note({ credential_echoed: true });
  }
}
