import { approvalQuery, maxApprovalsOfPage } from '../../schemas/approvals/approvals.ts';
import { type AdminAction, serveAdmin } from '../core/admin/for-admins.ts';
import { nextLink } from '../core/http/links.ts';
import { ok } from '../core/http/response.ts';
import { openLiveIntents } from '../core/registry/live-intents.ts';
import { policyFromEnvironment } from '../core/registry/policy-in-force.ts';
import { tableFromEnvironment } from '../core/table/table.ts';
import { type Approvals, openApprovals } from './approvals.ts';
import { type CheckParts, openChoice } from './still-holds.ts';

/** `GET /api/approvals`: calls that this admin may approve, oldest first. */
export const createAction =
  ({ approvals, ...parts }: { approvals: Pick<Approvals, 'list'> } & CheckParts): AdminAction =>
  async (admin, request) => {
    const { page_size: requestedSize, after, agent_id: agentId } = request.query(approvalQuery);
    const count = Math.min(requestedSize, maxApprovalsOfPage);
    const {
      approvals: found,
      waiting,
      next,
    } = await approvals.list(admin, { after, agentId, count, nowMs: Date.now() }, openChoice(parts));
    return ok({ approvals: found.map(({ approval }) => approval), waiting }, nextLink(request, 'after', next));
  };

const table = tableFromEnvironment();

export const handler = serveAdmin(
  createAction({
    approvals: openApprovals(table),
    intents: openLiveIntents(table),
    findPolicy: policyFromEnvironment(table),
  }),
);
