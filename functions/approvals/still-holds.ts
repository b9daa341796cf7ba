import type { DeferredCall, DeferredCalls } from '../core/execution/deferred-call-store.ts';
import { findChangeSinceRequest, readCircumstances } from '../core/execution/void-check.ts';
import type { FindPolicy } from '../core/policy/policy.ts';
import type { LiveIntent, LiveIntents } from '../core/registry/live-intents.ts';
import type { ApiError } from '../core/runtime/api-error.ts';

export interface CheckParts {
  deferred: Pick<DeferredCalls, 'makeVoid'>;
  intents: Pick<LiveIntents, 'findWith'>;
  findPolicy: FindPolicy;
}

/** Makes a waiting call void if its circumstances have changed since its request. */
export type Check = (call: DeferredCall) => Promise<{ change: ApiError | undefined; found: LiveIntent | undefined }>;

/** Opens the check for a moment: the policy is read once. */
export function openCheck({ deferred, intents, findPolicy }: CheckParts): Check {
  const policies = new Map<string, Promise<string>>();
  return async (call) => {
    const { baseUrl } = call.content;
    const policy = policies.get(baseUrl) ?? (async () => (await findPolicy(baseUrl)).reference)();
    policies.set(baseUrl, policy);
    const [seen, reference] = await Promise.all([readCircumstances(intents, call.content), policy]);
    const change = findChangeSinceRequest(call.content, { ...seen, policy: reference });
    const isVoid = change && (await deferred.makeVoid(call, change, Date.now())).state === 'expired';
    return { change: isVoid ? change : undefined, found: seen.found };
  };
}
