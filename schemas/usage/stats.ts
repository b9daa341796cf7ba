import * as z from 'zod';

const periods = ['hour', 'day', 'month'] as const;

const dimensions = ['service', 'intent', 'agent'] as const;

export const statsQuery = z.object({
  period: z
    .enum(periods, 'must be hour, day or month')
    .default('day')
    .describe(
      'hour: the last 60 minutes, in slots of 5 minutes; day: the last 24 hours, by the hour; month: the last 30 days, by the day (UTC)',
    ),
  by: z
    .enum(dimensions, 'must be service, intent or agent')
    .default('service')
    .describe('service: all services; intent, agent: the 200 with the most executions'),
  service_id: z.string().max(200).optional().describe('only executions of intents of this service'),
});

export type StatsPeriod = (typeof periods)[number];
export type StatsDimension = (typeof dimensions)[number];

const count = z.int().min(0);

/** Upper bounds of the latency buckets, in milliseconds. */
export const latencyLimits = [100, 300, 1_000, 3_000, 10_000] as const;

const numbers = {
  executions: count.describe('requests to execute an intent, whatever their outcome'),
  refusals: z.record(z.string(), count).describe('unsuccessful executions, by error code'),
  upstream_calls: count.describe("calls of intents' endpoints"),
  upstream_failures: count.describe('calls without an answer, or answered with 401, 403, 429 or 5xx'),
  drift: count.describe('2xx answers that did not match the output_parameters of their intents'),
  upstream_ms: count.describe('total duration of answered calls, in milliseconds'),
  latency: z
    .array(count)
    .describe(
      `latency histogram of answered calls: numbers of calls up to ${latencyLimits.join(', ')} ms, each without the previous ones, and of longer calls`,
    ),
};

const statsSlot = z.strictObject({ from: z.iso.datetime(), ...numbers }).meta({ id: 'StatsSlot' });

const counted = {
  ...numbers,
  last_failure: z
    .strictObject({ at: z.iso.datetime(), code: z.string(), upstream_status: z.int().optional() })
    .optional()
    .describe('the last upstream failure that was counted'),
  slots: z.array(statsSlot).describe('periods with executions, oldest first'),
};

const serviceStats = z
  .strictObject({
    service_id: z.string().optional().describe('absent if the request was refused before its intent was found'),
    service_name: z.string().optional().describe('absent if the service has been deleted'),
    ...counted,
  })
  .meta({ id: 'ServiceStats' });

const intentStats = z.strictObject({ intent_uid: z.string(), service_id: z.string(), ...counted }).meta({ id: 'IntentStats' });

const agentStats = z.strictObject({ agent_id: z.string(), ...counted }).meta({ id: 'AgentStats' });

const head = { period: z.enum(periods), from: z.iso.datetime() };
const most = 'those with the most executions first';

export const stats = z
  .strictObject({ ...head, services: z.array(serviceStats).describe(most) })
  .meta({ id: 'Stats', description: 'Executions, refusals and upstream calls by service.' });

export const statsByIntent = z
  .strictObject({ ...head, intents: z.array(intentStats).max(200).describe(most) })
  .meta({ id: 'StatsByIntent', description: 'The same by intent.' });

export const statsByAgent = z
  .strictObject({ ...head, agents: z.array(agentStats).max(200).describe(`${most}, among the 1,000 busiest of each minute`) })
  .meta({ id: 'StatsByAgent', description: 'The same by agent.' });

export type Stats = z.infer<typeof stats>;
export type StatsByIntent = z.infer<typeof statsByIntent>;
export type StatsByAgent = z.infer<typeof statsByAgent>;
export type ServiceStats = z.infer<typeof serviceStats>;
export type StatsNumbers = Omit<z.infer<typeof statsSlot>, 'from'>;
