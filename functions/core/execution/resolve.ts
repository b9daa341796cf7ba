import { executionRequest } from '../../../schemas/execution.ts';
import { openReplayMeter } from '../../trial/replay-meter.ts';
import { noteTrialVerdict } from '../../trial/trial-verdict.ts';
import { type AgentRecords, agentRecordKeys, toAgentRecords } from '../activity/agent.ts';
import { type JsonValue, parseWithNulls } from '../json/json.ts';
import { countServiceCall } from '../limit/limit-request.ts';
import { openValidators } from '../parameters/validators.ts';
import { judgedAgent } from '../pat/holder.ts';
import { judgedIntent } from '../policy/conditions.ts';
import { chargesOf, rulesFor, rulesRequiringApproval } from '../policy/judge.ts';
import { isRate, tightest } from '../policy/limits.ts';
import type { Rule } from '../policy/reading.ts';
import { findMismatch, type LiveIntent, type LiveIntents, requireIntent, requireNotPaused } from '../registry/live-intents.ts';
import { expectedInputs, nullRules } from '../relay/endpoint.ts';
import { buildRequest, type UpstreamRequest } from '../relay/request.ts';
import { openRecheck, type Recheck, requireNotStopped } from './block-check.ts';
import type { Execution, ExecutionRequest } from './execution.ts';
import { fingerprintOf, keyRequired, readIdempotencyKey } from './idempotency-key.ts';
import type { OnceOptions } from './once.ts';
import { requirePermission, requirePermittedCall } from './permission.ts';
import type { SlowCalls, SlowCallsOfOrigin } from './slow-calls.ts';

/** A permitted call, for which nothing has been written or sent yet. */
export interface ResolvedCall extends LiveIntent, OnceOptions {
  upstreamRequest: UpstreamRequest;
  /** the arguments, with defaults filled in */
  values: Record<string, unknown>;
  rules: Rule[];
  /** records of the calling agent */
  records: AgentRecords;
  /** JSON pointers to the requested members of the answer */
  fields: string[] | undefined;
  /** requested maximum size of the answer, in bytes */
  maxBytes: number | undefined;
  slowCalls: SlowCallsOfOrigin;
  /**
   * Makes sure that, since they were read, the agent has not been blocked or revoked, nor the intent withdrawn or its service paused; see
   * `block-check.ts`.
   * @throws ApiError FORBIDDEN, UNAUTHORIZED, NOT_FOUND, VERSION_CONFLICT, INTENT_DEPRECATED or SERVICE_UNAVAILABLE
   */
  recheck: Recheck;
}

/** Whether the caller prefers not to wait (RFC 7240 section 4.1). */
const prefersAsync = ({ headerValues }: ExecutionRequest): boolean =>
  headerValues('prefer').some((field) => field.split(/[,;]/).some((preference) => preference.trim().toLowerCase() === 'respond-async'));

/** Whether a call is deferred: a person has to approve it, or its caller prefers not to wait. */
export const isDeferred = (request: ExecutionRequest, rules: readonly Rule[]): boolean =>
  rulesRequiringApproval(rules).length > 0 || prefersAsync(request);

const keyMissing =
  'The service of this intent requires a key, so the call was not sent. Send it with the header idempotency-key, and repeat it only with the same key.';

export function openResolver(intents: Pick<LiveIntents, 'findWith' | 'versions'>, slowCalls: SlowCalls, now: () => number) {
  const validate = openValidators(nullRules, expectedInputs);
  const replays = openReplayMeter(now);

  /**
   * Resolves a request to a permitted call. Usually takes one read; a second for an intent that is new to this instance, or to list other versions
   * in a refusal.
   * @throws ApiError any refusal that needs no counter
   */
  return async (execution: Execution, body: JsonValue): Promise<ResolvedCall> => {
    const { request, nowMs, caller, holder, logLine, quota, counterFor } = execution;
    const { claims, policy, proof } = caller;
    const { principal, account } = holder;
    const { intent_uid, parameters, fields, max_bytes } = parseWithNulls(executionRequest, body);
    const find = async () => {
      const { found, others, related } = await intents.findWith(intent_uid, agentRecordKeys(claims.sub, principal), slowCalls.keyOf);
      const records = toAgentRecords(others);
      requireNotStopped(records, claims);
      return { live: await requireIntent(found, intent_uid, intents), records, slowCallsItem: related };
    };
    const recheck = openRecheck(async () => requireNotPaused((await find()).live));
    const { live, records, slowCallsItem } = await find();
    const { intent, service } = live;
    const judged = judgedIntent(intent, service);
    logLine.note({ intent_uid, service_id: intent.service_id, method: judged.method, tags: [...(intent.tags ?? [])] });
    noteTrialVerdict(execution, judged, () => validate(intent, parameters));
    requirePermission(caller, intent_uid);
    quota.setLimits(counterFor(rulesFor(policy.compiled.rules, judged)));
    const values = validate(intent, parameters);
    const upstreamRequest = buildRequest(intent, values);
    const rules = requirePermittedCall(policy, { ...judged, ...judgedAgent(claims), parameters: values, nowMs });
    quota.setLimits(counterFor(rules), service.limit && countServiceCall(service.service_id, service.limit));
    const replayLimit = claims.lmt ?? tightest(chargesOf(rules).filter(isRate));
    const isKeyRequired = intent.endpoint.idempotency_key?.required === true;
    const usualKey = isDeferred(request, rules) ? request.keyIfDeferred : isKeyRequired ? request.keyIfRequired : undefined;
    const key = readIdempotencyKey(request) ?? usualKey;
    if (isKeyRequired && key === undefined) throw keyRequired(keyMissing);
    const { executionId } = logLine;
    const ofOrigin = slowCalls.of(intent, slowCallsItem);
    return {
      intent,
      service,
      upstreamRequest,
      values,
      rules,
      records,
      fields,
      maxBytes: max_bytes,
      slowCalls: ofOrigin,
      keyed: key === undefined ? undefined : { account, executionId, key, fingerprint: fingerprintOf(intent_uid, parameters), nowMs },
      replays: replayLimit && replays.of(account, replayLimit),
      precheck: async () => {
        const mismatch = findMismatch(request, live);
        if (mismatch) throw mismatch;
        requireNotPaused(live);
        ofOrigin.requireRoom();
        await quota.precheck();
      },
      useProof: async () => proof?.use(),
      baseUrl: request.baseUrl,
      recheck,
    };
  };
}
