import { executionRequest } from '../schemas/execution.ts';
import type { PatClaims } from '../schemas/pat.ts';
import { openStart } from './core/aws/invoke-function.ts';
import { answerAsBefore } from './core/execution/answer-as-before.ts';
import type { Around } from './core/execution/around.ts';
import { attempt } from './core/execution/attempt.ts';
import { type DeferralParts, openDeferral } from './core/execution/defer.ts';
import { openDeferredCalls } from './core/execution/deferred-call-store.ts';
import { openExecution } from './core/execution/execution.ts';
import { type IdempotentCalls, openIdempotentCalls } from './core/execution/idempotent-call-store.ts';
import { logOutcome } from './core/execution/log-outcome.ts';
import { narrow } from './core/execution/narrow.ts';
import { once } from './core/execution/once.ts';
import { type ExecutionRecords, openResolver, type Resolved, type ResolverParts, resolverParts } from './core/execution/resolve.ts';
import { type Action, serve } from './core/http/serve.ts';
import { type JsonObject, parseWithNulls } from './core/json/json.ts';
import { openRateLimiter, type RateLimiter } from './core/limit/rate-limiter.ts';
import { type Authenticate, authenticatorFromEnvironment } from './core/pat/authenticate.ts';
import { policyFromEnvironment } from './core/registry/policy-in-force.ts';
import { type Relay, relayFromEnvironment } from './core/relay/call.ts';
import { withNearestFromEnvironment } from './core/search/nearest.ts';
import { tableFromEnvironment } from './core/table/table.ts';
import { executionFeatures, insteadFromEnvironment, protocols, signersFromEnvironment } from './features.ts';

export interface Deps extends ResolverParts, DeferralParts {
  authenticate: Authenticate;
  calls: IdempotentCalls;
  intents: ResolverParts['intents'];
  limits: RateLimiter;
  relay: Pick<Relay, 'connect'>;
  around: Around;
}

/** `POST /api/intents/execute`; `docs/architecture.md` explains each step. */
export const createAction = (deps: Deps): Action => {
  const { authenticate, calls, intents, limits, relay, around, now = Date.now } = deps;
  const { read, resolve } = openResolver(deps);
  const { defer, voidIfStale } = openDeferral(deps);
  return async (request) => {
    const [body, nowMs] = [request.json(), now()];
    let known: ExecutionRecords | undefined;
    const readPointer = async (claims: PatClaims) => {
      known = await read(claims, String((body as JsonObject | null)?.intent_uid));
      return known.pointer;
    };
    const execution = openExecution(request, await authenticate(request, nowMs, readPointer), limits, nowMs);
    const make = (resolved: Resolved) => {
      const { call, guards } = resolved;
      const tryOnce = () => around(execution, call, () => attempt(relay, execution, resolved));
      return narrow(call, defer(execution, resolved) ?? once(calls, call, guards, tryOnce));
    };
    const run = async () => {
      const input = parseWithNulls(executionRequest, body);
      const asBefore = (refusal: unknown) => answerAsBefore({ calls, intents }, execution, input, refusal);
      return voidIfStale(execution, await resolve(execution, input, known).then(make, asBefore));
    };
    return logOutcome(execution, run());
  };
};

const table = tableFromEnvironment();
const findPolicy = policyFromEnvironment(table);

export const action = createAction({
  authenticate: authenticatorFromEnvironment(table, findPolicy),
  ...resolverParts(table),
  calls: openIdempotentCalls(table),
  limits: openRateLimiter(table),
  deferred: openDeferredCalls(table),
  start: openStart(),
  relay: relayFromEnvironment({ signers: signersFromEnvironment() }, protocols),
  instead: insteadFromEnvironment(),
  ...executionFeatures(table),
});

export const handler = serve(withNearestFromEnvironment(action, findPolicy));
