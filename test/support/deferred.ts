import { nest } from '../../functions/core/execution/around.ts';
import { openDeferredCalls } from '../../functions/core/execution/deferred-call-store.ts';
import type { DeferredRunParts } from '../../functions/core/execution/deferred-worker.ts';
import { openIdempotentCalls } from '../../functions/core/execution/idempotent-call-store.ts';
import { openResolver } from '../../functions/core/execution/resolve.ts';
import { openSlowCalls } from '../../functions/core/execution/slow-calls.ts';
import type { Action } from '../../functions/core/http/serve.ts';
import { openRateLimiter } from '../../functions/core/limit/rate-limiter.ts';
import type { PolicyTemplate } from '../../functions/core/policy/template.ts';
import { openIntents } from '../../functions/core/registry/intents.ts';
import { openLiveIntents } from '../../functions/core/registry/live-intents.ts';
import type { Table } from '../../functions/core/table/table.ts';
import { createAction as createGetExecution } from '../../functions/get-execution.ts';
import { createRun } from '../../functions/run-deferred-call.ts';
import type { Gate } from './gate.ts';
import { type Answer, invoke } from './invoke.ts';
import { loadPolicyTemplate, openPolicy } from './policy.ts';

/** Permits everything, 60 calls a minute unless `rate` says otherwise; calls with a code of "FR" only once a person has approved them. */
export function approvalTemplate({ rate = 60, more = [] }: { rate?: number; more?: object[] } = {}): PolicyTemplate {
  const policy = loadPolicyTemplate();
  const target = '{base_url}/api/intents';
  const constraint = [{ leftOperand: '{base_url}/api/intents/parameters/code', operator: 'eq' as const, rightOperand: 'FR' }];
  const duty = [{ action: '{base_url}/vocabulary/approve' }];
  const permission = [...(policy.permission ?? []), { target, action: 'execute', constraint, duty }, ...more];
  return JSON.parse(JSON.stringify({ ...policy, permission }).replace('"rightOperand":60', `"rightOperand":${rate}`));
}

export interface Options {
  policy?: PolicyTemplate;
  over?: Table;
  now?: () => number;
}

/** What makes and shows deferred calls, over the table of a gate. Each part that is opened is a new instance. */
export function openDeferredParts(gate: Gate) {
  const { table } = gate.database;
  const start = async (executionId: string) => void gate.started.push(executionId);

  const openWorker = ({
    policy = approvalTemplate(),
    over = table,
    now = Date.now,
    relay = gate.relay,
    around = nest(),
    findPolicy = openPolicy(policy),
  }: Options & Partial<Pick<DeferredRunParts, 'relay' | 'around' | 'findPolicy'>> = {}) => {
    const run = createRun({
      deferred: openDeferredCalls(over),
      resolve: openResolver({
        intents: openIntents(over),
        slowCalls: openSlowCalls(over, 'run-deferred-call', 10, { leaseSeconds: 660 }),
        now,
      }).resolve,
      intents: openLiveIntents(over),
      findPolicy,
      limits: openRateLimiter(over, now),
      relay,
      around,
      now,
    });
    return (execution_id: string) => run({ execution_id }, () => 600_000);
  };

  const openGetExecution = ({ policy = approvalTemplate(), now = Date.now }: Options = {}): Action =>
    createGetExecution({
      authenticate: gate.openAuthenticate(policy),
      deferred: openDeferredCalls(table),
      calls: openIdempotentCalls(table),
      intents: gate.intents,
      start,
      protocol: 'proto',
      now,
    });

  return {
    start,
    openWorker,
    openGetExecution,

    /** Reads the state of an execution, with a PAT. */
    read: (id: string, pat: string, options: Options = {}): Promise<Answer> =>
      invoke(openGetExecution(options), 'GET /api/executions/{id}', { path: { id }, headers: { Authorization: `Bearer ${pat}` } }),
  };
}
