import { canonicalDigest } from '../../../schemas/canonical.ts';
import { type ApprovalContent, longestCallSeconds } from '../../../schemas/deferred.ts';
import { digestIntent } from '../../../schemas/intent-digest.ts';
import type { ApiResponse } from '../http/response.ts';
import type { JsonObject, JsonValue } from '../json/json.ts';
import { describeRule } from '../policy/describe.ts';
import { rulesRequiringApproval } from '../policy/judge.ts';
import type { LiveIntents } from '../registry/live-intents.ts';
import { describeCause, log } from '../runtime/log.ts';
import { traceHeaders } from '../runtime/trace.ts';
import { pending } from './deferred-answers.ts';
import type { DeferredCalls, DeferredContent } from './deferred-call-store.ts';
import type { Execution } from './execution.ts';
import { keyRequired } from './idempotency-key.ts';
import type { IdempotentCalls } from './idempotent-call-store.ts';
import { takeKey } from './once.ts';
import type { ResolvedCall } from './resolve.ts';
import { openVoidCheck } from './void-check.ts';

export interface DeferralParts {
  calls: Pick<IdempotentCalls, 'find'>;
  deferred: Pick<DeferredCalls, 'begin' | 'find' | 'makeVoid'>;
  intents: Pick<LiveIntents, 'findWith'>;
  start: (executionId: string) => Promise<void>;
  announce: (shown: ApprovalContent, digest: string, baseUrl: string) => Promise<void>;
  approvalSeconds: number;
}

/** Maximum time until a worker starts, in milliseconds: Lambda retries while the account has no free concurrency. */
export const longestStartMs = 15 * 60_000;

const argumentsOf = (body: JsonValue): JsonObject => (body as { parameters: JsonObject }).parameters;

/** How the arguments that are sent differ from those of the body. Keeping them whole would double the size of the record. */
function compareArguments(body: JsonValue, values: ResolvedCall['values']): Pick<DeferredContent, 'changed' | 'omitted'> {
  const given = argumentsOf(body);
  const isGiven = ([name, value]: [string, unknown]) => Object.hasOwn(given, name) && JSON.stringify(given[name]) === JSON.stringify(value);
  return {
    changed: Object.fromEntries(Object.entries(values).filter((one) => !isGiven(one))),
    omitted: Object.keys(given).filter((name) => !Object.hasOwn(values, name)),
  };
}

/** What an approver is shown: exactly what is sent. */
export function shownOf({ shown, body, changed, omitted }: Omit<DeferredContent, 'claims'>): ApprovalContent | undefined {
  const sent = Object.entries({ ...argumentsOf(body), ...changed }).filter(([name]) => !omitted.includes(name));
  return shown && { ...shown, parameters: Object.fromEntries(sent) };
}

/** The digest of an approval request, which a decision has to name. */
export const digestOfApproval = (shown: ApprovalContent): string => `sha-256=${canonicalDigest(shown)}`;

/** Accepts calls that are made later, with 202. They are counted against limits only when they are made. */
export function openDeferral({ calls, deferred, intents, start, announce, approvalSeconds }: DeferralParts) {
  const defer = async (execution: Execution, call: ResolvedCall, body: JsonValue): Promise<ApiResponse> => {
    const { request, nowMs, caller, logLine } = execution;
    const { keyed } = call;
    if (!keyed) throw keyToDefer();
    const approvalRules = rulesRequiringApproval(call.rules);
    const untilMs = nowMs + (approvalRules.length > 0 ? approvalSeconds * 1_000 : longestStartMs);
    const shown = approvalRules.length > 0 ? show(execution, call, untilMs) : undefined;
    const content: DeferredContent = {
      baseUrl: request.baseUrl,
      requestId: request.requestId,
      claims: caller.claims,
      body,
      intentDigest: digestIntent(call.intent),
      ...compareArguments(body, call.values),
      namespace: call.service.namespace,
      trace: traceHeaders(),
      ...(shown && { shown }),
    };
    // A failure here is harmless: approvers find the call in the list, and a caller that polls its state starts the worker again.
    const tell = (told: Promise<void>) =>
      told.catch((error: unknown) => log.warn('deferred call not announced or started', { cause: describeCause(error) }));
    const earlier = await takeKey(calls, { ...call, keyed }, async () => {
      const begun = await deferred.begin(keyed, content, untilMs, call.records.agent?.first_seen ?? nowMs);
      if (begun.state === 'working') await tell(start(begun.executionId));
      return begun;
    });
    if (earlier) return earlier;
    const { executionId } = logLine;
    const whole = shownOf(content);
    await tell(whole ? announce(whole, digestOfApproval(whole), request.baseUrl) : start(executionId));
    const state = shown
      ? ({ state: 'waiting', executionId, untilMs } as const)
      : ({ state: 'working', executionId, isIdle: false } as const);
    const answer = pending(state, request.baseUrl);
    return shown ? answer : { ...answer, headers: { ...answer.headers, 'Preference-Applied': 'respond-async' } };
  };
  return { defer, requireNotVoid: openVoidCheck(deferred, intents) };
}

const keyToDefer = () =>
  keyRequired(
    `This call is not made immediately: it needs a person's approval, or you asked not to wait. Send it with an Idempotency-Key, so that it is made only once; it may take up to ${longestCallSeconds / 60} minutes once it starts.`,
  );

function show(
  { caller, nowMs, logLine }: Execution,
  { intent, service, rules }: ResolvedCall,
  untilMs: number,
): Omit<ApprovalContent, 'parameters'> {
  const { claims, policy } = caller;
  return {
    id: logLine.executionId,
    agent_id: claims.sub,
    ...('cnf' in claims && { key_thumbprint: claims.cnf.jkt }),
    intent_uid: intent.intent_uid,
    intent_name: intent.intent_name,
    intent_digest: digestIntent(intent),
    service_name: service.service_name,
    ...(service.headers && { headers: service.headers }),
    rules: rulesRequiringApproval(rules).map(describeRule),
    prices: rules
      .flatMap(({ payments }) => payments.filter(({ every, budget }) => budget || every === undefined))
      .map(({ amount, currency }) => ({ amount, currency })),
    policy_digest: policy.digest,
    since: new Date(nowMs).toISOString(),
    expires_at: new Date(untilMs).toISOString(),
  };
}
