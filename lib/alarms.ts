import { Duration, Stack } from 'aws-cdk-lib';
import type { RestApi } from 'aws-cdk-lib/aws-apigateway';
import { Alarm, ComparisonOperator, type IMetric, Metric, Stats, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import type { Table } from 'aws-cdk-lib/aws-dynamodb';
import { ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { FilterPattern, type LogGroup, MetricFilter } from 'aws-cdk-lib/aws-logs';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import { Construct } from 'constructs';
import { acknowledge } from './acknowledge.ts';
import type { EndpointFunction } from './endpoint-function.ts';
import type { Settings } from './settings.ts';

export interface AlarmsProps {
  rest: RestApi;
  table: Table;
  /** by name */
  functions: ReadonlyMap<string, EndpointFunction>;
  /** of the metrics that come from logs */
  namespace: string;
  settings: Settings;
}

interface AlarmOptions {
  metric: IMetric;
  above: number;
  /** how many of the last periods, of five minutes each, must be above */
  periods: number;
  description: string;
}

const period = Duration.minutes(5);

/** What wakes somebody. Each alarm names its section of the runbook in docs/operations.md, which has the alarm's name for a heading. */
export class Alarms extends Construct {
  private readonly topic: Topic;

  constructor(scope: Construct, id: string, { rest, table, functions, namespace, settings }: AlarmsProps) {
    super(scope, id);
    this.topic = new Topic(this, 'Topic', { displayName: `Intent Gate alarms (${settings.stage})`, enforceSSL: true });
    // A topic with a policy of its own has lost the one that SNS gives by default, under which CloudWatch may publish.
    const ownAlarms = { StringEquals: { 'aws:SourceAccount': Stack.of(this).account } };
    this.topic.grantPublish(new ServicePrincipal('cloudwatch.amazonaws.com', { conditions: ownAlarms }));
    if (settings.alarmEmail) {
      this.topic.addSubscription(new EmailSubscription(settings.alarmEmail));
      acknowledge(this.topic, {
        'Serverless-SNSRedrivePolicy': 'A mail that cannot be delivered helps nobody later; the alarm itself stays in CloudWatch.',
      });
    }

    this.add('ApiErrors', {
      // Its average is the share of answers that are 5xx.
      metric: rest.metricServerError({ statistic: Stats.AVERAGE, period }),
      above: 0.02,
      periods: 2,
      description: 'More than 2 % of all answers are 5xx.',
    });
    for (const [name, metricName] of Object.entries({ ReadsThrottled: 'ReadThrottleEvents', WritesThrottled: 'WriteThrottleEvents' })) {
      this.add(name, {
        metric: table.metric(metricName, { statistic: Stats.SUM, period }),
        above: 10,
        periods: 2,
        description: 'DynamoDB throttles: one partition of the table is too hot, or traffic has grown faster than the table.',
      });
    }
    this.add('RefusedTokens', {
      metric: new Metric({ namespace, metricName: 'Refusals', dimensionsMap: { code: 'UNAUTHORIZED' }, statistic: Stats.SUM, period }),
      above: 1_000,
      periods: 3,
      description: 'Many tokens do not hold: somebody is guessing, or a signing key was taken away too early.',
    });
    for (const [name, { logGroup, lambda }] of functions) {
      countRefusals(logGroup, namespace);
      if (name === 'issue-pat') this.watchIssue(logGroup, namespace);
      if (name === 'search-intents') {
        this.add('SlowSearch', {
          metric: lambda.metricDuration({ statistic: Stats.percentile(99), period }),
          above: 3_000,
          periods: 3,
          description: 'One search in a hundred takes longer than 3 seconds.',
        });
      }
      if (name === 'snapshot-search-index') {
        this.add('SnapshotErrors', {
          metric: lambda.metricErrors({ period: Duration.hours(1) }),
          above: 0,
          periods: 3,
          description: 'The search index could not be saved for three hours: cold starts of search rebuild it from the table.',
        });
      }
      if (name === 'feed-search-collection') {
        this.add('FeedErrors', {
          metric: lambda.metricErrors({ period }),
          above: 0,
          // Half of the hour that a run looks back: changes that are older are not written any more.
          periods: 6,
          description: 'Changes could not be written to the search collection for half an hour: searches do not show them.',
        });
      }
    }
  }

  /** A PAT that cannot be issued is a fault of KMS or of the table. */
  private watchIssue(logGroup: LogGroup, namespace: string): void {
    const failures = new MetricFilter(logGroup, 'Failures', {
      logGroup,
      filterPattern: FilterPattern.all(
        FilterPattern.stringValue('$.message', '=', 'answered'),
        FilterPattern.numberValue('$.status', '>=', 500),
      ),
      metricNamespace: namespace,
      metricName: 'IssueFailures',
      metricValue: '1',
    });
    this.add('IssueFailures', {
      metric: failures.metric({ statistic: Stats.SUM, period }),
      above: 3,
      periods: 1,
      description: 'PATs cannot be issued.',
    });
  }

  private add(name: string, { metric, above, periods, description }: AlarmOptions): void {
    const alarm = new Alarm(this, name, {
      metric,
      threshold: above,
      comparisonOperator: ComparisonOperator.GREATER_THAN_THRESHOLD,
      evaluationPeriods: periods,
      treatMissingData: TreatMissingData.NOT_BREACHING,
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
