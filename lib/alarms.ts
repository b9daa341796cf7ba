import { Duration, Stack } from 'aws-cdk-lib';
import { Alarm, ComparisonOperator, type IMetric, Metric, Stats, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import { ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { FilterPattern, type IFilterPattern, type LogGroup, MetricFilter } from 'aws-cdk-lib/aws-logs';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import { Construct } from 'constructs';
import type { ErrorCode } from '../schemas/errors.ts';
import { acknowledge } from './acknowledge.ts';
import type { EndpointFunction } from './endpoint-function.ts';
import type { Settings } from './settings.ts';
import type { Tables } from './tables.ts';

export interface AlarmsProps {
  /** of the gateway: a line for each request */
  accessLog: LogGroup;
  tables: Tables;
  /** by name */
  functions: ReadonlyMap<string, EndpointFunction>;
  /** of the metrics that come from logs */
  namespace: string;
  settings: Settings;
}

/** Alarms above a threshold, or below one: then a period without data counts as below it. With `orSilent` it counts as above, too. */
type Bound = { above: number; orSilent?: true } | { below: number };

type AlarmOptions = Bound & {
  metric: IMetric;
  /** how many of the last periods must be out of bounds */
  periods: number;
  description: string;
};

const period = Duration.minutes(5);

/** The alarms. Each names its section of the runbook in docs/operations.md, whose heading is the alarm's name. */
export class Alarms extends Construct {
  private readonly topic: Topic;

  constructor(scope: Construct, id: string, { accessLog, tables, functions, namespace, settings }: AlarmsProps) {
    super(scope, id);
    this.topic = new Topic(this, 'Topic', { displayName: `Intent Gate alarms (${settings.stage})`, enforceSSL: true });
    // A topic policy replaces the default one of SNS, which lets CloudWatch publish.
    const ownAlarms = { StringEquals: { 'aws:SourceAccount': Stack.of(this).account } };
    this.topic.grantPublish(new ServicePrincipal('cloudwatch.amazonaws.com', { conditions: ownAlarms }));
    if (settings.alarmEmail) {
      this.topic.addSubscription(new EmailSubscription(settings.alarmEmail));
      acknowledge(this.topic, {
        'Serverless-SNSRedrivePolicy': 'A mail that cannot be delivered is of no use later; the alarm itself stays in CloudWatch.',
      });
    }

    this.watchApi(accessLog, namespace);
    this.watchConcurrency(functions, settings);
    this.watchTables(tables);
    this.add('RefusedTokens', {
      metric: new Metric({ namespace, metricName: 'Refusals', dimensionsMap: { code: 'UNAUTHORIZED' }, statistic: Stats.SUM, period }),
      above: 1_000,
      periods: 3,
      description: 'Many tokens are invalid: somebody is guessing, or a signing key was removed too early.',
    });
    for (const [name, { logGroup, lambda }] of functions) {
      countRefusals(logGroup, namespace);
      countFailures(logGroup, namespace, ofFunction);
      if (name === 'issue-pat') this.watchIssue(logGroup, namespace);
      if (name === 'issue-token') countIssueFailures(logGroup, namespace);
      if (name === 'search-intents') {
        this.add('SlowSearch', {
          metric: lambda.metricDuration({ statistic: Stats.percentile(99), period }),
          above: 3_000,
          periods: 3,
          description: 'One search in a hundred takes longer than 3 seconds.',
        });
      }
      if (name === 'snapshot-search-index') {
        this.expectRuns('SnapshotAge', logGroup, namespace, {
          line: 'the snapshot of the search index is as new as it should be',
          within: Duration.hours(3),
          description:
            'For three hours no snapshot of the search index could be made, or found to be new enough: cold starts of search take longer.',
        });
      }
      if (name === 'feed-search-collection') this.watchFeed(logGroup, namespace);
    }
  }

  /** A single failure in a quiet night does not raise an alarm, and neither do the failures of upstreams. */
  private watchApi(accessLog: LogGroup, namespace: string): void {
    countFailures(accessLog, namespace, ofGateway);
    this.add('ApiErrors', {
      metric: new Metric({ namespace, metricName: 'Failures', statistic: Stats.SUM, period }),
      above: 10,
      periods: 2,
      description: 'More than 10 answers in five minutes are failures of the gate itself.',
    });
  }

  private watchConcurrency(functions: AlarmsProps['functions'], { reservedConcurrency }: Settings): void {
    this.add('Throttles', {
      // Without a dimension: of all functions of the account, which share its concurrency.
      metric: new Metric({ namespace: 'AWS/Lambda', metricName: 'Throttles', statistic: Stats.SUM, period }),
      above: 10,
      periods: 2,
      description: 'Lambda refuses runs: the concurrency of the account, or what is reserved for a function, is used up.',
    });
    for (const [name, alarm] of [['execute-intent', 'ExecuteConcurrency'] as const, ['mcp', 'McpConcurrency'] as const]) {
      const reserved = reservedConcurrency[name];
      const metric = functions.get(name)?.lambda.metric('ConcurrentExecutions', { statistic: Stats.MAXIMUM, period });
      if (!metric || reserved === 0) continue;
      const description = `Four fifths of the runs that are reserved for ${name} are taken.`;
      this.add(alarm, { metric, above: 0.8 * reserved, periods: 2, description });
    }
  }

  private watchTables(tables: Tables): void {
    for (const [name, table] of [['Registry', tables.registry] as const, ['Activity', tables.activity] as const]) {
      for (const operation of ['Read', 'Write'] as const) {
        this.add(`${name}${operation}sThrottled`, {
          metric: table.metric(`${operation}ThrottleEvents`, { statistic: Stats.SUM, period }),
          above: 10,
          periods: 2,
          description: 'DynamoDB throttles: one partition of the table is too hot, or traffic has grown faster than the table.',
        });
      }
    }
  }

  /** If a PAT cannot be issued, KMS or the table is at fault. */
  private watchIssue(logGroup: LogGroup, namespace: string): void {
    this.add('IssueFailures', {
      metric: countIssueFailures(logGroup, namespace).metric({ statistic: Stats.SUM, period }),
      above: 3,
      periods: 1,
      description: 'PATs cannot be issued.',
    });
  }

  /** Alarms if a scheduled function has not logged success for a while: it failed, or nothing started it. */
  private expectRuns(
    name: string,
    logGroup: LogGroup,
    namespace: string,
    { line, within, description }: { line: string; within: Duration; description: string },
  ): void {
    const runs = new MetricFilter(logGroup, 'Runs', {
      logGroup,
      filterPattern: FilterPattern.stringValue('$.message', '=', line),
      metricNamespace: namespace,
      metricName: `${name}Runs`,
      metricValue: '1',
    });
    this.add(name, { metric: runs.metric({ statistic: Stats.SUM, period: within }), below: 1, periods: 1, description });
  }

  /** A run that goes on with the first fill is not behind; how long the fill takes is watched by itself. */
  private watchFeed(logGroup: LogGroup, namespace: string): void {
    const secondsOf = (id: string, line: string, metricName: string, metricValue: string) =>
      new MetricFilter(logGroup, id, {
        logGroup,
        filterPattern: FilterPattern.stringValue('$.message', '=', line),
        metricNamespace: namespace,
        metricName,
        metricValue,
      });
    const [fed, filled] = ['fed the search collection', 'filled a part of the search collection'];
    secondsOf('Fed', fed, 'FeedAge', '$.behind_seconds');
    secondsOf('Filled', filled, 'FeedAge', '0');
    secondsOf('Filling', filled, 'FillAge', '$.behind_seconds');
    const newest = (metricName: string, every: Duration) => new Metric({ namespace, metricName, statistic: Stats.MINIMUM, period: every });
    this.add('FeedAge', {
      metric: newest('FeedAge', Duration.minutes(30)),
      above: 1_800,
      orSilent: true,
      periods: 1,
      description: 'Searches do not show what has changed for half an hour: writing it to the search collection fails, or takes too long.',
    });
    this.add('FillAge', {
      metric: newest('FillAge', period),
      above: 7_200,
      periods: 1,
      description: 'The search collection has been filling for two hours: searches do not show all intents yet.',
    });
  }

  private add(name: string, { metric, periods, description, ...bound }: AlarmOptions): void {
    const alarm = new Alarm(this, name, {
      metric,
      ...('below' in bound
        ? {
            threshold: bound.below,
            comparisonOperator: ComparisonOperator.LESS_THAN_THRESHOLD,
            treatMissingData: TreatMissingData.BREACHING,
          }
        : {
            threshold: bound.above,
            comparisonOperator: ComparisonOperator.GREATER_THAN_THRESHOLD,
            treatMissingData: bound.orSilent ? TreatMissingData.BREACHING : TreatMissingData.NOT_BREACHING,
          }),
      evaluationPeriods: periods,
      alarmDescription: `${description} Runbook: docs/operations.md#${name.toLowerCase()}`,
    });
    alarm.addAlarmAction(new SnsAction(this.topic));
    alarm.addOkAction(new SnsAction(this.topic));
  }
}

/** Counts answers that are errors, by code, from the line that every answer leaves in the log. */
const countRefusals = (logGroup: LogGroup, namespace: string) =>
  new MetricFilter(logGroup, 'Refusals', {
    logGroup,
    filterPattern: FilterPattern.all(FilterPattern.stringValue('$.message', '=', 'answered'), FilterPattern.exists('$.code')),
    metricNamespace: namespace,
    metricName: 'Refusals',
    metricValue: '1',
    dimensions: { code: '$.code' },
  });

const answered = FilterPattern.stringValue('$.message', '=', 'answered');

/** Counts requests for PATs that fail through no fault of whoever asked. */
const countIssueFailures = (logGroup: LogGroup, namespace: string) =>
  new MetricFilter(logGroup, 'Failures', {
    logGroup,
    filterPattern: FilterPattern.all(answered, FilterPattern.numberValue('$.status', '>=', 500)),
    metricNamespace: namespace,
    metricName: 'IssueFailures',
    metricValue: '1',
  });

/** Failures of an intent's own endpoint: its provider has to act, so they raise no alarm. */
const foreignFailures: readonly ErrorCode[] = ['INTENT_EXECUTION_FAILED', 'INTENT_NOT_SUPPORTED', 'GATEWAY_TIMEOUT'];

/** 5xx answers of functions through a fault of the gate or of one of its parts. */
const ofFunction = FilterPattern.all(
  answered,
  FilterPattern.numberValue('$.status', '>=', 500),
  FilterPattern.any(
    // A failure that has no code was unexpected.
    FilterPattern.notExists('$.code'),
    FilterPattern.all(...foreignFailures.map((code) => FilterPattern.stringValue('$.code', '!=', code))),
  ),
);

/** 5xx answers of API Gateway in place of a function that failed or ran out of time. */
const ofGateway = FilterPattern.all(
  FilterPattern.stringValue('$.message', '=', 'access'),
  FilterPattern.numberValue('$.status', '>=', 500),
  FilterPattern.stringValue('$.refusal', '!=', '-'),
);

/** Counts the gate's own failures, from the logs of the functions and of API Gateway alike. */
const countFailures = (logGroup: LogGroup, namespace: string, filterPattern: IFilterPattern) =>
  new MetricFilter(logGroup, 'OwnFailures', {
    logGroup,
    filterPattern,
    metricNamespace: namespace,
    metricName: 'Failures',
    metricValue: '1',
  });
