import { serveSchedule } from '../core/http/serve.ts';
import { tableFromEnvironment } from '../core/table/table.ts';
import { isDelivery, readExecuted } from './executed-lines.ts';
import { type Health, healthFromEnvironment } from './health.ts';
import { openUsage, type Usage } from './usage.ts';

export interface Deps {
  usage: Usage;
  health?: Health | undefined;
  /** milliseconds since the epoch */
  now?: () => number;
}

/** How often the health of intents is summarised, in minutes. */
const summaryMinutes = 5;

/**
 * Counts executions from log lines. CloudWatch Logs delivers the `executed` lines; after a failure, Lambda retries twice within three minutes. A
 * schedule runs it once a minute to roll up what has arrived.
 */
export const createAction =
  ({ usage, health, now = Date.now }: Deps) =>
  async (event: unknown, remainingMs: () => number): Promise<void> => {
    if (isDelivery(event)) return usage.keep(readExecuted(event, now()));
    await usage.rollUp(remainingMs);
    if (Math.floor(now() / 60_000) % summaryMinutes === 0) await health?.summarise();
  };

const table = tableFromEnvironment();

export const handler = serveSchedule(createAction({ usage: openUsage(table), health: healthFromEnvironment(table) }));
