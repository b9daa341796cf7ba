import { openApprovals } from '../../functions/approvals/approvals.ts';
import { createAction as createDecideApproval } from '../../functions/approvals/decide-approval.ts';
import { createAction as createListApprovals } from '../../functions/approvals/list-approvals.ts';
import type { Admin } from '../../functions/core/admin/admin.ts';
import { nest } from '../../functions/core/execution/around.ts';
import { openDeferredCalls } from '../../functions/core/execution/deferred-call-store.ts';
import type { DeferredRunParts } from '../../functions/core/execution/deferred-worker.ts';
import { openResolver } from '../../functions/core/execution/resolve.ts';
import { openSlowCalls } from '../../functions/core/execution/slow-calls.ts';
import type { Action } from '../../functions/core/http/serve.ts';
import { openRateLimiter } from '../../functions/core/limit/rate-limiter.ts';
import { loadPolicyTemplate, openPolicy } from '../../functions/core/policy/policy.ts';
import type { PolicyTemplate } from '../../functions/core/policy/template.ts';
import { openIntents } from '../../functions/core/registry/intents.ts';
import type { Table } from '../../functions/core/table/table.ts';
import { createAction as createGetExecution } from '../../functions/get-execution.ts';
import { createRun } from '../../functions/run-deferred-call.ts';
import type { Approval } from '../../schemas/deferred.ts';
import type { Gate } from './gate.ts';
import { type Answer, byAdmin, invoke } from './invoke.ts';

/** An admin of everything. */
export const admin: Admin = { actor: { subject: '1', user_name: 'ann' }, requestId: 'request-1' };

/** Permits everything, 60 calls a minute unless `rate` says otherwise; calls with a code of "FR" only once a person has approved them. */
export function approvalTemplate({ rate = 60, more = [] }: { rate?: number; more?: object[] } = {}): PolicyTemplate {
  const policy = loadPolicyTemplate();
  const target = '{base_url}/api/intents';
  const constraint = [{ leftOperand: '{base_url}/api/intents/parameters/code', operator: 'eq' as const, rightOperand: 'FR' }];
  const duty = [{ action: '{base_url}/vocabulary/approve' }];
  const permission = [...(policy.permission ?? []), { target, action: 'execute', constraint, duty }, ...more];
  return JSON.parse(JSON.stringify({ ...policy, permission }).replace('"rightOperand":60', `"rightOperand":${rate}`));
}

interface Options {
  policy?: PolicyTemplate;
  over?: Table;
  now?: () => number;
}

/** What makes, shows and decides about deferred calls, over the table of a gate. Each part that is opened is a new instance. */
export function openDeferredParts(gate: Gate) {
  const { table } = gate.database;
  const start = async (executionId: string) => void gate.started.push(executionId);

  const openWorker = ({
    policy = approvalTemplate(),
    over = table,
    now = Date.now,
    relay = gate.relay,
    around = nest(),
  }: Options & Partial<Pick<DeferredRunParts, 'relay' | 'around'>> = {}) => {
    const run = createRun({
      deferred: openDeferredCalls(over),
      resolve: openResolver(openIntents(over), openSlowCalls(over, 'run-deferred-call', 10, { leaseSeconds: 660 }), now),
      findPolicy: openPolicy(policy),
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
      intents: gate.intents,
      start,
      protocol: 'proto',
      now,
    });

  const openDecide = (by: Admin, { policy = approvalTemplate(), over = table }: Options = {}): Action =>
    byAdmin(
      createDecideApproval({
        approvals: openApprovals(over),
        deferred: openDeferredCalls(over),
        intents: gate.intents,
        findPolicy: openPolicy(policy),
        start,
      }),
      by,
    );

  return {
    openWorker,
    openGetExecution,

    /** Reads the state of an execution, with a PAT. */
    read: (id: string, pat: string, options: Options = {}): Promise<Answer> =>
      invoke(openGetExecution(options), 'GET /api/executions/{id}', { path: { id }, headers: { Authorization: `Bearer ${pat}` } }),

    list: (by: Admin = admin, query: Record<string, string> = {}): Promise<Answer> =>
      invoke(byAdmin(createListApprovals({ approvals: openApprovals(table) }), by), 'GET /api/approvals', { query }),

    /** What an admin is shown of a call. */
    async shown(id: string): Promise<Approval> {
      const found = await openApprovals(table).find(id);
      if (!found) throw new Error('nobody has to approve it');
      return found.approval;
    },

    /** @param ifMatch - the header, with its quotation marks */
    decide: (
      id: string,
      ifMatch: string | string[] | undefined,
      body: object = { decision: 'approve' },
      by: Admin = admin,
      options: Options = {},
    ): Promise<Answer> =>
      invoke(openDecide(by, options), 'POST /api/approvals/{id}', {
        path: { id },
        headers: ifMatch === undefined ? {} : { 'If-Match': ifMatch },
        body,
      }),
  };
}
