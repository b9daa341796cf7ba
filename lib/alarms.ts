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
import { FilterPattern, type IFilterPattern, type LogGroup, MetricFilter } from 'aws-cdk-lib/aws-logs';
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

interface Bound {
  above?: number;
  below?: number;
  /** consecutive periods that must breach */
  periods: number;
  /** also alarms when a metric stops reporting; a metric without any data belongs to a new deployment */
  orSilent?: true;
}

const often: Bound = { above: 10, periods: 2 };
const fewRuns: Bound = { above: 2, periods: 1 };

const sum = { statistic: Stats.SUM, period: Duration.minutes(5) };

/** Metric filters by id: the metric, and the value that each matching log line adds. */
type Measures = Record<string, [metricName: string, metricValue: string, lines: IFilterPattern, dimensions?: Record<string, string>]>;

const hasMessage = (message: string) => FilterPattern.stringValue('$.message', '=', message);
const answered = hasMessage('answered');
const isFault = FilterPattern.numberValue('$.status', '>=', 500);
const filled = hasMessage('filled a part of the search collection');

/** The end of every run, including crashes. It tells a function that always fails from one that never ran. */
const ended = FilterPattern.stringValue('$.type', '=', 'platform.report');

/** A 5xx of API Gateway because a function failed or timed out. Excludes 413: API Gateway accepts bodies over Lambda's limit of 6 MB. */
const isGatewayFault = FilterPattern.all(
  hasMessage('access'),
  isFault,
  FilterPattern.stringValue('$.refusal', '!=', '-'),
  FilterPattern.stringValue('$.integration_status', '!=', '413'),
);

/** PAT requests that fail because of KMS or the table. */
const issueFailures: Measures = { Failures: ['IssueFailures', '1', FilterPattern.all(answered, isFault)] };

/** Metrics extracted from the logs of individual functions. Lines of refusals contain their metric (`functions/core/http/log-answer.ts`). */
const measures: Readonly<Record<string, Measures>> = {
  'issue-pat': issueFailures,
  'issue-token': issueFailures,
  'snapshot-search-index': {
    Runs: ['SnapshotAgeRuns', '1', hasMessage('the snapshot of the search index is as new as it should be')],
    Ends: ['SnapshotAgeRuns', '0', ended],
  },
  // During the first fill FeedAge is 0; FillAge watches how long the fill takes.
  'feed-search-collection': {
    Fed: ['FeedAge', '$.behind_seconds', hasMessage('fed the search collection')],
    Filled: ['FeedAge', '0', filled],
    Ends: ['FeedAge', '86400', ended],
    Filling: ['FillAge', '$.behind_seconds', filled],
  },
};

type MetricOf = (metricName: string, more?: Partial<MetricProps>) => Metric;

type AlarmRow = [name: string, metric: IMetric, bound: Bound, description: string];

