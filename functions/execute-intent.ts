import { executionRequest } from '../schemas/execution.ts';
import { readStanding, standingKeys } from './core/activity/agent.ts';
import { openPolicyArchive } from './core/activity/policy-archive.ts';
import { type Execution, type ExecutionStats, openExecutionStats } from './core/activity/stats.ts';
import { openUsedJtis } from './core/activity/used-jti.ts';
import { ApiError } from './core/api-error.ts';
import { credentialsFromEnvironment } from './core/credentials/credentials.ts';
import { readEnvironment } from './core/environment.ts';
import { type ApiResponse, ok } from './core/http/response.ts';
import { type Action, serve } from './core/http/serve.ts';
import { fingerprintOf, readIdempotencyKey, upstreamKeyOf } from './core/idempotency/idempotency.ts';
import { type IdempotentCalls, openIdempotentCalls } from './core/idempotency/idempotent-call.ts';
import { isNotSent, runOnce } from './core/idempotency/run-once.ts';
import { type JsonObject, parse } from './core/json.ts';
import { openQuota } from './core/limit/quota.ts';
import { countExecution, countServiceCall, openRateLimiter, type RateLimiter } from './core/limit/rate-limiter.ts';
import { openReplayMeter } from './core/limit/replay-meter.ts';
import { openValidators } from './core/parameters/validators.ts';
import { openAdmission } from './core/pat/admission.ts';
import { type Authorize, openAuthorizer, requirePermission, requirePermittedCall, requireStanding } from './core/pat/authorize.ts';
import { holderOf } from './core/pat/holder.ts';
import { openPolicyRefusals } from './core/pat/policy-refusals.ts';
import { openProofs } from './core/pat/proof.ts';
import { signingKeysFromEnvironment } from './core/pat/signing-keys.ts';
import { openPatVerifier } from './core/pat/verify.ts';
import { judgedIntent } from './core/policy/conditions.ts';
import { chargesOf, rulesFor, rulesForAll } from './core/policy/judge.ts';
import { isRate, tightest } from './core/policy/limits.ts';
import { loadPolicyTemplate, openPolicy, parseBilling } from './core/policy/policy.ts';
import type { Rule } from './core/policy/reading.ts';
import { openReceipt, type Receipt } from './core/receipt.ts';
import { findMismatch, type Intents, openIntents } from './core/registry/intents.ts';
import { requireIntent } from './core/registry/require-intent.ts';
import { mapAnswer, narrowRefusal, refuseMismatch } from './core/relay/answer.ts';
import { describeCut, describeIssues } from './core/relay/answer-headers.ts';
import { type ConnectedCall, openRelay, type Relay } from './core/relay/call.ts';
import { CallFailed } from './core/relay/call-failure.ts';
import { carriesCredential } from './core/relay/credential.ts';
import { cutAnswer } from './core/relay/cut.ts';
import { egressRulesFromEnvironment } from './core/relay/egress.ts';
import { buildRequest } from './core/relay/request.ts';
import { selectAllowed, selectFields } from './core/relay/select-fields.ts';
import { withNearestFromEnvironment } from './core/search/nearest.ts';
import { tableFromEnvironment } from './core/table/table.ts';

export interface Deps {
  authorize: Authorize;
  intents: Pick<Intents, 'findWith' | 'versions'>;
  calls: IdempotentCalls;
  limits: RateLimiter;
  relay: Pick<Relay, 'connect'>;
  stats: Pick<ExecutionStats, 'count'>;
  /** milliseconds since the epoch */
  now?: () => number;
}

/** Time reserved at the end of the invocation to record the outcome of the call, in milliseconds. */
const reservedMs = 3_000;

