import { openApprovals } from '../../../functions/approvals/approvals.ts';
import { createAction as createDecideApproval } from '../../../functions/approvals/decide-approval.ts';
import { createAction as createListApprovals } from '../../../functions/approvals/list-approvals.ts';
import { openApprovalRequests } from '../../../functions/approvals/request.ts';
import type { Admin } from '../../../functions/core/admin/admin.ts';
import { openDeferredCalls } from '../../../functions/core/execution/deferred-call-store.ts';
import { firstOf } from '../../../functions/core/execution/instead.ts';
import type { Action } from '../../../functions/core/http/serve.ts';
import type { Approval } from '../../../schemas/approvals/approvals.ts';
import { approvalTemplate, type Options, openDeferredParts } from '../deferred.ts';
import type { Gate } from '../gate.ts';
import { type Answer, byAdmin, invoke } from '../invoke.ts';
import { openPolicy } from '../policy.ts';

/** An admin of everything. */
export const admin: Admin = { actor: { subject: '1', user_name: 'ann' }, requestId: 'request-1' };

/** Lets calls wait an hour for approval. @param announced - gets the id of each call that is announced */
export const waitingForApproval = (announced: string[] = []) =>
  firstOf(openApprovalRequests({ announce: async ({ id }) => void announced.push(id), approvalSeconds: 3_600 }));

/** What lets calls of a gate wait, and what makes, shows and decides about them. */
export function openApprovalParts(gate: Gate) {
  const { table } = gate.database;
  const parts = openDeferredParts(gate);
  const announced: string[] = [];
  const instead = waitingForApproval(announced);

  const checkParts = ({ policy = approvalTemplate(), over = table }: Options = {}) => ({
    approvals: openApprovals(over),
    deferred: openDeferredCalls(over),
    intents: gate.intents,
    findPolicy: openPolicy(policy),
  });
  const openDecide = (by: Admin, options?: Options): Action =>
    byAdmin(createDecideApproval({ ...checkParts(options), start: parts.start }), by);

  return {
    ...parts,
    announced,

    /** A new instance of `execute-intent`. */
    openExecute: (options: Parameters<Gate['openExecute']>[0] = {}) => gate.openExecute({ instead, ...options }),

    list: (by: Admin = admin, query: Record<string, string> = {}, options?: Options): Promise<Answer> =>
      invoke(byAdmin(createListApprovals(checkParts(options)), by), 'GET /api/approvals', { query }),

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
