import { readEnvironment } from './core/environment.ts';
import { openAnnouncements } from './core/execution/announce.ts';
import { attempt } from './core/execution/attempt.ts';
import { type DeferralParts, openDeferral } from './core/execution/defer.ts';
import { isDeferred } from './core/execution/deferral.ts';
import { openDeferredCalls } from './core/execution/deferred-calls.ts';
import { type Evidence, evidenceFromEnvironment, noEvidence } from './core/execution/evidence.ts';
import { openExecution } from './core/execution/execution.ts';
import { type IdempotentCalls, openIdempotentCalls } from './core/execution/idempotent-call.ts';
import { narrow } from './core/execution/narrow.ts';
import { once } from './core/execution/once.ts';
import { record } from './core/execution/record.ts';
import { openResolver } from './core/execution/resolve.ts';
import { type SlowCalls, slowCallsFromEnvironment } from './core/execution/slow-calls.ts';
import { answerWithdrawn } from './core/execution/withdrawn.ts';
import { type Action, serve } from './core/http/serve.ts';
import { openStart } from './core/invoke-function.ts';
import { openRateLimiter, type RateLimiter } from './core/limit/rate-limiter.ts';
import { type Authenticate, authenticatorFromEnvironment } from './core/pat/authenticate.ts';
import { judgingPolicyFromEnvironment } from './core/policy/policy.ts';
import { type LiveIntents, openLiveIntents } from './core/registry/live-intents.ts';
import type { Relay } from './core/relay/call.ts';
import { relayFromEnvironment } from './core/relay/relay-from-environment.ts';
import { withNearestFromEnvironment } from './core/search/nearest.ts';
import { tableFromEnvironment } from './core/table/table.ts';

export interface Deps {
  authenticate: Authenticate;
  intents: Pick<LiveIntents, 'findWith' | 'versions'>;
  calls: IdempotentCalls;
  limits: RateLimiter;
  relay: Pick<Relay, 'connect'>;
  slowCalls: SlowCalls;
  deferral: Omit<DeferralParts, 'calls' | 'intents'>;
  evidence?: Evidence;
  now?: () => number;
}

/** `POST /api/intents/execute` (endpoint 3). */
export const createAction = (deps: Deps): Action => {
  const { authenticate, intents, calls, limits, relay, slowCalls, deferral, evidence = noEvidence, now = Date.now } = deps;
  const resolve = openResolver(intents, slowCalls, now);
  const { defer, requireHolds } = openDeferral({ calls, intents, ...deferral });
  return async (request) => {
    const [body, nowMs] = [request.json(), now()];
    const execution = openExecution(request, await authenticate(request, nowMs), limits, nowMs);
    const run = async () => {
      const call = await resolve(execution, body).catch((refusal: unknown) => ({ refusal }));
      if ('refusal' in call) return requireHolds(execution, await answerWithdrawn(calls, execution, body, call.refusal));
      const make = () => evidence(execution, call, body, () => attempt(relay, execution, call));
      const outcome = isDeferred(request, call.rules) ? defer(execution, call, body) : once(calls, call, make);
      return requireHolds(execution, await narrow(call, outcome));
    };
    return record(execution, run());
  };
};

const table = tableFromEnvironment();
const { deferredFunction, approvalSeconds } = readEnvironment(['deferredFunction', 'approvalSeconds']);
const startRun = openStart(deferredFunction);
const findPolicy = judgingPolicyFromEnvironment();

export const action = createAction({
  authenticate: authenticatorFromEnvironment(table, findPolicy),
  intents: openLiveIntents(table),
  calls: openIdempotentCalls(table),
  limits: openRateLimiter(table),
  slowCalls: slowCallsFromEnvironment(table),
  deferral: {
    deferred: openDeferredCalls(table),
    start: (execution_id) => startRun({ execution_id }),
    announce: openAnnouncements(),
    approvalSeconds: Number(approvalSeconds),
  },
  evidence: evidenceFromEnvironment(table),
  relay: relayFromEnvironment(),
});

export const handler = serve(withNearestFromEnvironment(action, findPolicy));
