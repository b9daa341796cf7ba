import { isDelivery, readExecuted } from './core/activity/executed-lines.ts';
import { openUsage, type Usage } from './core/activity/usage.ts';
import { serveSchedule } from './core/http/serve.ts';
import { tableFromEnvironment } from './core/table/table.ts';

export interface Deps {
  usage: Usage;
  /** milliseconds since the epoch */
  now?: () => number;
}

/**
 * Counts executions from the log. CloudWatch Logs passes it the lines `executed`; if it fails, Lambda passes them again, twice in three minutes. Once a
 * minute it runs on a schedule, to add up what has come.
 */
export const createAction =
  ({ usage, now = Date.now }: Deps) =>
  (event: unknown): Promise<void> =>
    isDelivery(event) ? usage.keep(readExecuted(event, now())) : usage.rollUp();

export const handler = serveSchedule(createAction({ usage: openUsage(tableFromEnvironment()) }));
