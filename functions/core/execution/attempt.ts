/**
 * What happens between the count and the call: `countAndRecheck` counts it in the agent's and the service's limits (`quota.ts`, which calls
 * `limit/rate-limiter.ts`), then reads agent and intent again if it was more than three seconds ago (`recheck` in `block-check.ts`); nothing else comes
 * before `send` of `relay/call.ts`.
 */
import { ApiError } from '../api-error.ts';
import { type ApiResponse, ok } from '../http/response.ts';
import { bounded } from '../invocation.ts';
import { judgedAgent } from '../pat/holder.ts';
import { mapAnswer, refuseMismatch } from '../relay/answer.ts';
import { describeIssues } from '../relay/answer-headers.ts';
import type { ConnectedCall, Relay, Resend, UpstreamAnswer } from '../relay/call.ts';
import { CallFailed } from '../relay/call-failure.ts';
import { carriesCredential } from '../relay/credential.ts';
import type { Execution } from './execution.ts';
import { upstreamKeyOf } from './idempotency-key.ts';
import type { LogLine } from './log-line.ts';
import type { Attempt } from './once.ts';
import type { ResolvedCall } from './resolve.ts';

/** Time reserved at the end of the invocation to record the outcome of the call, in milliseconds. */
const reservedMs = 3_000;

/**
 * Connects, counts and sends a call, at most once. If nothing was sent, money and counts are given back; rates stay counted.
 */
export async function attempt(relay: Pick<Relay, 'connect'>, execution: Execution, call: ResolvedCall): Promise<Attempt> {
  const { logLine, quota } = execution;
  const endWatch = call.slowCalls.watch();
  let connected: ConnectedCall | undefined;
  let mayBeSent = false;
  try {
    connected = await relay.connect(outgoing(execution, call));
    await countAndRecheck(execution, call);
    mayBeSent = true;
    logLine.note({ sent: true });
    let outcome = await connected.send();
    while ('giveUp' in outcome) outcome = await sendAgain(outcome, execution, call);
    logLine.note({ ...upstreamOf(call), ...(outcome.isByNext && { credential: 'next' }) });
    return { mayHaveActed: true, result: describe(outcome, call, logLine) };
  } catch (error) {
    const failure = error instanceof CallFailed ? error : undefined;
    // what the gate refuses or fails to do says nothing about the upstream, and is not counted for it
    if (failure?.isOfUpstream) logLine.note(upstreamOf(call));
    if (mayBeSent && failure?.outcome !== 'not_sent') return { mayHaveActed: !isTurnedAway(error), result: error };
    if (mayBeSent) logLine.note({ sent: false });
    else connected?.drop();
    await quota.giveBack();
    return { mayHaveActed: false, result: error };
  } finally {
    await endWatch();
  }
}

/** The time for the call, in milliseconds. */
const leftMs = ({ request }: Execution): number => Math.max(0, request.remainingMs() - reservedMs);

/** Runs right before each sending, because reading secrets, connecting and reading again take time. */
async function countAndRecheck({ quota, logLine }: Execution, call: ResolvedCall): Promise<void> {
  do {
    await quota.count();
    logLine.note({ sent: false });
  } while ((await call.recheck()) === 'read again');
}

/** Sends a call again on which the upstream has not acted. If it may not be made any more, what has become of it so far is its outcome. */
async function sendAgain(resend: Resend, execution: Execution, call: ResolvedCall): Promise<UpstreamAnswer | Resend> {
  try {
    await bounded(leftMs(execution), () => countAndRecheck(execution, call));
  } catch (error) {
    if (error instanceof ApiError || leftMs(execution) <= 0) return resend.giveUp();
    resend.drop();
    throw error;
  } finally {
    execution.logLine.note({ sent: true });
  }
  return resend.send();
}

/** Whether the upstream answered 429 (RFC 6585 section 4), so that the same call may be made again, later and under the same key. */
const isTurnedAway = (error: unknown): boolean => error instanceof ApiError && error.details.upstream_status === 429;

function outgoing(execution: Execution, { intent, service, upstreamRequest, keyed }: ResolvedCall) {
  const { request, logLine, caller, holder } = execution;
  const { account } = holder;
  return {
    agentId: caller.claims.sub,
    account,
    agentDomain: judgedAgent(caller.claims).agentDomain,
    executionId: logLine.executionId,
    request: upstreamRequest,
    intentUid: intent.intent_uid,
    service,
    requestId: request.requestId,
    ...(keyed && { idempotencyKey: upstreamKeyOf(account, keyed.key) }),
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
function describe(answer: UpstreamAnswer, { intent }: ResolvedCall, logLine: LogLine): ApiResponse {
  logLine.note({ upstream_status: answer.status, upstream_ms: Math.round(answer.durationMs), answer_bytes: answer.body.length });
  try {
    const { body, issues } = mapAnswer(answer, intent);
    if (issues.length === 0) return ok(body);
    logLine.note({ drift: true });
    if (intent.strict) throw refuseMismatch(answer, issues, intent);
    return ok(body, describeIssues(issues));
  } finally {
    if (answer.redactor.hasFound) logLine.note({ credential_echoed: true });
  }
}
