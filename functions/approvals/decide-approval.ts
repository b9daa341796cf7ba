import { decisionInput } from '../../schemas/approvals/approvals.ts';
import { requireNamespace } from '../core/admin/admin.ts';
import { type AdminAction, serveAdmin } from '../core/admin/for-admins.ts';
import { openStart } from '../core/aws/invoke-function.ts';
import { type DeferredCalls, openDeferredCalls } from '../core/execution/deferred-call-store.ts';
import { ok } from '../core/http/response.ts';
import { changeLogFromEnvironment } from '../core/registry/change-log.ts';
import { openLiveIntents, requireNotPaused } from '../core/registry/live-intents.ts';
import { policyFromEnvironment } from '../core/registry/policy-in-force.ts';
import { ApiError, invalidParameter } from '../core/runtime/api-error.ts';
import { describeCause, log } from '../core/runtime/log.ts';
import { tableFromEnvironment } from '../core/table/table.ts';
import { type Approvals, noSuchApproval, openApprovals } from './approvals.ts';
import { type CheckParts, openCheck } from './still-holds.ts';

export interface Deps extends CheckParts {
  approvals: Pick<Approvals, 'find' | 'decide'>;
  deferred: Pick<DeferredCalls, 'makeVoid'>;
  start: (executionId: string) => Promise<void>;
}

const digestMismatch = (digest: string) =>
  new ApiError('CONFLICT', 'If-Match is not the current digest of the call. Read the call again, and send its digest.', {
    details: { reason: 'other_digest', digest },
  });

/** `POST /api/approvals/{id}`: approves or denies a call. `If-Match` carries the digest of the call as shown; exactly that call is made, once. */
export const createAction =
  ({ approvals, deferred, start, ...parts }: Deps): AdminAction =>
  async (admin, request) => {
    const { decision, reason } = request.body(decisionInput);
    const call = await approvals.find(request.pathParameter('id'));
    if (!call) throw noSuchApproval();
    const { approval, content, executionId } = call;
    requireNamespace(admin, content.namespace);
    // a list or `*` would not identify the call that the admin was shown
    const named = request.header('if-match')?.trim();
    if (named === undefined)
      throw invalidParameter([{ path: '', problem: 'the header If-Match must be the digest of the approval, in quotation marks' }]);
    if (named !== `"${approval.digest}"` && named !== approval.digest) throw digestMismatch(approval.digest);
    if (decision === 'approve' && call.item.state === 'waiting') {
      const { change, found } = await openCheck(parts)(call);
      if (change && (await deferred.makeVoid(call, change, Date.now())).state === 'expired') throw change;
      // otherwise the call would be refused and its approval used up
      if (found) requireNotPaused(found);
    }
    const decided = await approvals.decide(admin, call, decision, reason);
    // if this fails, the call starts when the agent next polls its state
    if (decision === 'approve')
      await start(executionId).catch((error: unknown) => log.warn('deferred call not started', { cause: describeCause(error) }));
    return ok(decided);
  };

const table = tableFromEnvironment();

export const handler = serveAdmin(
  createAction({
    approvals: openApprovals(table, changeLogFromEnvironment(table)),
    deferred: openDeferredCalls(table),
    intents: openLiveIntents(table),
    findPolicy: policyFromEnvironment(table),
    start: openStart(),
  }),
);
