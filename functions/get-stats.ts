import { type Stats, statsQuery } from '../schemas/stats.ts';
import { type ExecutionStats, openExecutionStats } from './core/activity/stats.ts';
import { mayChange } from './core/admin/admin.ts';
import { type AdminAction, forAdmins, serveAdmin } from './core/admin/for-admins.ts';
import { adminVerifierFromEnvironment, type VerifyAdmin } from './core/admin/verify-admin.ts';
import { ok } from './core/http/response.ts';
import type { ServiceRecord } from './core/registry/records.ts';
import { findServices } from './core/registry/service-list.ts';
import { tableFromEnvironment } from './core/table/table.ts';

export interface Deps {
  verifyAdmin: VerifyAdmin;
  stats: Pick<ExecutionStats, 'read'>;
  findServices(ids: string[]): Promise<ServiceRecord[]>;
}

/** `GET /api/stats`: what was executed and refused, and how the services did. An admin of certain namespaces sees their services. */
export const createAction = ({ verifyAdmin, stats, findServices }: Deps): AdminAction =>
  forAdmins(verifyAdmin, async (admin, request) => {
    const { period } = request.query(statsQuery);
    const counted = await stats.read(period);
    const found = await findServices(counted.services.flatMap(({ service_id }) => service_id || []));
    const records = new Map(found.map((record) => [record.service_id, record]));
    const body: Stats = {
      period,
      from: counted.from,
      services: counted.services
        .filter(({ service_id }) => mayChange(admin, records.get(service_id)?.namespace))
        .map(({ service_id, ...numbers }) => {
          const name = records.get(service_id)?.service_name;
          return { ...(service_id !== '' && { service_id }), ...(name !== undefined && { service_name: name }), ...numbers };
        }),
    };
    return ok(body);
  });

const table = tableFromEnvironment();

export const handler = serveAdmin(
  createAction({
    verifyAdmin: adminVerifierFromEnvironment(),
    stats: openExecutionStats(table),
    findServices: (ids) => findServices(table, ids),
  }),
);
