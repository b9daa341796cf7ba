import * as z from 'zod';
import '../../functions/usage/records.ts';
import { stats, statsByAgent, statsByIntent, statsQuery } from '../../schemas/usage/stats.ts';
import type { Declaration } from '../declaration.ts';
import { wholeProcessorMb } from '../endpoints/endpoint.ts';
import { currency, serviceId } from '../endpoints/fixtures.ts';
import { flag } from '../settings/kinds.ts';

/** The counts of one execution. */
const counted = {
  executions: 1,
  refusals: {},
  upstream_calls: 1,
  upstream_failures: 0,
  drift: 0,
  upstream_ms: 85,
  latency: [1, 0, 0, 0, 0, 0],
};

export const usage = {
  endpoints: {
    Services: {
      'get-stats': {
        method: 'GET',
        path: '/api/stats',
        summary: 'Read statistics of executions by service, intent or agent',
        description:
          'Executions, refusals by code, upstream failures and latency of each service or, with `by`, of each intent or agent; admins of a namespace see those of its services. Counted from the log, each execution exactly once, complete after two minutes.',
        credential: 'admin',
        query: statsQuery,
        answer: z.union([stats, statsByIntent, statsByAgent]),
        needs: { table: { stats: ['query'], service: ['getAll'] } },
        example: {
          query: { period: 'day' },
          answer: {
            period: 'day',
            from: '2027-02-28T12:00:00.000Z',
            services: [
              {
                service_id: serviceId,
                service_name: currency.service_name,
                ...counted,
                slots: [{ from: '2027-03-01T11:00:00.000Z', ...counted }],
              },
            ],
          },
        },
      },
    },
  },
  background: [
    {
      name: 'count-usage',
      summary: 'Count executions from the log',
      logLines: 'executed',
      everyMinutes: 1,
      isQuiet: true,
      needs: {
        table: { executed: ['query', 'put', 'update', 'delete', 'writeAll'], stats: ['query', 'put', 'delete'], health: ['put'] },
      },
      logMetrics: { Oldest: { metric: 'UsageAge', pattern: '$.message = "counted executions"', value: '$.oldest_seconds' } },
      alarms: {
        UsageErrors: { metric: 'failedRuns', above: 2, description: 'Executions are not being counted.' },
        UsageAge: {
          metric: { lowest: 'UsageAge' },
          above: 600,
          orSilent: true,
          description: 'Executions are counted too late, or not at all.',
        },
      },
      timeoutSeconds: 300,
      memoryMb: wholeProcessorMb,
    },
  ],
  additions: {
    'search-intents': { needs: { table: { health: ['get'] } } },
    'get-intent': { needs: { table: { health: ['get'] } } },
  },
  settings: {
    showHealth: flag.default(false).describe('search results and intents say [how calls of the last day have fared](search.md#health)'),
  },
  records: { stats: 'totals of executions', health: 'how the calls of intents have fared' },
} as const satisfies Declaration;
