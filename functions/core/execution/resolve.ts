import type { ExecutionInput } from '../../../schemas/execution.ts';
import type { PatClaims } from '../../../schemas/pat.ts';
import { type AgentRecords, agentRecordKeys, toAgentRecords } from '../activity/agent.ts';
import { openValidators } from '../parameters/validators.ts';
import type { Authenticated } from '../pat/authenticate.ts';
import { holderOf } from '../pat/holder.ts';
import { type Call, judgedIntent } from '../policy/conditions.ts';
import { describeRefusal } from '../policy/describe.ts';
import { chargesOf, judge, rulesFor, rulesRequiringApproval } from '../policy/judge.ts';
import { isRate, tightest } from '../policy/limits.ts';
import type { CurrentPolicy, PolicyPointer } from '../policy/policy.ts';
import type { Rule } from '../policy/reading.ts';
import { isPermitted, isProhibited } from '../policy/scope.ts';
import { sightOf } from '../policy/sight.ts';
import {
  findMismatch,
  type LiveIntent,
  type LiveIntents,
  openLiveIntents,
  requireIntent,
  requireNotPaused,
  requireSameCredential,
} from '../registry/live-intents.ts';
import { buildRequest, type UpstreamCall, type UpstreamRequest } from '../relay/build-request.ts';
import { carriesCredential } from '../relay/credential.ts';
import { expectedInputs, nullRules } from '../relay/endpoint.ts';
import { ApiError } from '../runtime/api-error.ts';
import { isCatalogueHidden } from '../runtime/environment.ts';
import { type Key, keys } from '../table/keys.ts';
import type { Table } from '../table/table.ts';
import { openRecheck, type Recheck, requireNotStopped } from './block-check.ts';
import type { Execution, ExecutionHttp, Observe } from './execution.ts';
import { fingerprintOf, givenKeyOf, keyRequired, readIdempotencyKey } from './idempotency-key.ts';
import type { KeyedRequest } from './idempotent-call-store.ts';
import type { EarlyGuards } from './once.ts';
import { openReplayMeter } from './replay-meter.ts';
import { type SlowCalls, type SlowCallsOfOrigin, slowCallsFromEnvironment } from './slow-calls.ts';

/** A permitted call, for which nothing has been written or sent yet. */
export interface ResolvedCall extends LiveIntent {
  input: ExecutionInput;
  /** the arguments, with defaults filled in */
  values: Record<string, unknown>;
  upstreamRequest: UpstreamRequest;
  /** the rules that cover the call */
  rules: Rule[];
  /** records of the calling agent */
  records: AgentRecords;
  /** undefined without an idempotency key */
  keyed: KeyedRequest | undefined;
  /** the key that the transport derives, under which an earlier, equal call may have been deferred */
  earlier: KeyedRequest | undefined;
  /** the gate's address */
  baseUrl: string;
  /** set around the attempt; `recheck` throws ApiError if the records that have been read again no longer allow it */
  token?: UpstreamCall['token'] & { recheck(again: Pick<LiveIntent, 'service' | 'related'>): void };
}

/** What may still stop a permitted call. */
export interface Guards extends EarlyGuards {
  slowCalls: SlowCallsOfOrigin;
  /**
   * Makes sure that, since they were read, the agent has not been blocked or revoked, the intent withdrawn, its service paused or the service's
   * credential changed; see `block-check.ts`.
   * @throws ApiError FORBIDDEN, UNAUTHORIZED, NOT_FOUND, VERSION_CONFLICT, INTENT_DEPRECATED or SERVICE_UNAVAILABLE
   */
  recheck: Recheck;
}

/** The records that decide about an execution. */
export interface ExecutionRecords {
  intentUid: string;
  /** before they were read; by `performance.now()` */
  startedMs: number;
  pointer: PolicyPointer | undefined;
  records: AgentRecords;
  found: LiveIntent | undefined;
}

