import { executionsQuery, recordedDays } from '../schemas/executions.ts';
import { type History, openHistory } from './core/activity/history.ts';
import { type AdminAction, forFullAdmins, serveAdmin } from './core/admin/for-admins.ts';
import { nextLink } from './core/http/links.ts';
import { ok } from './core/http/response.ts';
import { tableFromEnvironment } from './core/table/table.ts';

export interface Deps {
  history: Pick<History, 'page'>;
  /** milliseconds since the epoch */
  now?: () => number;
}

/** `GET /api/executions`: executions and refusals from the log, on which other policies can be tried. */
export const createAction = ({ history, now = Date.now }: Deps): AdminAction =>
  forFullAdmins(async (_admin, request) => {
    const { from, to = now(), after, page_size: count } = request.query(executionsQuery);
    const fromMs = Math.max(from, now() - recordedDays * 24 * 3_600_000);
    // includes executions that other functions, whose clocks are fast, dated in the future
    const { executions, next } = await history.page({ fromMs, toMs: Math.min(to, now() + 3_600_000), after, count });
    return ok({ executions }, nextLink(request, 'after', next));
  });

export const handler = serveAdmin(createAction({ history: openHistory(tableFromEnvironment()) }));
