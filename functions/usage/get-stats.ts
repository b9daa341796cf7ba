import { foldName } from '../../schemas/text.ts';
import { statsQuery } from '../../schemas/usage/stats.ts';
import { mayChange } from '../core/admin/admin.ts';
import { type AdminAction, serveAdmin } from '../core/admin/for-admins.ts';
import { ok } from '../core/http/response.ts';
import { findServices } from '../core/registry/lists.ts';
import { type Table, tableFromEnvironment } from '../core/table/table.ts';
import { type ExecutionStats, openExecutionStats, toRows } from './stats.ts';
import { isShared } from './totals.ts';

const maxRows = 200;

/** `GET /api/stats`: numbers of executions, refusals and results. Namespace admins see their own services. */
export const createAction =
  ({ stats, table }: { stats: ExecutionStats; table: Table }): AdminAction =>
  async (admin, request) => {
    const { period, by, service_id: only } = request.query(statsQuery);
    const { from, totals } = await stats.read(period, by);
    const found = await findServices(table, [...new Set(totals.flatMap(({ service_id }) => service_id ?? []))]);
    const services = new Map<string | undefined, (typeof found)[number]>(found.map((service) => [service.service_id, service]));
    const seen = totals.filter(
      ({ service_id }) => (only === undefined || service_id === only) && mayChange(admin, services.get(service_id)?.namespace),
    );
    switch (by) {
      case 'agent': {
        const own = seen.filter((one) => !isShared(by, one));
        const agents = toRows(own, ['agent_id'], ({ agent_id = '' }) => foldName(agent_id));
        return ok({ period, from, agents: agents.slice(0, maxRows) });
      }
      case 'intent':
        return ok({ period, from, intents: toRows(seen, ['intent_uid', 'service_id']).slice(0, maxRows) });
      case 'service': {
        const rows = toRows(seen, ['service_id']);
        return ok({ period, from, services: rows.map((row) => ({ ...row, service_name: services.get(row.service_id)?.service_name })) });
      }
    }
  };

const table = tableFromEnvironment();

export const handler = serveAdmin(createAction({ stats: openExecutionStats(table), table }));
