import { answerAsBefore } from './core/execution/answer-as-before.ts';
import { attempt } from './core/execution/attempt.ts';
import { openDeferral } from './core/execution/defer.ts';
import { openExecution } from './core/execution/execution.ts';
import { narrow } from './core/execution/narrow.ts';
import { once } from './core/execution/once.ts';
import { type ExecutionParts, partsFromEnvironment } from './core/execution/parts.ts';
import { record } from './core/execution/record.ts';
import { isDeferred, openResolver } from './core/execution/resolve.ts';
import { type Action, serve } from './core/http/serve.ts';
import { judgingPolicyFromEnvironment } from './core/policy/policy.ts';
import { withNearestFromEnvironment } from './core/search/nearest.ts';
import { tableFromEnvironment } from './core/table/table.ts';
import { aroundFromEnvironment } from './features.ts';

/** `POST /api/intents/execute`; `docs/architecture.md` explains each step. */
export const createAction = (parts: ExecutionParts): Action => {
  const { authenticate, intents, calls, limits, relay, slowCalls, deferral, around, now = Date.now } = parts;
  const resolve = openResolver(intents, slowCalls, now);
  const { defer, requireNotVoid } = openDeferral({ calls, intents, ...deferral });
  return async (request) => {
    const [body, nowMs] = [request.json(), now()];
    const execution = openExecution(request, await authenticate(request, nowMs), limits, nowMs);
    const run = async () => {
      const call = await resolve(execution, body).catch((refusal: unknown) => ({ refusal }));
      if ('refusal' in call) return requireNotVoid(execution, await answerAsBefore({ calls, intents }, execution, body, call.refusal));
      const make = () => around(execution, call, body, () => attempt(relay, execution, call));
      const outcome = isDeferred(request, call.rules) ? defer(execution, call, body) : once(calls, call, make);
      return requireNotVoid(execution, await narrow(call, outcome));
    };
    return record(execution, run());
  };
};

const findPolicy = judgingPolicyFromEnvironment();

const table = tableFromEnvironment();

export const action = createAction(partsFromEnvironment(table, findPolicy, aroundFromEnvironment(table)));

export const handler = serve(withNearestFromEnvironment(action, findPolicy));
