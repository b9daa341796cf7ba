import { Duration, Stack } from 'aws-cdk-lib';
import type { SpecRestApi } from 'aws-cdk-lib/aws-apigateway';
import {
  Dashboard,
  GraphWidget,
  type IWidget,
  LogQueryVisualizationType,
  LogQueryWidget,
  MathExpression,
  Stats,
} from 'aws-cdk-lib/aws-cloudwatch';
import type { Construct } from 'constructs';
import { logGroupsOfExecutions } from './alarms.ts';
import type { EndpointFunction } from './endpoint-function.ts';
import type { AnyTable, Tables } from './tables.ts';

export interface DashboardProps {
  rest: SpecRestApi;
  tables: Tables;
  functions: ReadonlyMap<string, EndpointFunction>;
  /** of the metrics extracted from logs */
  namespace: string;
}

const period = Duration.minutes(5);
const half = { width: 12, height: 6 };

/** Maximum number of log groups in one CloudWatch query. */
const maxLogGroups = 50;

/**
 * The dashboard. It queries logs where it can: a query costs only when viewed, a metric always.
 */
export function createDashboard(scope: Construct, { rest, tables, functions, namespace }: DashboardProps): Dashboard {
  const logGroupNames = [...functions.values()].map(({ logGroup }) => logGroup.logGroupName);
  const executing = logGroupsOfExecutions(functions);
  const query = (name: string, queryLines: string[], groups = logGroupNames): IWidget[] => {
    const count = Math.ceil(groups.length / maxLogGroups);
    return Array.from({ length: count }, (_, at) => {
      const title = count > 1 ? `${name} (${at + 1} of ${count})` : name;
      const part = groups.slice(at * maxLogGroups, (at + 1) * maxLogGroups);
      return new LogQueryWidget({ title, queryLines, logGroupNames: part, view: LogQueryVisualizationType.TABLE, ...half });
    });
  };
  const lambdas = [...functions].map(([name, { lambda }]) => ({ name, lambda }));
  const widgets: IWidget[] = [
    new GraphWidget({
      title: 'Calls and errors',
      left: [rest.metricCount({ period }), rest.metricClientError({ period }), rest.metricServerError({ period })],
      ...half,
    }),
    new GraphWidget({
      title: 'Time to answer',
      left: [50, 90, 99].map((percent) => rest.metricLatency({ statistic: Stats.percentile(percent), period })),
      ...half,
    }),
    new GraphWidget({
      title: 'Refusals by reason',
      left: [search(`{${namespace},code} MetricName="Refusals"`)],
      ...half,
    }),
    ...query('Rate limits reached, by endpoint', [
      'filter message = "answered" and code = "TOO_MANY_REQUESTS"',
      'stats count() as refused by endpoint, bin(5m)',
    ]),
    ...(['agent', 'service'] as const).flatMap((one) =>
      query(
        `Executions by ${one}`,
        ['filter message = "executed"', `stats count() as calls by ${one}_id, outcome`, 'sort calls desc', 'limit 50'],
        executing,
      ),
    ),
    ...query(
      'Upstream outcomes by host',
      [
        'filter message = "executed" and ispresent(upstream_host)',
        'stats count() as calls, pct(upstream_ms, 50) as p50_ms, pct(upstream_ms, 99) as p99_ms by upstream_host, upstream_status, outcome',
        'sort calls desc',
      ],
      executing,
    ),
    ...query('Faults by cause (KMS, DynamoDB, our own)', [
      'filter level = "ERROR" and message in ["answered", "tool"]',
      'stats count() as answers by endpoint, tool, code, cause.name, cause.cause.name',
      'sort answers desc',
    ]),
    new GraphWidget({
      title: 'Functions: duration, p99',
      left: lambdas.map(({ name, lambda }) => lambda.metricDuration({ statistic: Stats.percentile(99), label: name, period })),
      ...half,
    }),
    new GraphWidget({
      title: 'Functions: errors and throttles',
      left: lambdas.map(({ name, lambda }) => lambda.metricErrors({ label: name, period })),
      right: lambdas.map(({ name, lambda }) => lambda.metricThrottles({ label: `${name} throttled`, period })),
      ...half,
    }),
    ...query('Cold starts', [
      'filter type = "platform.report" and ispresent(record.metrics.initDurationMs)',
      'stats count() as starts, avg(record.metrics.initDurationMs) as mean_ms, max(record.metrics.initDurationMs) as longest_ms, max(record.metrics.maxMemoryUsedMB) as memory_mb by @log',
      'sort starts desc',
    ]),
    tableWidget('Registry', tables.registry),
    tableWidget('Activity', tables.activity),
  ];
  // Dashboard names are global in an account, so the region keeps deployments to several regions apart.
  const { region } = Stack.of(scope);
  return new Dashboard(scope, 'Dashboard', { dashboardName: `${namespace}-${region}`, widgets: [widgets] });
}

const tableWidget = (name: string, table: AnyTable) =>
  new GraphWidget({
    title: `${name} table: capacity, errors, throttles`,
    left: [table.metricConsumedReadCapacityUnits({ period }), table.metricConsumedWriteCapacityUnits({ period })],
    right: ['SystemErrors', 'ThrottledRequests'].map((metricName) =>
      search(`{AWS/DynamoDB,Operation,TableName} TableName="${table.tableName}" MetricName="${metricName}"`),
    ),
    ...half,
  });

const search = (terms: string) => new MathExpression({ expression: `SEARCH('${terms}', 'Sum', ${period.toSeconds()})`, label: '', period });
