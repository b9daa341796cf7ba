import { canonicalDigest } from '../../../schemas/canonical.ts';
import { executionIdOf, type PendingExecution } from '../../../schemas/deferred.ts';
import { digestIntent } from '../../../schemas/intent-digest.ts';
import type { PatClaims } from '../../../schemas/pat.ts';
import { type AgentRecords, agentRecordKeys, isBlocked, isRevoked, isUnblockedSince, toAgentRecords } from '../activity/agent.ts';
import type { ApiResponse } from '../http/response.ts';
import { holderOf } from '../pat/holder.ts';
import type { LiveIntent, LiveIntents } from '../registry/live-intents.ts';
import { ApiError } from '../runtime/api-error.ts';
import { notApproved } from './deferred-answers.ts';
import type { DeferredCall, DeferredCalls, DeferredContent } from './deferred-call-store.ts';
import type { Execution } from './execution.ts';
import type { UsedKey } from './idempotent-call-store.ts';

/** The state that a deferred call depends on. If any of it changes, the call becomes void. */
export interface Circumstances {
  found: LiveIntent | undefined;
  records: AgentRecords;
  /** reference of the policy in force, as in the PAT claim `pol` */
  policy: string;
}

/** Reads the circumstances except for the policy, in one or two round trips. */
export async function readCircumstances(intents: Pick<LiveIntents, 'findWith'>, { claims, body }: DeferredContent) {
  const { found, others } = await intents.findWith(body.intent_uid, agentRecordKeys(claims.sub, holderOf(claims).principal));
  return { found, records: toAgentRecords(others) };
}

/** The refusal of a call whose circumstances have changed. */
export const voidBecause = (what: string) =>
  new ApiError('CONFLICT', `${what} since this call was requested, so it is not made. Request it again under a new Idempotency-Key.`, {
    details: { reason: 'no_longer_holds', outcome: 'not_sent' },
  });

/**
 * Finds the change that makes a deferred call void: a changed policy, intent, header field or kind of credential, a block or a revocation.
 * @returns undefined if none of its circumstances has changed
 */
export function findChangeSinceRequest(
  { claims, intentDigest, shown }: DeferredContent,
  { found, records, policy }: Circumstances,
): ApiError | undefined {
  if (policy !== claims.pol) return voidBecause('The policy has changed');
  if (isBlocked(records) || (shown && isUnblockedSince(records, Date.parse(shown.since)))) return voidBecause('The agent has been blocked');
  if (isRevoked(records.agent, claims)) return voidBecause("The agent's PATs have been revoked");
  if (!found || found.intent.deprecated || found.intent.draft) return voidBecause('The intent has been withdrawn');
  if (digestIntent(found.intent) !== intentDigest) return voidBecause('The intent has changed');
  if (!shown) return undefined;
  const { headers = {}, credential } = found.service;
  if (canonicalDigest(headers) !== canonicalDigest(shown.headers ?? {}))
    return voidBecause("The header fields of the intent's service have changed");
  const isAsPerson = credential?.oauth?.grant === 'person' && !('cnf' in claims);
  return isAsPerson === (shown.calls_as !== undefined)
    ? undefined
    : voidBecause('The kind of credential that the call carries has changed');
}

/**
 * Whether a caller with one PAT can find a call void that was requested with another. The policy has another reference at each address of the gate,
 * and that of a PAT that was issued earlier may be an earlier policy.
 */
export const mayJudge = (own: PatClaims, { aud, pol, iat }: PatClaims): boolean => aud === own.aud && (pol === own.pol || iat < own.iat);

/** Opens the checks of earlier calls that wait for approval: when a request is repeated, and when one finds no place. */
export function openVoidChecks(deferred: Pick<DeferredCalls, 'find' | 'findStale' | 'makeVoid'>, intents: Pick<LiveIntents, 'findWith'>) {
  /** Makes a call void if its circumstances have changed. @returns its state then */
  async function check(call: DeferredCall | undefined, { caller, nowMs }: Execution): Promise<UsedKey | undefined> {
    const { claims, policy } = caller;
    if (!call || !mayJudge(claims, call.content.claims)) return undefined;
    const change = findChangeSinceRequest(call.content, { ...(await readCircumstances(intents, call.content)), policy: policy.reference });
    return change && deferred.makeVoid(call, change, nowMs);
  }

  return {
    /** Returns the response to a request. @throws ApiError FORBIDDEN if it is 202 for an earlier call that has become void */
    async voidIfStale(execution: Execution, response: ApiResponse): Promise<ApiResponse> {
      const state = response.body as PendingExecution;
      if (response.status !== 202 || state.status !== 'waiting' || executionIdOf(state) === execution.logLine.executionId) return response;
      const used = await check(await deferred.find(executionIdOf(state)), execution);
      if (used?.state === 'expired') throw notApproved('expired', used.reason);
      return response;
    },

    /** Frees the place of one of the caller's calls that have become void under another policy or by a revocation. @returns whether it has */
    async freePlace(execution: Execution): Promise<boolean> {
      for await (const call of deferred.findStale(execution.caller.claims, execution.nowMs))
        if (call === 'gone' || (await check(call, execution))?.state === 'expired') return true;
      return false;
    },
  };
}
