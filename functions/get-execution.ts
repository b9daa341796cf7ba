import { openStart } from './core/aws/invoke-function.ts';
import { requireNotStopped } from './core/execution/block-check.ts';
import { describeExecution } from './core/execution/deferred-answers.ts';
import { type DeferredCalls, openDeferredCalls } from './core/execution/deferred-call-store.ts';
import { type IdempotentCalls, openIdempotentCalls } from './core/execution/idempotent-call-store.ts';
import { answerHeadersOf, narrowStored } from './core/execution/narrow.ts';
import { findChangeSinceRequest, mayJudge, readCircumstances } from './core/execution/void-check.ts';
import { ok } from './core/http/response.ts';
import { type Action, serve } from './core/http/serve.ts';
import { type Authenticate, authenticatorFromEnvironment } from './core/pat/authenticate.ts';
import { holderOf } from './core/pat/holder.ts';
import { type LiveIntents, openLiveIntents } from './core/registry/live-intents.ts';
import { policyFromEnvironment } from './core/registry/policy-in-force.ts';
import { ApiError } from './core/runtime/api-error.ts';
import { readEnvironment } from './core/runtime/environment.ts';
import { tableFromEnvironment } from './core/table/table.ts';

export interface Deps {
  authenticate: Authenticate;
  deferred: Pick<DeferredCalls, 'find' | 'stateOf' | 'makeVoid'>;
  calls: Pick<IdempotentCalls, 'free'>;
  intents: Pick<LiveIntents, 'findWith'>;
  start: (executionId: string) => Promise<void>;
  /** prefix of error references */
  protocol: string;
  /** milliseconds since the epoch */
  now?: () => number;
}

const noSuchExecution = () =>
  new ApiError(
    'NOT_FOUND',
    'You have no deferred call with this id, or requested it more than 24 hours ago. Use the address in the 202 response.',
  );

/** `GET /api/executions/{id}`: the state of a deferred call, for its holder only. */
export const createAction =
  ({ authenticate, deferred, calls, intents, start, protocol, now = Date.now }: Deps): Action =>
  async (request) => {
    const nowMs = now();
    const { claims, policy, proof } = await authenticate(request, nowMs);
    const executionId = request.pathParameter('id');
    const call = await deferred.find(executionId);
    if (call?.account !== holderOf(claims).account) throw noSuchExecution();
    const { content } = call;
    const { requestId } = content;
    const { found, records } = await readCircumstances(intents, content);
    // another agent that uses the same key may ask, too
    const own = claims.sub === content.claims.sub ? records : (await readCircumstances(intents, { ...content, claims })).records;
    requireNotStopped(own, claims);
    await proof?.use();
    const context = { executionId, baseUrl: request.baseUrl, requestId, protocol };
    const before = await deferred.stateOf(call, nowMs);
    const isJudged = before.state === 'waiting' && mayJudge(claims, content.claims);
    const change = isJudged ? findChangeSinceRequest(content, { found, records, policy: policy.reference }) : undefined;
    const used = change ? await deferred.makeVoid(call, change, nowMs) : before;
    if (used.state === 'replay') {
      if (used.freesKeyOf !== undefined && !request.dropsContent) await calls.free({ ...call, nowMs }, executionId, used.freesKeyOf);
      const outcome = narrowStored(used.outcome, content, found);
      return ok(describeExecution({ ...used, outcome }, context), answerHeadersOf(outcome));
    }
    if (used.state === 'working' && used.isIdle) await start(executionId);
    return ok(describeExecution(used, context));
  };

const { protocol } = readEnvironment(['protocol']);
const table = tableFromEnvironment();

export const action = createAction({
  authenticate: authenticatorFromEnvironment(table, policyFromEnvironment(table)),
  deferred: openDeferredCalls(table),
  calls: openIdempotentCalls(table),
  intents: openLiveIntents(table),
  start: openStart(),
  protocol,
});

export const handler = serve(action);
