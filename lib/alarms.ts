import { Duration, Stack } from 'aws-cdk-lib';
import {
  Alarm,
  CfnInsightRule,
  ComparisonOperator,
  type IMetric,
  MathExpression,
  Metric,
  type MetricProps,
  Stats,
  TreatMissingData,
} from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import { ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { FilterPattern, type LogGroup, type MetricFilterOptions } from 'aws-cdk-lib/aws-logs';
import { type ITopic, Topic } from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import { Construct } from 'constructs';
import type { ErrorCode } from '../schemas/errors.ts';
import { acknowledge } from './acknowledge.ts';
import type { EndpointFunction } from './endpoint-function.ts';
import { executing } from './endpoints.ts';
import { gradualFunctions } from './gradual-deployment.ts';
import type { Settings } from './settings.ts';
import type { Tables } from './tables.ts';

export interface AlarmsProps {
  accessLog: LogGroup;
  tables: Tables;
  functions: ReadonlyMap<string, EndpointFunction>;
  /** of the metrics extracted from logs */
  namespace: string;
  settings: Settings;
  /** created if absent */
  topic?: ITopic | undefined;
}

/** An alarm, which fires if its metric is above or below a bound. */
interface AlarmRow {
  metric: IMetric;
  above?: number;
  below?: number;
  /** consecutive periods that must breach; default: 1 */
  periods?: number;
  /** also alarms when a metric stops reporting; a metric without any data belongs to a new deployment */
  orSilent?: true;
  description: string;
}

const often = { above: 10, periods: 2 };

const sum = { statistic: Stats.SUM, period: Duration.minutes(5) };

/** A metric filter: counts the lines that match a pattern, or takes the value from them. */
const filter = (metricName: string, pattern: string, metricValue = '1') => ({
  metricName,
  metricValue,
  filterPattern: FilterPattern.literal(`{ ${pattern} }`),
});

/** 5xx of API Gateway because a function failed or timed out. Excludes 413: API Gateway accepts bodies over Lambda's limit of 6 MB. */
const gatewayFailures = filter(
  'GatewayFailures',
  '($.message = "access") && ($.status >= 500) && ($.refusal != "-") && ($.integration_status != "413")',
);

/** PAT requests that fail because of KMS or the table. */
const issueFailures = filter('IssueFailures', '($.message = "answered") && ($.status >= 500)');

const snapshotted = '$.message = "the snapshot of the search index is as new as it should be"';
const filled = '$.message = "filled a part of the search collection"';

/**
 * Metrics extracted from the logs of individual functions. A default value belongs to minutes in which no line matches: it tells a function that always
 * fails from one that never ran. Refusals need no filter, because their lines contain the metric (`functions/core/http/log-answer.ts`).
 */
const filters: Readonly<Record<string, Record<string, Omit<MetricFilterOptions, 'metricNamespace'>>>> = {
  'issue-pat': { Failures: issueFailures },
  'issue-token': { Failures: issueFailures },
  'snapshot-search-index': { Runs: { ...filter('SnapshotAgeRuns', snapshotted), defaultValue: 0 } },
  'count-usage': { Oldest: filter('UsageAge', '$.message = "counted executions"', '$.oldest_seconds') },
  'sequence-receipts': { Oldest: filter('ReceiptAge', '$.message = "sequenced receipts"', '$.oldest_seconds') },
  // During the first fill FeedAge is 0; FillAge watches how long the fill takes.
  'feed-search-collection': {
    Fed: { ...filter('FeedAge', '$.message = "fed the search collection"', '$.behind_seconds'), defaultValue: 86_400 },
    Filled: filter('FeedAge', filled, '0'),
    Filling: filter('FillAge', filled, '$.behind_seconds'),
  },
};

/** An alarm of a function; absent if the function is. */
type FunctionAlarm = Omit<AlarmRow, 'metric'> & { of: string; metric: (namespace: string, lambda: EndpointFunction['lambda']) => IMetric };

const logged = (metricName: string, more: Partial<MetricProps> = {}) => {
  return (namespace: string) => new Metric({ namespace, metricName, ...sum, ...more });
};
const lowest = (metricName: string, period = sum.period) => logged(metricName, { statistic: Stats.MINIMUM, period });
/** Fires if the oldest work was older than `above` seconds after every run of a period, or if nothing ran. */
const late = (of: string, metricName: string, above: number, period = sum.period) =>
  ({ of, metric: lowest(metricName, period), above, orSilent: true }) as const;
const errors: FunctionAlarm['metric'] = (_, lambda) => lambda.metricErrors(sum);
const slowest: FunctionAlarm['metric'] = (_, lambda) => lambda.metricDuration({ ...sum, statistic: Stats.percentile(99) });

/** Alarms of individual functions. Lambda errors are counted where no response or missing metric would reveal a failure. */
const functionAlarms: Readonly<Record<string, FunctionAlarm>> = {
  IssueFailures: { of: 'issue-pat', metric: logged('IssueFailures'), above: 3, description: 'PATs cannot be issued.' },
  SlowSearch: { of: 'search-intents', metric: slowest, above: 3_000, periods: 3, description: '1 % of searches take over 3 seconds.' },
  SnapshotAge: {
    of: 'snapshot-search-index',
    metric: logged('SnapshotAgeRuns', { period: Duration.hours(3) }),
    below: 1,
    orSilent: true,
    description: 'The search index has had no current snapshot for three hours, so cold starts of search take longer.',
  },
  UsageErrors: { of: 'count-usage', metric: errors, above: 2, description: 'Executions are not being counted.' },
  UsageAge: { ...late('count-usage', 'UsageAge', 600), description: 'Executions are counted too late, or not at all.' },
  ReceiptErrors: { of: 'sequence-receipts', metric: errors, above: 2, description: 'Receipts are not being added to the log.' },
  ReceiptAge: {
    ...late('sequence-receipts', 'ReceiptAge', 300),
    description: 'Receipts reach the log later than promised, or not at all.',
  },
  DeferredErrors: { of: 'run-deferred-call', metric: errors, above: 2, description: 'Deferred calls do not start, or get no result.' },
  FeedAge: {
    ...late('feed-search-collection', 'FeedAge', 1_800, Duration.minutes(30)),
    description: 'Search results are more than half an hour out of date: writing changes to the search collection fails or takes too long.',
  },
  FillAge: {
    of: 'feed-search-collection',
    metric: lowest('FillAge'),
    above: 7_200,
    description: 'The search collection has been filling for two hours; searches do not find every intent yet.',
  },
};

/**
 * The functions whose throttles raise an alarm: those that agents call most, and the one whose result no caller waits for. An alarm can add up at most
 * ten metrics, and is billed for each. API Gateway answers throttled calls of other functions with 500, which GatewayErrors counts.
 */
const throttled = ['search-intents', 'issue-pat', ...executing];

/** The alarms. Each has a row in the runbook in docs/operations.md. */
export class Alarms extends Construct {
  readonly topic: ITopic;
  private readonly alarms = new Map<string, Alarm>();

  constructor(scope: Construct, id: string, { accessLog, tables, functions, namespace, settings, topic }: AlarmsProps) {
    super(scope, id);
    this.topic = topic ?? new Topic(this, 'Topic', { displayName: `Intent Gate alarms (${settings.stage})`, enforceSSL: true });
    // A topic policy replaces SNS's default policy, which lets CloudWatch publish.
    const ownAlarms = { StringEquals: { 'aws:SourceAccount': Stack.of(this).account } };
    this.topic.grantPublish(new ServicePrincipal('cloudwatch.amazonaws.com', { conditions: ownAlarms }));
    if (settings.alarmEmail) {
      this.topic.addSubscription(new EmailSubscription(settings.alarmEmail));
      acknowledge(this.topic, {
        'Serverless-SNSRedrivePolicy': 'An email that cannot be delivered is of no use later; the alarm itself remains in CloudWatch.',
      });
    }

    accessLog.addMetricFilter('GatewayFailures', { metricNamespace: namespace, ...gatewayFailures });
    this.watchAnswers(namespace);
    this.watchConcurrency(functions, settings);
    this.watchCallers(functions, namespace, settings);
    this.watchTables(tables);
    for (const [name, made] of functions) {
      for (const [id, options] of Object.entries(filters[name] ?? {}))
        made.logGroup.addMetricFilter(id, { metricNamespace: namespace, ...options });
      this.watchRollout(name, made);
    }
    for (const [name, { of, metric, ...row }] of Object.entries(functionAlarms)) {
      const lambda = functions.get(of)?.lambda;
      if (lambda) this.add(name, { ...row, metric: metric(namespace, lambda) });
    }
  }

  named(names: readonly string[]): Alarm[] {
    return names.flatMap((name) => this.alarms.get(name) ?? []);
  }

  /** Isolated failures and upstream failures raise no alarm. */
  private watchAnswers(namespace: string): void {
    const refused = (code: ErrorCode) => logged('Refusals', { dimensionsMap: { code } })(namespace);
    const failures = logged('GatewayFailures')(namespace);
    const more = 'In two consecutive periods of five minutes, more than 10 responses';
    this.add('ApiErrors', { metric: refused('INTERNAL_SERVER_ERROR'), ...often, description: `${more} were unexpected errors.` });
    this.add('Unavailable', { metric: refused('SERVICE_UNAVAILABLE'), ...often, description: `${more} said that AWS fails to answer.` });
    this.add('GatewayErrors', { metric: failures, ...often, description: `${more} came from API Gateway because a function failed.` });
    const description = 'Many tokens are invalid: somebody is guessing, or a signing key was removed too early.';
    this.add('RefusedTokens', { metric: refused('UNAUTHORIZED'), above: 1_000, periods: 3, description });
  }

  private watchTables({ registry, activity }: Tables): void {
    const description =
      'DynamoDB throttles requests: one partition of the table is too hot, or traffic has grown faster than the table can scale.';
    for (const [name, table] of Object.entries({ Registry: registry, Activity: activity }))
      for (const operation of ['Read', 'Write'])
        this.add(`${name}${operation}sThrottled`, { metric: table.metric(`${operation}ThrottleEvents`, sum), ...often, description });
  }

  private watchConcurrency(functions: AlarmsProps['functions'], { reservedConcurrency }: Settings): void {
    const throttles = throttled.flatMap((name) => functions.get(name)?.lambda.metricThrottles(sum) ?? []);
    const usingMetrics = Object.fromEntries(throttles.map((metric, at) => [`m${at}`, metric]));
    this.add('Throttles', {
      metric: new MathExpression({ expression: 'SUM(FILL(METRICS(), 0))', usingMetrics, period: sum.period }),
      ...often,
      description: 'Lambda throttles this gate: the concurrency of the account, or that reserved for a function, is used up.',
    });
    const alarms = { 'execute-intent': 'ExecuteConcurrency', mcp: 'McpConcurrency', 'run-deferred-call': 'DeferredConcurrency' } as const;
    for (const name of executing) {
      const reserved = reservedConcurrency[name];
      const metric = functions.get(name)?.lambda.metric('ConcurrentExecutions', { ...sum, statistic: Stats.MAXIMUM });
      const description = `${name} uses more than 80 % of its reserved concurrency.`;
      if (metric && reserved > 0) this.add(alarms[name], { metric, above: 0.8 * reserved, periods: 2, description });
    }
  }

  /** Uses Contributor Insights rules, because metric dimensions would be billed per agent and service. */
  private watchCallers(functions: AlarmsProps['functions'], namespace: string, settings: Settings): void {
    const Filters = [
      { Match: '$.message', In: ['executed'] },
      // Blocking the agent ends the alarm.
      { Match: '$.outcome', NotIn: ['FORBIDDEN'] },
    ];
    for (const one of ['Agent', 'Service'] as const) {
      const above = settings[`alarmCallsPer${one}`];
      if (above === 0) continue;
      const name = `Busy${one}`;
      const ruleName = `${namespace}-${name}`;
      const rule = new CfnInsightRule(this, `${name}Rule`, {
        ruleName,
        ruleState: 'ENABLED',
        ruleBody: Stack.of(this).toJsonString({
          Schema: { Name: 'CloudWatchLogRule', Version: 1 },
          LogGroupNames: logGroupsOfExecutions(functions),
          LogFormat: 'JSON',
          Contribution: { Keys: [`$.${one.toLowerCase()}_id`], Filters },
          AggregateOn: 'Count',
        }),
      });
      const expression = `INSIGHT_RULE_METRIC('${ruleName}', MaxContributorValue)`;
      const metric = new MathExpression({ expression, period: Duration.minutes(1) });
      const description = `One ${one.toLowerCase()} has more executions a minute than alarmCallsPer${one}.`;
      this.add(name, { metric, above, periods: 3, description }).node.addDependency(rule);
    }
  }

  /** Lambda reports metrics per version only while an alias routes to two versions. */
  private watchRollout(name: string, { alias, lambda }: EndpointFunction): void {
    const alarm = gradualFunctions[name];
    if (!alias || !alarm) return;
    const dimensionsMap = {
      FunctionName: lambda.functionName,
      Resource: `${lambda.functionName}:${alias.aliasName}`,
      ExecutedVersion: alias.version.version,
    };
    this.add(alarm, {
      metric: new Metric({ namespace: 'AWS/Lambda', metricName: 'Errors', dimensionsMap, ...sum, period: Duration.minutes(1) }),
      above: 0,
      description: `The new version of ${name} crashes or times out.`,
    });
  }

  private add(name: string, { metric, above, below, periods = 1, orSilent, description }: AlarmRow): Alarm {
    const alarm = new Alarm(this, name, {
      metric,
      threshold: above ?? below ?? 0,
      comparisonOperator: below === undefined ? ComparisonOperator.GREATER_THAN_THRESHOLD : ComparisonOperator.LESS_THAN_THRESHOLD,
      treatMissingData: orSilent ? TreatMissingData.MISSING : TreatMissingData.NOT_BREACHING,
      // Only for percentiles: a few slow requests in a quiet hour are no trend.
      ...(isPercentile(metric) && { evaluateLowSampleCountPercentile: 'ignore' }),
      evaluationPeriods: periods,
      alarmDescription: `${description} Runbook: docs/operations.md#runbook`,
    });
    this.alarms.set(name, alarm);
    const notify = new SnsAction(this.topic);
    alarm.addAlarmAction(notify);
    alarm.addOkAction(notify);
    if (orSilent) alarm.addInsufficientDataAction(notify);
    return alarm;
  }
}

export const logGroupsOfExecutions = (functions: AlarmsProps['functions']): string[] =>
  executing.flatMap((name) => functions.get(name)?.logGroup.logGroupName ?? []);

const isPercentile = ({ statistic = '' }: IMetric & { statistic?: string }): boolean => /^p\d/.test(statistic);
