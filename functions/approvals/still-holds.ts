import type { DeferredCall } from '../core/execution/deferred-call-store.ts';
import { findChangeSinceRequest, readCircumstances } from '../core/execution/void-check.ts';
import type { FindPolicy } from '../core/policy/policy.ts';
import type { LiveIntent, LiveIntents } from '../core/registry/live-intents.ts';
import { type ApiError, isUnavailable } from '../core/runtime/api-error.ts';

export interface CheckParts {
  intents: Pick<LiveIntents, 'findWith'>;
  findPolicy: FindPolicy;
}

/** Opens the search for what makes a waiting call void, which reads the policy once for each address. */
export function openCheck({ intents, findPolicy }: CheckParts) {
  const policies = new Map<string, Promise<string>>();
  return async ({ content }: DeferredCall): Promise<{ change: ApiError | undefined; found: LiveIntent | undefined }> => {
    const { baseUrl } = content;
    const policy = policies.get(baseUrl) ?? (async () => (await findPolicy(baseUrl)).reference)();
    policies.set(baseUrl, policy);
    const [seen, reference] = await Promise.all([readCircumstances(intents, content), policy]);
    return { change: findChangeSinceRequest(content, { ...seen, policy: reference }), found: seen.found };
  };
}

/**
 * Opens the choice of calls that are worth showing: those that could still be approved, and all while the policy or the table cannot be read. It changes
 * nothing, because during a deployment two functions may have different policies.
 */
export function openChoice(parts: CheckParts): (call: DeferredCall) => Promise<boolean> {
  const check = openCheck(parts);
  return async (call) => {
    try {
      return call.item.state === 'waiting' && (await check(call)).change === undefined;
    } catch (error) {
      if (isUnavailable(error)) return true;
      throw error;
    }
  };
}
