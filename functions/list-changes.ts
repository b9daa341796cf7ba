import { changesQuery } from '../schemas/changes.ts';
import { type AdminAction, serveAdmin } from './core/admin/for-admins.ts';
import { nextLink } from './core/http/links.ts';
import { ok } from './core/http/response.ts';
import { type ChangeLog, changeLogFromEnvironment } from './core/registry/change-log.ts';
import { selectEntries } from './core/registry/log.ts';
import { tableFromEnvironment } from './core/table/table.ts';

/** `GET /api/changes`: who changed what, newest first. Namespace admins see the changes of their namespaces. */
export const createAction =
  ({ changeLog }: { changeLog: Pick<ChangeLog, 'head' | 'list'> }): AdminAction =>
  async ({ namespaces }, request) => {
    const { since, page_size: count, before, ...selection } = request.query(changesQuery);
    const isWanted = selectEntries({ ...selection, namespaces });
    // the head is read first: entries added meanwhile only make the page newer than the head
    const { seq, digest } = await changeLog.head();
    const { entries, next } = await changeLog.list({ count, since, before: before === undefined ? undefined : Number(before), isWanted });
    return ok({ entries, head: { seq, digest } }, nextLink(request, 'before', next));
  };

export const handler = serveAdmin(createAction({ changeLog: changeLogFromEnvironment(tableFromEnvironment()) }));
