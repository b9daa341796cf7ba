import { clearQuery } from '../schemas/agent.ts';
import { type Agents, openAgents } from './core/activity/agents.ts';
import { type AdminAction, forFullAdmins, serveAdmin } from './core/admin/for-admins.ts';
import { adminVerifierFromEnvironment, type VerifyAdmin } from './core/admin/verify-admin.ts';
import { noContent } from './core/http/response.ts';
import { changeLogFromEnvironment } from './core/registry/change-log.ts';
import { tableFromEnvironment } from './core/table/table.ts';

export interface Deps {
  verifyAdmin: VerifyAdmin;
  agents: Pick<Agents, 'clearWaiting'>;
}

/** `DELETE /api/agents` with `?state=pending`: removes every request for approval. Whoever made one may ask again. */
export const createAction = ({ verifyAdmin, agents }: Deps): AdminAction =>
  forFullAdmins(verifyAdmin, async (admin, request) => {
    request.query(clearQuery);
    await agents.clearWaiting(admin);
    return noContent();
  });

const table = tableFromEnvironment();

export const handler = serveAdmin(
  createAction({ verifyAdmin: adminVerifierFromEnvironment(), agents: openAgents(table, changeLogFromEnvironment(table)) }),
);