/** Alarms of individual functions. Lambda errors are counted where no response or missing metric would reveal a failure. */
const functionAlarms: Readonly<Record<string, (lambda: EndpointFunction['lambda'], logged: MetricOf) => AlarmRow[]>> = {
  'issue-pat': (_, logged) => [['IssueFailures', logged('IssueFailures'), { above: 3, periods: 1 }, 'PATs cannot be issued.']],
  'search-intents': (lambda) => [
    [
      'SlowSearch',
      lambda.metricDuration({ ...sum, statistic: Stats.percentile(99) }),
      { above: 3_000, periods: 3 },
      'One search in a hundred takes longer than 3 seconds.',
    ],
  ],
  'snapshot-search-index': (_, logged) => [
    [
      'SnapshotAge',
      logged('SnapshotAgeRuns', { period: Duration.hours(3) }),
      { below: 1, periods: 1, orSilent: true },
      'The search index has had no current snapshot for three hours, so cold starts of search take longer.',
    ],
  ],
  'count-usage': (lambda) => [['UsageErrors', lambda.metricErrors(sum), fewRuns, 'Executions are not being counted.']],
  'sequence-receipts': (lambda) => [['ReceiptErrors', lambda.metricErrors(sum), fewRuns, 'Receipts are not being added to the log.']],
  'run-deferred-call': (lambda) => [
    ['DeferredErrors', lambda.metricErrors(sum), fewRuns, 'Deferred calls do not start, or end without a result.'],
  ],
  'feed-search-collection': (_, logged) => [
    [
      'FeedAge',
      logged('FeedAge', { statistic: Stats.MINIMUM, period: Duration.minutes(30) }),
      { above: 1_800, periods: 1, orSilent: true },
      'Search results are more than half an hour out of date: writing changes to the search collection fails or takes too long.',
    ],
    [
      'FillAge',
      logged('FillAge', { statistic: Stats.MINIMUM }),
      { above: 7_200, periods: 1 },
      'The search collection has been filling for two hours; searches do not find every intent yet.',
    ],
  ],
};

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

    const logged: MetricOf = (metricName, more) => new Metric({ namespace, metricName, ...sum, ...more });
    measure(accessLog, namespace, { GatewayFailures: ['GatewayFailures', '1', isGatewayFault] });
    this.watchAnswers(logged);
    this.watchConcurrency(functions, settings);
    this.watchCallers(functions, namespace, settings);
    for (const [name, table] of [['Registry', tables.registry] as const, ['Activity', tables.activity] as const]) {
      for (const operation of ['Read', 'Write']) {
        this.add(
          `${name}${operation}sThrottled`,
          table.metric(`${operation}ThrottleEvents`, sum),
          often,
          'DynamoDB throttles requests: one partition of the table is too hot, or traffic has grown faster than the table can scale.',
        );
      }
    }
    for (const [name, made] of functions) {
      measure(made.logGroup, namespace, measures[name] ?? {});
      this.watchRollout(name, made);
      for (const row of functionAlarms[name]?.(made.lambda, logged) ?? []) this.add(...row);
    }
  }

  named(names: readonly string[]): Alarm[] {
    return names.flatMap((name) => this.alarms.get(name) ?? []);
  }

  /** Isolated failures and upstream failures raise no alarm. */
  private watchAnswers(logged: MetricOf): void {
    const refused = (code: ErrorCode) => logged('Refusals', { dimensionsMap: { code } });
    const more = 'In two consecutive periods of five minutes, more than 10 responses';
    this.add('ApiErrors', refused('INTERNAL_SERVER_ERROR'), often, `${more} were unexpected errors of the gate.`);
    this.add('Unavailable', refused('SERVICE_UNAVAILABLE'), often, `${more} reported that the gate cannot reach AWS services.`);
    this.add(
      'RefusedTokens',
      refused('UNAUTHORIZED'),
      { above: 1_000, periods: 3 },
      'Many tokens are invalid: somebody is guessing, or a signing key was removed too early.',
    );
    this.add('GatewayErrors', logged('GatewayFailures'), often, `${more} came from API Gateway because a function failed.`);
  }

  private watchConcurrency(functions: AlarmsProps['functions'], { reservedConcurrency }: Settings): void {
    this.add(
      'Throttles',
      // No dimension: covers all functions of the account, which share its concurrency.
      new Metric({ namespace: 'AWS/Lambda', metricName: 'Throttles', ...sum }),
      often,
      'Lambda throttles invocations: the concurrency of the account, or that reserved for a function, is used up.',
    );
    const alarms = { 'execute-intent': 'ExecuteConcurrency', mcp: 'McpConcurrency', 'run-deferred-call': 'DeferredConcurrency' } as const;
    for (const name of executing) {
      const reserved = reservedConcurrency[name];
      const metric = functions.get(name)?.lambda.metric('ConcurrentExecutions', { ...sum, statistic: Stats.MAXIMUM });
      if (!metric || reserved === 0) continue;
      this.add(alarms[name], metric, { above: 0.8 * reserved, periods: 2 }, `${name} uses more than 80 % of its reserved concurrency.`);
    }
  }

  /** Uses Contributor Insights rules, because metric dimensions would be billed per agent and service. */
  private watchCallers(functions: AlarmsProps['functions'], namespace: string, settings: Settings): void {
    const { alarmCallsPerAgent, alarmCallsPerService } = settings;
    const bounds: [name: string, key: string, above: number, description: string][] = [
      ['BusyAgent', '$.agent_id', alarmCallsPerAgent, 'One agent makes more executions a minute than alarmCallsPerAgent.'],
      ['BusyService', '$.service_id', alarmCallsPerService, 'One service gets more executions a minute than alarmCallsPerService.'],
    ];
    for (const [name, key, above, description] of bounds) {
      if (above === 0) continue;
      const ruleName = `${namespace}-${name}`;
      const rule = new CfnInsightRule(this, `${name}Rule`, {
        ruleName,
        ruleState: 'ENABLED',
        ruleBody: Stack.of(this).toJsonString({
          Schema: { Name: 'CloudWatchLogRule', Version: 1 },
          LogGroupNames: logGroupsOfExecutions(functions),
          LogFormat: 'JSON',
          Contribution: {
            Keys: [key],
            Filters: [
              { Match: '$.message', In: ['executed'] },
              // Blocking the agent ends the alarm.
              { Match: '$.outcome', NotIn: ['FORBIDDEN'] },
            ],
          },
          AggregateOn: 'Count',
        }),
      });
      const expression = `INSIGHT_RULE_METRIC('${ruleName}', MaxContributorValue)`;
      const metric = new MathExpression({ expression, period: Duration.minutes(1) });
      this.add(name, metric, { above, periods: 3 }, description).node.addDependency(rule);
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
    this.add(
      alarm,
      new Metric({ namespace: 'AWS/Lambda', metricName: 'Errors', dimensionsMap, ...sum, period: Duration.minutes(1) }),
      { above: 0, periods: 1 },
      `The new version of ${name} crashes or times out.`,
    );
  }

  private add(...[name, metric, { above, below, periods, orSilent }, description]: AlarmRow): Alarm {
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

function measure(logGroup: LogGroup, metricNamespace: string, values: Measures): void {
  for (const [id, [metricName, metricValue, filterPattern, dimensions]] of Object.entries(values)) {
    const measured = { metricName, metricValue, filterPattern, ...(dimensions && { dimensions }) };
    new MetricFilter(logGroup, id, { logGroup, metricNamespace, ...measured });
  }
}
