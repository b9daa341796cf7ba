import { Duration, Stack } from 'aws-cdk-lib';
import {
  Alarm,
  CfnInsightRule,
  ComparisonOperator,
  type IMetric,
  MathExpression,
  Metric,
  Stats,
  TreatMissingData,
} from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import { ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { FilterPattern, type LogGroup, MetricFilter } from 'aws-cdk-lib/aws-logs';
import { type ITopic, Topic } from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import { Construct } from 'constructs';
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
  /** of metrics from logs */
  namespace: string;
  settings: Settings;
  /** created if absent */
  topic?: ITopic | undefined;
}

type Bound = { above: number } | { below: number };

type AlarmOptions = Bound & {
  metric: IMetric;
  /** how many of the last periods must breach */
  periods: number;
  /** also alarms when a metric that has had data stops; one without any data is that of a new deployment */
  orSilent?: true;
  description: string;
};

const period = Duration.minutes(5);

/** Functions whose failures no answer and no missing run shows: their alarms, and what these say. */
const unseenFailures: Readonly<Record<string, [alarm: string, description: string]>> = {
  'count-usage': ['UsageErrors', 'Executions are not counted.'],
  'sequence-receipts': ['ReceiptErrors', 'Receipts are not put into their log.'],
  'run-deferred-call': ['DeferredErrors', 'Calls that are made later are not begun, or end without an answer.'],
};

/** The alarms. Each has its row in the runbook of docs/operations.md. */
export class Alarms extends Construct {
  readonly topic: ITopic;
  private readonly alarms = new Map<string, Alarm>();

  constructor(scope: Construct, id: string, { accessLog, tables, functions, namespace, settings, topic }: AlarmsProps) {
    super(scope, id);
    this.topic = topic ?? new Topic(this, 'Topic', { displayName: `Intent Gate alarms (${settings.stage})`, enforceSSL: true });
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
    this.watchCallers(functions, namespace, settings);
    this.watchTables(tables);
    this.add('RefusedTokens', {
      metric: new Metric({ namespace, metricName: 'Refusals', dimensionsMap: { code: 'UNAUTHORIZED' }, statistic: Stats.SUM, period }),
      above: 1_000,
      periods: 3,
      description: 'Many tokens are invalid: somebody is guessing, or a signing key was removed too early.',
    });
    for (const [name, { logGroup, lambda }] of functions) {
      countRefusals(logGroup, namespace);
      this.watchRollout(name, functions);
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
      const [alarm, description] = unseenFailures[name] ?? [];
      if (alarm && description) {
        this.add(alarm, { metric: lambda.metricErrors({ statistic: Stats.SUM, period }), above: 2, periods: 1, description });
      }
      if (name === 'feed-search-collection') this.watchFeed(logGroup, namespace);
    }
  }

  named(names: readonly string[]): Alarm[] {
    return names.flatMap((name) => this.alarms.get(name) ?? []);
  }

