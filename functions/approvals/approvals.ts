import type { Approval, Decided } from '../../schemas/approvals/approvals.ts';
import type { Admin } from '../core/admin/admin.ts';
import { mayChange, nameOf } from '../core/admin/admin.ts';
import { listQueue, mayBeOf } from '../core/execution/call-queue.ts';
import { longestStartMs } from '../core/execution/defer.ts';
import { type DeferredCall, moveCall, openDeferredCalls } from '../core/execution/deferred-call-store.ts';
import { type ChangeLog, openChangeLog } from '../core/registry/change-log.ts';
import { ApiError } from '../core/runtime/api-error.ts';
import { batchesOf } from '../core/runtime/batches.ts';
import { keys } from '../core/table/keys.ts';
import type { Table } from '../core/table/table.ts';
import { digestOfApproval, shownOf } from './request.ts';

/** A deferred call that a person has to approve. */
export interface CallToApprove extends DeferredCall {
  approval: Approval;
}

interface Listed {
  after?: string | undefined;
  agentId?: string | undefined;
  count: number;
  nowMs: number;
}

/** Calls read in parallel: each may hold 256 KB of arguments. */
const readAtOnce = 10;

const toApproval = (call: DeferredCall): CallToApprove | undefined => {
  const shown = shownOf(call.content);
  return shown && { ...call, approval: { ...shown, digest: digestOfApproval(shown) } };
};

/** Calls that wait for approval, and decisions by admins about them. */
export function openApprovals(table: Table, log: Pick<ChangeLog, 'change'> = openChangeLog(table)) {
  const deferred = openDeferredCalls(table);

  return {
    /**
     * The calls that an admin may decide, oldest first.
     * @param after - id of the call that the page follows
     * @param agentId - lists only the calls of this agent
     * @param isShown - whether a call is worth showing
     * @returns `waiting`: how many calls the queue has on all pages, except those that were read for this one and are not worth showing; `next` if
     * more may follow: the id of the last one
     */
    async list(by: Admin, { after = '', agentId, count, nowMs }: Listed, isShown: (call: DeferredCall) => Promise<boolean>) {
      const waiting = (await listQueue(table, 'held', nowMs)).filter(
        (call) => mayChange(by, call.namespace) && (agentId === undefined || mayBeOf(call, agentId)),
      );
      const rest = waiting.filter(({ id }) => id > after);
      const found: CallToApprove[] = [];
      let gone = 0;
      const read = async (id: string): Promise<CallToApprove | undefined> => {
        const call = await deferred.find(id);
        if (call && (await isShown(call))) return toApproval(call);
        gone++;
        return undefined;
      };
      for (const batch of batchesOf(rest, Math.min(readAtOnce, count + 1))) {
        for (const call of await Promise.all(batch.map(({ id }) => read(id)))) {
          if (call && call.approval.agent_id === (agentId ?? call.approval.agent_id)) found.push(call);
          if (found.length > count)
            return { approvals: found.slice(0, count), waiting: waiting.length - gone, next: found[count - 1]?.executionId };
        }
      }
      return { approvals: found, waiting: waiting.length - gone };
    },

    async find(executionId: string): Promise<CallToApprove | undefined> {
      const call = await deferred.find(executionId);
      return call && toApproval(call);
    },

    /**
     * Decides a call in one transaction, including the log entry. Of several decisions, only one takes effect.
     * @param reason - of a denial, for the agent
     * @throws ApiError CONFLICT if it has been decided or has expired
     */
    async decide(by: Admin, call: CallToApprove, decision: Decided['decision'], reason: string | undefined): Promise<Decided> {
      const { executionId, account, approval, content } = call;
      const decided = await log.change<Decided>(by, async (read) => {
        const nowMs = Date.now();
        const [item] = await read<DeferredCall['item']>([keys.call(account, call.key)]);
        if (item?.execution_id !== executionId || item.state !== 'waiting') throw decidedAlready(item);
        const { until = 0 } = item;
        if (until <= nowMs) throw expired();
        const by_whom = { decision, decided_by: nameOf(by), decided_at: new Date(nowMs).toISOString() };
        // even an approval in the last second leaves the worker enough time to start
        const next =
          decision === 'approve'
            ? ({ state: 'queued', until: Math.max(until, nowMs + longestStartMs) } as const)
            : ({ state: 'denied' } as const);
        const set = { ...next, started_at: nowMs, ...by_whom, ...(reason !== undefined && { reason }) };
        return {
          result: () => ({ id: executionId, ...by_whom }),
          changes: [{ kind: 'execution', id: executionId, action: decision, digest_before: approval.digest }],
          namespace: content.namespace,
          writes: () => [moveCall(call, 'waiting', set, nowMs)],
        };
      });
      await deferred.leave(call);
      return decided;
    },
  };
}

export type Approvals = ReturnType<typeof openApprovals>;

export const noSuchApproval = () =>
  new ApiError('NOT_FOUND', 'No call with this id has waited for approval in the last 24 hours. List the waiting calls.');

const expired = () =>
  new ApiError('CONFLICT', 'The deadline for approving this call has passed, so it is not made. The agent can request it again.', {
    details: { reason: 'expired' },
  });

/** @param item - the call's record, which says who decided, or why the call is void */
function decidedAlready({ state, reason, decision, decided_by, decided_at }: Partial<DeferredCall['item']> = {}): ApiError {
  if (state === 'void') return new ApiError('CONFLICT', `${reason}`, { details: { reason: 'no_longer_holds', outcome: 'not_sent' } });
  return new ApiError('CONFLICT', 'This call has already been decided; details says by whom. Nothing was changed.', {
    details: { reason: 'decided', ...(decision !== undefined && { decision, decided_by, decided_at }) },
  });
}
