import { type Stats, type StatsByAgent, type StatsByIntent, statsQuery } from '../schemas/stats.ts';
import { foldName } from '../schemas/text.ts';
import { type ExecutionStats, openExecutionStats, toRows } from './core/activity/stats.ts';
import { mayChange } from './core/admin/admin.ts';
import { type AdminAction, serveAdmin } from './core/admin/for-admins.ts';
import { ok } from './core/http/response.ts';
import type { ServiceRecord } from './core/registry/records.ts';
import { findServices } from './core/registry/service-list.ts';
import { tableFromEnvironment } from './core/table/table.ts';

const maxRows = 200;

/** `GET /api/stats`: numbers of executions, refusals and results. Namespace admins see their own services. */
export const createAction =
  ({ stats, findServices }: { stats: ExecutionStats; findServices(ids: string[]): Promise<ServiceRecord[]> }): AdminAction =>
  async (admin, request) => {
    const { period, by, service_id: only } = request.query(statsQuery);
    const { from, totals } = await stats.read(period, by);
    const found = await findServices([...new Set(totals.flatMap(({ service_id }) => service_id ?? []))]);
    const records = new Map(found.map((record) => [record.service_id, record]));
    const seen = totals.filter(
      ({ service_id = '' }) => (only === undefined || service_id === only) && mayChange(admin, records.get(service_id)?.namespace),
    );
    const head = { period, from };
    if (by === 'agent') {
      const agents = toRows(
        seen,
        ({ agent_id = '' }) => foldName(agent_id),
        ({ agent_id = '' }) => ({ agent_id }),
      );
      return ok({ ...head, agents: agents.slice(0, maxRows) } satisfies StatsByAgent);
    }
    if (by === 'intent') {
      const intents = toRows(
        seen,
        ({ service_id, intent_uid }) => `${service_id} ${intent_uid}`,
        ({ service_id = '', intent_uid = '' }) => ({ intent_uid, service_id }),
      );
      return ok({ ...head, intents: intents.slice(0, maxRows) } satisfies StatsByIntent);
    }
    const services = toRows(
      seen,
      ({ service_id = '' }) => service_id,
      ({ service_id }) => {
        const { service_name } = records.get(service_id ?? '') ?? {};
        return { ...(service_id !== undefined && { service_id }), ...(service_name !== undefined && { service_name }) };
      },
    );
    return ok({ ...head, services } satisfies Stats);
  };

const table = tableFromEnvironment();

export const handler = serveAdmin(
  createAction({
    stats: openExecutionStats(table),
    findServices: (ids) => findServices(table, ids),
  }),
);
