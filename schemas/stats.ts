import * as z from 'zod';

/** What the numbers are asked for. */
export const statsQuery = z.object({
  period: z
    .enum(['day', 'month'], 'must be day or month')
    .default('day')
    .describe('day: the last 24 hours, by the hour; month: the last 30 days, by the day (UTC)'),
});

export type StatsPeriod = z.infer<typeof statsQuery>['period'];

const count = z.int().min(0);

/** The limits of the classes of latency, in milliseconds; a class holds calls that took no longer than its limit and longer than the one before. */
export const latencyLimits = [100, 300, 1_000, 3_000, 10_000] as const;

const numbers = {
  executions: count.describe('requests to execute an intent, whatever came of them'),
  refusals: z.record(z.string(), count).describe('those that were not answered with success, by error code'),
  upstream_calls: count.describe("calls of intents' own endpoints"),
  upstream_failures: count.describe('those that were not answered, or with 401, 403, 429 or 5xx'),
  drift: count.describe('answers in the 200s that did not match the output_parameters of their intents'),
  upstream_ms: count.describe('how long those that were answered took together, in milliseconds'),
  latency: z
    .array(count)
    .describe(
      `how many of the answered calls took at most ${latencyLimits.join(', ')} ms (each without those before), and how many took longer`,
    ),
};

const statsSlot = z.strictObject({ from: z.iso.datetime(), ...numbers }).meta({ id: 'StatsSlot' });

const serviceStats = z
  .strictObject({
    service_id: z.string().optional().describe('none if the request named no intent that exists'),
    service_name: z.string().optional().describe('none if the service has been deleted'),
    ...numbers,
    last_failure: z
      .strictObject({ at: z.iso.datetime(), code: z.string(), upstream_status: z.int().optional() })
      .optional()
      .describe('the last upstream failure that was counted'),
    slots: z.array(statsSlot).describe('hours or days in which something was counted, oldest first'),
  })
  .meta({ id: 'ServiceStats' });

/** What `GET /api/stats` answers. */
export const stats = z
  .strictObject({ period: statsQuery.shape.period.unwrap(), from: z.iso.datetime(), services: z.array(serviceStats) })
  .meta({ id: 'Stats', description: 'Executions, refusals and upstream calls by service.' });

export type Stats = z.infer<typeof stats>;
export type ServiceStats = z.infer<typeof serviceStats>;
