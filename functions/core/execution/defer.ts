import { longestCallSeconds } from '../../../schemas/deferred.ts';
import { digestIntent } from '../../../schemas/intent-digest.ts';
import type { ApiResponse } from '../http/response.ts';
import { rulesRequiringApproval } from '../policy/judge.ts';
import type { LiveIntents } from '../registry/live-intents.ts';
import { ApiError } from '../runtime/api-error.ts';
import { describeCause, log } from '../runtime/log.ts';
import { traceHeaders } from '../runtime/trace.ts';
import { maxOfHolder } from './call-queue.ts';
import { pending } from './deferred-answers.ts';
import type { DeferredCalls, DeferredContent } from './deferred-call-store.ts';
import type { Execution } from './execution.ts';
import { keyRequired } from './idempotency-key.ts';
import type { IdempotentCalls } from './idempotent-call-store.ts';
import type { Hold, Instead } from './instead.ts';
import { takeKey } from './once.ts';
import { prefersAsync, type Resolved } from './resolve.ts';
import { openVoidChecks } from './void-check.ts';

export interface DeferralParts {
  calls: Pick<IdempotentCalls, 'find' | 'free'>;
  deferred: Pick<DeferredCalls, 'begin' | 'find' | 'findStale' | 'makeVoid'>;
  intents: Pick<LiveIntents, 'findWith'>;
  start: (executionId: string) => Promise<void>;
  instead: Instead;
}

/** Maximum time until a worker starts, in milliseconds: Lambda retries while the account has no free concurrency. */
export const longestStartMs = 15 * 60_000;

/** Accepts calls that are made later, with 202. They are counted against limits only when they are made. */
export function openDeferral({ calls, deferred, intents, start, instead }: DeferralParts) {
  const { voidIfStale, freePlace } = openVoidChecks(deferred, intents);

  async function store(execution: Execution, { call, guards }: Resolved, hold?: Hold): Promise<ApiResponse> {
    const { request, nowMs, caller, logLine } = execution;
    const { executionId } = logLine;
    const { keyed, baseUrl } = call;
    if (!keyed) throw keyToDefer();
    const untilMs = hold?.untilMs ?? nowMs + longestStartMs;
    const content: DeferredContent = {
      baseUrl,
      requestId: request.requestId,
      claims: caller.claims,
      body: call.input,
      intentDigest: digestIntent(call.intent),
      namespace: call.service.namespace,
      trace: traceHeaders(),
      ...hold?.content,
    };
    // A failure here is harmless: deciders find the call in the list, and a caller that asks for its state starts the worker again.
    const tell = (told: Promise<void>) =>
      told.catch((error: unknown) => log.warn('deferred call not announced or started', { cause: describeCause(error) }));
    // as a poll does, because some callers repeat the request instead
    const find: IdempotentCalls['find'] = async (asked) => {
      const used = await calls.find(asked);
      if (used.state === 'working' && used.isIdle) await tell(start(used.executionId));
      return used;
    };
    const earlier = await takeKey({ ...calls, find }, { keyed, baseUrl }, guards, async () => {
      // others may take the places that this request frees
      const begin = (left = maxOfHolder): ReturnType<DeferredCalls['begin']> =>
        deferred.begin(keyed, content, untilMs, call.records.agent?.first_seen ?? nowMs).catch(async (refusal: unknown) => {
          if (hold && left > 0 && isFull(refusal) && (await freePlace(execution))) return begin(left - 1);
          throw refusal;
        });
      const begun = await begin();
      if (begun.state === 'working') await tell(start(begun.executionId));
      return begun;
    });
    if (earlier) return earlier;
    await tell(hold ? hold.announce(content) : start(executionId));
    if (hold) return pending({ state: 'waiting', executionId, untilMs }, baseUrl);
    const answer = pending({ state: 'working', executionId, isIdle: false }, baseUrl);
    return { ...answer, headers: { ...answer.headers, 'Preference-Applied': 'respond-async' } };
  }

  /** Refuses a call that needs approval if no feature handles approval, unless an earlier one was made under its key. */
  async function refuse({ call: { keyed, baseUrl }, guards }: Resolved): Promise<ApiResponse> {
    const precheck = () => Promise.reject(approvalUnavailable());
    const earlier = keyed && (await takeKey(calls, { keyed, baseUrl }, { ...guards, precheck }, precheck));
    return earlier ?? precheck();
  }

  return {
    /** @returns undefined if the call is made immediately */
    defer: (execution: Execution, resolved: Resolved): Promise<ApiResponse> | undefined =>
      instead(execution, resolved.call, (hold) => store(execution, resolved, hold)) ??
      (rulesRequiringApproval(resolved.call.rules).length > 0
        ? refuse(resolved)
        : prefersAsync(execution.request)
          ? store(execution, resolved)
          : undefined),

    voidIfStale,
  };
}

const isFull = (refusal: unknown): boolean => refusal instanceof ApiError && refusal.details.reason === 'waiting_calls';

const keyToDefer = () =>
  keyRequired(
    `This call is not made immediately: it needs a person's approval, or you asked not to wait. Send it with an Idempotency-Key, so that it is made only once; it may take up to ${longestCallSeconds / 60} minutes once it starts.`,
  );

const approvalUnavailable = () =>
  new ApiError(
    'FORBIDDEN',
    "The usage policy requires a person's approval for this call, which this gate cannot obtain. Nothing was sent; ask its operators to change the policy.",
    { details: { reason: 'approval_unavailable', outcome: 'not_sent' } },
  );
