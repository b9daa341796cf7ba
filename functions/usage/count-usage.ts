import { serveSchedule } from '../core/http/serve.ts';
import { tableFromEnvironment } from '../core/table/table.ts';
import { isDelivery, readExecuted } from './executed-lines.ts';
import { openUsage, type Usage } from './usage.ts';

export interface Deps {
  usage: Usage;
  /** milliseconds since the epoch */
  now?: () => number;
}

/**
 * Counts executions from log lines. CloudWatch Logs delivers the `executed` lines; after a failure, Lambda retries twice within three minutes. A
 * schedule runs it once a minute to roll up what has arrived.
 */
export const createAction =
  ({ usage, now = Date.now }: Deps) =>
  (event: unknown, remainingMs: () => number): Promise<void> =>
    isDelivery(event) ? usage.keep(readExecuted(event, now())) : usage.rollUp(remainingMs);

export const handler = serveSchedule(createAction({ usage: openUsage(tableFromEnvironment()) }));