export interface Resolved {
  call: ResolvedCall;
  guards: Guards;
}

export interface ResolverParts {
  intents: Pick<LiveIntents, 'findWith' | 'versions'>;
  slowCalls: SlowCalls;
  observers?: readonly Observe[];
  /** whether an intent that the policy does not permit counts as missing */
  hidesIntents?: boolean;
  /** Returns the key of a feature's record of a principal and a service, which is read with the others, or none. */
  relatedKeysOf?: ((serviceId: string, principal: string) => Key[]) | undefined;
  /** milliseconds since the epoch */
  now?: () => number;
}

export const resolverParts = (table: Table, leases?: Parameters<typeof slowCallsFromEnvironment>[1]) => ({
  intents: openLiveIntents(table, isCatalogueHidden()),
  slowCalls: slowCallsFromEnvironment(table, leases),
  hidesIntents: isCatalogueHidden(),
});

/** Whether the caller prefers not to wait (RFC 7240 section 4.1). */
export const prefersAsync = ({ headerValues }: ExecutionHttp): boolean =>
  headerValues('prefer').some((field) => field.split(/[,;]/).some((preference) => preference.trim().toLowerCase() === 'respond-async'));

const keyMissing =
  'The service of this intent requires a key, so the call was not sent. Send it with the header idempotency-key, and repeat it only with the same key.';

export function openResolver({ intents, slowCalls, observers = [], hidesIntents = false, relatedKeysOf, now = Date.now }: ResolverParts) {
  const validate = openValidators(nullRules, expectedInputs);
  const replays = openReplayMeter(now);

  /** Reads everything that an execution depends on: in one read, or in two if the intent is new to this instance. */
  async function read(claims: PatClaims, intentUid: string): Promise<ExecutionRecords> {
    const startedMs = performance.now();
    const wanted = [keys.policyInForce(), ...agentRecordKeys(claims.sub, holderOf(claims).principal)];
    // reads nothing about an intent that is hidden, so that the time does not tell that it exists
    const isRead = !hidesIntents || isPermitted(claims.scope, intentUid);
    const { found, others } = await intents.findWith(isRead ? intentUid : '', wanted, (intent) => [
      slowCalls.keyOf(intent),
      ...(relatedKeysOf?.(intent.service_id, holderOf(claims).principal) ?? []),
    ]);
    const [pointer, ...records] = others;
    return { intentUid, startedMs, pointer: pointer as PolicyPointer | undefined, records: toAgentRecords(records), found };
  }

  /**
   * Resolves a request to a permitted call.
   * @param known - the records, if they have been read
   * @throws ApiError any refusal except those of {@link Guards}
   */
  async function resolve(execution: Execution, input: ExecutionInput, known?: ExecutionRecords): Promise<Resolved> {
    const { request, nowMs, caller, agent, logLine, quota } = execution;
    const { account } = execution.holder;
    const { claims, policy, proof } = caller;
    const { intent_uid, parameters } = input;
    const sight = hidesIntents ? sightOf(policy) : undefined;
    const findLive = async ({ found, records }: ExecutionRecords) => {
      requireNotStopped(records, claims);
      return requireIntent(found, intent_uid, intents, sight);
    };
    const first = known?.intentUid === intent_uid ? known : await read(claims, intent_uid);
    const recheck = openRecheck(async () => {
      const again = await findLive(await read(claims, intent_uid));
      requireNotPaused(again);
      if (carriesCredential(live.service, new URL(upstreamRequest.url).origin)) requireSameCredential(again, live);
      call.token?.recheck(again);
    }, first.startedMs);
    const live = await findLive(first);
    const { intent, service } = live;
    const judged = judgedIntent(intent, service);
    logLine.note({ intent_uid, service_id: intent.service_id, method: judged.method, tags: [...(intent.tags ?? [])] });
    for (const observe of observers) await observe(execution, judged, () => validate(intent, parameters));
    requirePermission(caller, intent_uid);
    quota.limitTo(rulesFor(policy.compiled.rules, judged));
    const values = validate(intent, parameters);
    const upstreamRequest = buildRequest(intent, values);
    const rules = requirePermittedCall(policy, { ...judged, ...agent, parameters: values, nowMs });
    quota.limitTo(rules, service);
    const { executionId } = logLine;
    const fingerprint = fingerprintOf(intent_uid, parameters);
    const toKeyed = (key: ReturnType<typeof givenKeyOf>) => key && { account, executionId, ...key, fingerprint, nowMs };
    const given = givenKeyOf(request);
    const ofOrigin = slowCalls.of(intent, live.related?.[0]);
    const replayLimit = claims.lmt ?? tightest(chargesOf(rules).filter(isRate));
    const call: ResolvedCall = {
      ...live,
      input,
      values,
      upstreamRequest,
      rules,
      records: first.records,
      keyed: toKeyed(keyOf(request, intent, rules)),
      earlier: given?.isFreedByAnswer ? toKeyed(given) : undefined,
      baseUrl: request.baseUrl,
    };
    return {
      call,
      guards: {
        replays: replayLimit && replays.of(account, replayLimit),
        slowCalls: ofOrigin,
        precheck: async () => {
          const mismatch = findMismatch(request, live);
          if (mismatch) throw mismatch;
          requireNotPaused(live);
          ofOrigin.requireRoom();
          await quota.precheck();
        },
        useProof: async () => proof?.use(),
        recheck,
      },
    };
  }

  return { read, resolve };
}