/** `POST /api/intents/execute` (endpoint 3). */
export const createAction = ({ authorize, intents, calls, limits, relay, stats, now = Date.now }: Deps): Action => {
  const validate = openValidators();
  const replays = openReplayMeter(now);

  return async (request) => {
    const body = request.json();
    const nowMs = now();
    const authorization = await authorize(request, nowMs);
    const { claims, policy, proof } = authorization;
    const holder = holderOf(claims);
    const { thumbprint, account } = holder;
    const receipt = openReceipt(request, claims.sub, policy.digest);
    const counterFor = (rules: readonly Rule[]) => countExecution(holder, chargesOf(rules));
    const quota = openQuota(limits, counterFor(rulesForAll(policy.grants)));

    const giveBack = async (error: unknown): Promise<never> => {
      await quota.giveBack();
      throw error;
    };

    const execute = async (): Promise<ApiResponse> => {
      const { intent_uid, parameters, fields, max_bytes } = parse(executionRequest, body);
      const find = async () => {
        const { found, others } = await intents.findWith(intent_uid, standingKeys(claims.sub, thumbprint));
        requireStanding(readStanding(others), claims);
        return found;
      };
      const confirm = openAdmission(async () => void (await find()));
      const live = await requireIntent(await find(), intent_uid, intents);
      const { intent, service } = live;
      receipt.note({ intent_uid, service_id: intent.service_id });
      requirePermission(authorization, intent_uid);
      const judged = judgedIntent(intent, service);
      quota.applyTo(counterFor(rulesFor(policy.grants.rules, judged)));
      const values = validate(intent, parameters);
      const upstreamRequest = buildRequest(intent, values);
      const rules = requirePermittedCall(policy, { ...judged, parameters: values, thumbprint: account, nowMs });
      quota.applyTo(counterFor(rules), service.limit && countServiceCall(service.service_id, service.limit));
      const replayLimit = claims.lmt ?? tightest(chargesOf(rules).filter(isRate));
      const idempotencyKey = readIdempotencyKey(request);
      const ids = { agentId: claims.sub, thumbprint: account, executionId: receipt.executionId };

      const { host, origin } = new URL(upstreamRequest.url);
      const notes: Receipt['notes'] = {
        upstream_host: host,
        ...(service.credential && { credential: carriesCredential(service, origin) ? 'sent' : 'withheld' }),
      };
      /** What the gate refuses or fails to do says nothing about the upstream, and is not counted for it. */
      const noteFailure = (error: unknown): never => {
        if (error instanceof CallFailed && error.isOfUpstream) receipt.note(notes);
        throw error;
      };
      const connect = (): Promise<ConnectedCall> =>
        relay
          .connect({
            ...ids,
            request: upstreamRequest,
            intentUid: intent_uid,
            service,
            requestId: request.requestId,
            ...(idempotencyKey !== undefined && { idempotencyKey: upstreamKeyOf(account, idempotencyKey) }),
            baseUrl: request.baseUrl,
            deadlineMs: request.remainingMs() - reservedMs,
          })
          .catch(noteFailure);

      /** Done right before the call is sent: what is not sent costs nothing, and secrets and connections have taken their time. */
      const ready = async (): Promise<void> => {
        do await quota.charge();
        while (await confirm());
      };

      const response = await runOnce(calls, {
        keyed:
          idempotencyKey === undefined
            ? undefined
            : { ...ids, key: idempotencyKey, fingerprint: fingerprintOf(intent_uid, parameters), nowMs },
        findRefusal: async () => findMismatch(request, live) ?? quota.foresee(),
        useProof: async () => proof?.use(),
        replays: {
          findRefusal: () => replayLimit && replays.findRefusal({ thumbprint: account, limit: replayLimit }),
          count: () => replayLimit && replays.count({ thumbprint: account, limit: replayLimit }),
          hasSeen: () => replays.hasSeen(account, idempotencyKey ?? ''),
          see: () => replayLimit && replays.see({ thumbprint: account, limit: replayLimit }, idempotencyKey ?? ''),
        },
        admit: async () => {
          const call = await connect();
          try {
            await ready();
            return call;
          } catch (error) {
            call.drop();
            return giveBack(error);
          }
        },
        act: async (call) => {
          const answer = await call
            .send(ready)
            .catch(noteFailure)
            .catch((error: unknown) => (isNotSent(error) ? giveBack(error) : Promise.reject(error)));
          receipt.note({ ...notes, ...(answer.isByNext && { credential: 'next' }) });
          receipt.note({ upstream_status: answer.status, upstream_ms: Math.round(answer.durationMs), answer_bytes: answer.body.length });
          try {
            const { body, issues } = mapAnswer(answer, intent);
            if (issues.length === 0) return ok(body);
            receipt.note({ drift: true });
            if (intent.strict) throw refuseMismatch(answer, issues, intent);
            return ok(body, describeIssues(issues));
          } finally {
            if (answer.redactor.hasFound) receipt.note({ credential_echoed: true });
          }
        },
      }).catch((error: unknown) => {
        // a refusal that was kept may show more than may leave by now
        throw error instanceof ApiError ? narrowRefusal(error, intent) : error;
      });
      // so may an answer that was kept, and a replay may ask for other fields of it
      const allowed = selectAllowed(response.body as JsonObject, intent);
      const { body: shown, cut } = cutAnswer(selectFields(allowed, fields) as JsonObject, max_bytes);
      return { ...response, body: shown, headers: { ...response.headers, ...(cut && describeCut(cut)) } };
    };

    try {
      const response = await execute();
      receipt.write('OK', response.headers);
      await stats.count(toExecution(receipt, 'OK'));
      return { ...response, headers: { ...response.headers, ...receipt.headers, ...(await quota.headers()) } };
    } catch (error) {
      if (!(error instanceof ApiError)) {
        receipt.write('INTERNAL_SERVER_ERROR');
        await stats.count(toExecution(receipt, 'INTERNAL_SERVER_ERROR'));
        throw error;
      }
      receipt.write(error.code, error.headers);
      await stats.count(toExecution(receipt, error.code));
      throw error.withHeaders({ ...receipt.headers, ...(await quota.headers()) });
    }
  };
};

/** What the numbers say of an execution. */
function toExecution({ notes }: Receipt, outcome: Execution['outcome']): Execution {
  const { service_id, upstream_host, upstream_status, upstream_ms, drift } = notes;
  const upstream = { status: upstream_status, durationMs: upstream_ms };
  return { serviceId: service_id, outcome, ...(upstream_host !== undefined && { upstream }), hasDrifted: drift };
}

const { requireProofOfPossession, billing } = readEnvironment([], ['requireProofOfPossession', 'billing']);
const table = tableFromEnvironment();
const findPolicy = openPolicy(loadPolicyTemplate(), parseBilling(billing));

export const action = createAction({
  authorize: openAuthorizer({
    verifyPat: openPatVerifier({ findKey: signingKeysFromEnvironment().find }),
    proofs: openProofs(openUsedJtis(table), requireProofOfPossession === 'true'),
    findPolicy,
    refusals: openPolicyRefusals(openPolicyArchive(table)),
  }),
  intents: openIntents(table),
  calls: openIdempotentCalls(table),
  limits: openRateLimiter(table),
  stats: openExecutionStats(table),
  relay: openRelay({ rules: egressRulesFromEnvironment(), credentials: credentialsFromEnvironment() }),
});

export const handler = serve(withNearestFromEnvironment(action, findPolicy));
