import { requireNamespace } from './core/admin/admin.ts';
import { type AdminAction, serveAdmin } from './core/admin/for-admins.ts';
import { ok } from './core/http/response.ts';
import { type ChangeLog, changeLogFromEnvironment } from './core/registry/change-log.ts';
import { ApiError } from './core/runtime/api-error.ts';
import { tableFromEnvironment } from './core/table/table.ts';

/** `GET /api/changes/{seq}`: one change, with its records before and after it. Namespace admins see the changes of their namespaces. */
export const createAction =
  ({ changeLog }: { changeLog: Pick<ChangeLog, 'find' | 'findVersions'> }): AdminAction =>
  async (admin, request) => {
    const seq = request.pathParameter('seq');
    const entry = /^[1-9][0-9]{0,11}$/.test(seq) ? await changeLog.find(Number(seq)) : undefined;
    if (!entry) throw noSuchChange();
    requireNamespace(admin, entry.namespace);
    const versions = await changeLog.findVersions(entry.seq);
    return ok({ entry, ...(versions && { versions }) });
  };

const noSuchChange = () =>
  new ApiError('NOT_FOUND', 'No change has this number, or it has expired. GET /api/changes lists the changes that are kept.');

export const handler = serveAdmin(createAction({ changeLog: changeLogFromEnvironment(tableFromEnvironment()) }));