/** The idempotency key of a call, which its transport may supply. @throws ApiError INVALID_PARAMETER if it needs one and has none */
function keyOf(
  request: ExecutionHttp,
  { endpoint }: LiveIntent['intent'],
  rules: readonly Rule[],
): Pick<KeyedRequest, 'key' | 'isFreedByAnswer'> | undefined {
  const given = readIdempotencyKey(request);
  if (given !== undefined) return { key: given };
  const isRequired = endpoint.idempotency_key?.required === true;
  const isDeferred = rulesRequiringApproval(rules).length > 0 || prefersAsync(request);
  const { keyIfDeferred, keyIfRequired } = request;
  const supplied = isDeferred ? keyIfDeferred : isRequired && keyIfRequired !== undefined ? { key: keyIfRequired } : undefined;
  if (isRequired && !supplied) throw keyRequired(keyMissing);
  return supplied;
}

/** @throws ApiError FORBIDDEN if the PAT's scope does not name the intent, or the policy prohibits it */
function requirePermission({ claims, policy }: Authenticated, intentUid: string): void {
  if (isProhibited(policy.compiled, intentUid)) {
    throw new ApiError('FORBIDDEN', 'The usage policy prohibits this intent. GET /api/policy says which are permitted.', {
      details: { reason: 'prohibited' },
    });
  }
  if (!isPermitted(claims.scope, intentUid)) {
    throw new ApiError('FORBIDDEN', 'The PAT does not permit this intent. GET /api/policy says which are permitted.', {
      details: { reason: 'not_permitted' },
    });
  }
}

/**
 * @returns the rules that cover the call; their limits apply
 * @throws ApiError FORBIDDEN if no rule permits the call with these parameters at this time, or one forbids it
 */
function requirePermittedCall({ compiled }: CurrentPolicy, call: Call): Rule[] {
  const judgement = judge(compiled.rules, call);
  if (judgement.isPermitted) return judgement.rules;
  const { reason, rule, condition, otherwise } = judgement;
  throw new ApiError(
    'FORBIDDEN',
    'The usage policy does not permit this call; details.words says why. GET /api/policy returns the full policy.',
    { details: { reason, ...(rule && { rule: condition?.pointer ?? rule.pointer, words: describeRefusal(rule, condition, otherwise) }) } },
  );
}