  /** A single failure at night raises no alarm, and neither do failures of upstreams. */
  private watchApi(accessLog: LogGroup, namespace: string): void {
    countGatewayFailures(accessLog, namespace);
    const sum = { namespace, statistic: Stats.SUM, period };
    const ofCode = (code: string) => new Metric({ ...sum, metricName: 'Refusals', dimensionsMap: { code } });
    const often = { above: 10, periods: 2 };
    const more = 'Twice in a row, more than 10 answers in five minutes';
    this.add('ApiErrors', {
      metric: ofCode('INTERNAL_SERVER_ERROR'),
      ...often,
      description: `${more} were unforeseen errors of the gate.`,
    });
    this.add('Unavailable', {
      metric: ofCode('SERVICE_UNAVAILABLE'),
      ...often,
      description: `${more} said that the gate cannot reach AWS services.`,
    });
    const ofGateway = new Metric({ ...sum, metricName: 'GatewayFailures' });
    this.add('GatewayErrors', {
      metric: ofGateway,
      ...often,
      description: `${more} came from API Gateway in place of a function that failed.`,
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

  /** Contributor Insights rules: counting by agent and service as dimensions of a metric would cost for each of them. */
  private watchCallers(
    functions: AlarmsProps['functions'],
    namespace: string,
    { alarmCallsPerAgent, alarmCallsPerService }: Settings,
  ): void {
    const bounds = [
      {
        name: 'BusyAgent',
        key: '$.agent_id',
        above: alarmCallsPerAgent,
        description: 'One agent executes more often than alarmCallsPerAgent.',
      },
      {
        name: 'BusyService',
        key: '$.service_id',
        above: alarmCallsPerService,
        description: 'The intents of one service are executed more often than alarmCallsPerService.',
      },
    ];
    for (const { name, key, above, description } of bounds) {
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
              // Once an agent is blocked, the alarm ends.
              { Match: '$.outcome', NotIn: ['FORBIDDEN'] },
            ],
          },
          AggregateOn: 'Count',
        }),
      });
      const expression = `INSIGHT_RULE_METRIC('${ruleName}', MaxContributorValue)`;
      const alarm = this.add(name, {
        metric: new MathExpression({ expression, period: Duration.minutes(1) }),
        above,
        periods: 3,
        description,
      });
      alarm.node.addDependency(rule);
    }
  }

  /** Lambda counts the runs of a version separately only while an alias leads to two of them. */
  private watchRollout(name: string, functions: AlarmsProps['functions']): void {
    const { alias, lambda } = functions.get(name) ?? {};
    const alarm = gradualFunctions[name];
    if (!alias || !lambda || !alarm) return;
    const dimensionsMap = {
      FunctionName: lambda.functionName,
      Resource: `${lambda.functionName}:${alias.aliasName}`,
      ExecutedVersion: alias.version.version,
    };
    this.add(alarm, {
      metric: new Metric({
        namespace: 'AWS/Lambda',
        metricName: 'Errors',
        dimensionsMap,
        statistic: Stats.SUM,
        period: Duration.minutes(1),
      }),
      above: 0,
      periods: 1,
      description: `The version of ${name} that is being deployed crashes or runs out of time.`,
    });
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

  /** Alarms if a scheduled function has not logged success for a while: it failed, or was not started. */
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
    countEnds(logGroup, namespace, `${name}Runs`, 0);
    this.add(name, { metric: runs.metric({ statistic: Stats.SUM, period: within }), below: 1, orSilent: true, periods: 1, description });
  }

  /** A run that continues the first fill is not behind; the duration of the fill has an alarm of its own. */
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
    countEnds(logGroup, namespace, 'FeedAge', 86_400);
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

  private add(name: string, { metric, periods, orSilent, description, ...bound }: AlarmOptions): Alarm {
    const alarm = new Alarm(this, name, {
      metric,
      ...('below' in bound
        ? { threshold: bound.below, comparisonOperator: ComparisonOperator.LESS_THAN_THRESHOLD }
        : { threshold: bound.above, comparisonOperator: ComparisonOperator.GREATER_THAN_THRESHOLD }),
      treatMissingData: orSilent ? TreatMissingData.MISSING : TreatMissingData.NOT_BREACHING,
      // Only of percentiles: a few slow requests in a quiet hour are no trend.
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

/** Gives a metric a value at the end of every run, including crashes: a function without success differs from one that never ran. */
const countEnds = (logGroup: LogGroup, namespace: string, metricName: string, value: number) =>
  new MetricFilter(logGroup, 'Ends', {
    logGroup,
    filterPattern: FilterPattern.stringValue('$.type', '=', 'platform.report'),
    metricNamespace: namespace,
    metricName,
    metricValue: String(value),
  });

const answered = FilterPattern.stringValue('$.message', '=', 'answered');

/** A tool of MCP, whose refusals are answered with 200. */
const ranTool = FilterPattern.stringValue('$.message', '=', 'tool');

/** Counts answers that report errors, by code, from the log lines of answers and tools. */
const countRefusals = (logGroup: LogGroup, namespace: string) =>
  new MetricFilter(logGroup, 'Refusals', {
    logGroup,
    filterPattern: FilterPattern.all(
      FilterPattern.any(answered, ranTool),
      FilterPattern.exists('$.code'),
      FilterPattern.notExists('$.fault'),
    ),
    metricNamespace: namespace,
    metricName: 'Refusals',
    metricValue: '1',
    dimensions: { code: '$.code' },
  });

/** Counts requests for PATs that fail through no fault of the caller. */
const countIssueFailures = (logGroup: LogGroup, namespace: string) =>
  new MetricFilter(logGroup, 'Failures', {
    logGroup,
    filterPattern: FilterPattern.all(answered, FilterPattern.numberValue('$.status', '>=', 500)),
    metricNamespace: namespace,
    metricName: 'IssueFailures',
    metricValue: '1',
  });

/** Counts 5xx responses of API Gateway for a function that failed or timed out. */
const countGatewayFailures = (logGroup: LogGroup, namespace: string) =>
  new MetricFilter(logGroup, 'GatewayFailures', {
    logGroup,
    filterPattern: FilterPattern.all(
      FilterPattern.stringValue('$.message', '=', 'access'),
      FilterPattern.numberValue('$.status', '>=', 500),
      FilterPattern.stringValue('$.refusal', '!=', '-'),
      // Lambda refuses bodies of more than 6 MB, which API Gateway takes.
      FilterPattern.stringValue('$.integration_status', '!=', '413'),
    ),
    metricNamespace: namespace,
    metricName: 'GatewayFailures',
    metricValue: '1',
  });
