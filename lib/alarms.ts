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
import { FilterPattern, type LogGroup } from 'aws-cdk-lib/aws-logs';
import { type ITopic, Topic } from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import { Construct } from 'constructs';
import type { ErrorCode } from '../schemas/errors.ts';
import { acknowledge } from './acknowledge.ts';
import type { EndpointFunction } from './endpoint-function.ts';
import type { AlarmRule, BackgroundFunction } from './endpoints/endpoint.ts';
import { backgroundWith, type Endpoint, endpointsWith, executing } from './endpoints.ts';
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

const often = { above: 10, periods: 2 };

const sum = { statistic: Stats.SUM, period: Duration.minutes(5) };

/** 5xx of API Gateway because a function failed or timed out. Excludes 413: API Gateway accepts bodies over Lambda's limit of 6 MB. */
const gatewayFailures = '($.message = "access") && ($.status >= 500) && ($.refusal != "-") && ($.integration_status != "413")';

const logged = (namespace: string, metricName: string, more: Partial<MetricProps> = {}) =>
  new Metric({ namespace, metricName, ...sum, ...more });

const lines = (pattern: string) => FilterPattern.literal(`{ ${pattern} }`);

type Alarmed = NonNullable<BackgroundFunction['alarms']>[string];

function metricOf({ metric, minutes = 5 }: Alarmed, lambda: EndpointFunction['lambda'], namespace: string): IMetric {
  const period = Duration.minutes(minutes);
  if (metric === 'failedRuns') return lambda.metricErrors({ ...sum, period });
  if (metric === 'slowest') return lambda.metricDuration({ statistic: Stats.percentile(99), period });
  return 'sum' in metric
    ? logged(namespace, metric.sum, { period })
    : logged(namespace, metric.lowest, { statistic: Stats.MINIMUM, period });
}

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

    accessLog.addMetricFilter('GatewayFailures', {
      metricNamespace: namespace,
      metricName: 'GatewayFailures',
      metricValue: '1',
      filterPattern: lines(gatewayFailures),
    });
    this.watchAnswers(namespace);
    this.watchThrottles(functions);
    this.watchCallers(functions, namespace, settings);
    this.watchTables(tables);
    for (const row of [...endpointsWith(settings), ...backgroundWith(settings)]) {
      const made = functions.get(row.name);
      if (made) this.watchFunction(row, made, namespace, settings);
    }
  }

  named(names: readonly string[]): Alarm[] {
    return names.flatMap((name) => this.alarms.get(name) ?? []);
  }

  private watchFunction(row: Endpoint | BackgroundFunction, made: EndpointFunction, metricNamespace: string, settings: Settings): void {
    const { name, logMetrics = {}, alarms = {}, executionAlarms } = row;
    for (const [id, { metric: metricName, pattern, value: metricValue = '1', ...more }] of Object.entries(logMetrics))
      made.logGroup.addMetricFilter(id, { metricNamespace, metricName, metricValue, filterPattern: lines(pattern), ...more });
    for (const [id, alarm] of Object.entries(alarms)) this.add(id, { ...alarm, metric: metricOf(alarm, made.lambda, metricNamespace) });
    const reserved = settings.reservedConcurrency[name] ?? 0;
    if (executionAlarms && reserved > 0) {
      const metric = made.lambda.metric('ConcurrentExecutions', { ...sum, statistic: Stats.MAXIMUM });
      const description = `${name} uses more than 80 % of its reserved concurrency.`;
      this.add(`${executionAlarms}Concurrency`, { metric, above: 0.8 * reserved, periods: 2, description });
    }
    this.watchRollout(name, made);
  }

  /** Isolated failures and upstream failures raise no alarm. */
  private watchAnswers(namespace: string): void {
    const refused = (code: ErrorCode) => logged(namespace, 'Refusals', { dimensionsMap: { code } });
    const failures = logged(namespace, 'GatewayFailures');
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

  private watchThrottles(functions: AlarmsProps['functions']): void {
    const throttles = throttled.flatMap((name) => functions.get(name)?.lambda.metricThrottles(sum) ?? []);
    const usingMetrics = Object.fromEntries(throttles.map((metric, at) => [`m${at}`, metric]));
    this.add('Throttles', {
      metric: new MathExpression({ expression: 'SUM(FILL(METRICS(), 0))', usingMetrics, period: sum.period }),
      ...often,
      description: 'Lambda throttles this gate: the concurrency of the account, or that reserved for a function, is used up.',
    });
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

  private add(name: string, { metric, above, below, periods = 1, orSilent, description }: AlarmRule & { metric: IMetric }): Alarm {
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
