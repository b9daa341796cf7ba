import { clearQuery } from '../schemas/agent.ts';
import { type Agents, openAgents } from './core/activity/agent.ts';
import { requireFullAdmin } from './core/admin/admin.ts';
import { adminVerifierFromEnvironment, type VerifyAdmin } from './core/admin/verify-admin.ts';
import { noContent } from './core/http/response.ts';
import { type Action, serve } from './core/http/serve.ts';
import { type History, historyFromEnvironment } from './core/registry/history.ts';
import { tableFromEnvironment } from './core/table/table.ts';

export interface Deps {
  verifyAdmin: VerifyAdmin;
  agents: Pick<Agents, 'clearWaiting'>;
  history: Pick<History, 'around'>;
}

/** `DELETE /api/agents` with `?state=pending`: removes every request for approval. Whoever made one may ask again. */
export const createAction =
  ({ verifyAdmin, agents, history }: Deps): Action =>
  async (request) => {
    const admin = await verifyAdmin(request);
    requireFullAdmin(admin);
    const { state } = request.query(clearQuery);
    const clear = async () => {
      await agents.clearWaiting(Date.now());
      return true;
    };
    await history.around(admin, { kind: 'agent', id: state, action: 'clear' }, clear);
    return noContent();
  };

const table = tableFromEnvironment();

export const handler = serve(
  createAction({ verifyAdmin: adminVerifierFromEnvironment(), agents: openAgents(table), history: historyFromEnvironment(table) }),
);
