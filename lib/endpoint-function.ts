import { Duration, RemovalPolicy, Size } from 'aws-cdk-lib';
import { PolicyDocument, PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import {
  Alias,
  ApplicationLogLevel,
  Architecture,
  type CfnFunction,
  type Code,
  type IVersion,
  Function as LambdaFunction,
  LoggingFormat,
  Runtime,
  SystemLogLevel,
  Tracing,
} from 'aws-cdk-lib/aws-lambda';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import { acknowledge } from './acknowledge.ts';
import type { Network } from './network.ts';
import type { Settings } from './settings.ts';

export interface EndpointFunctionProps {
  name: string;
  summary: string;
  code: Code;
  /** also the function's maximum concurrency */
  reservedConcurrency?: number;
  timeoutSeconds: number;
  memoryMb: number;
  /** no traces, no platform log lines */
  isQuiet?: true;
  /** temporary storage; Lambda's default is 512 MB */
  storageMb?: number;
  network?: Network | undefined;
  environment: Record<string, string>;
  settings: Settings;
}

/** A Lambda function with its own role and log group. */
export class EndpointFunction extends Construct {
  /** the function itself, such as for its metrics */
  readonly lambda: LambdaFunction;
  /** its CloudFormation resource */
  readonly resource: CfnFunction;
  /** the role with which it runs; the only one of its own */
  readonly role: Role;
  /**
   * The role's inline policy. A separate policy resource per role would take a stack with all settings over CloudFormation's limit of 500 resources.
   */
  readonly permissions: PolicyDocument;
  /** the log group that it writes to */
  readonly logGroup: LogGroup;
  /** the alias that serves requests; with gradual deployments only */
  alias: Alias | undefined;

  constructor(scope: Construct, id: string, props: EndpointFunctionProps) {
    super(scope, id);
    const { settings, isQuiet } = props;
    const isTraced = settings.tracing && !isQuiet;
    this.logGroup = new LogGroup(this, 'Logs', {
      retention: settings.logRetentionDays,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    this.permissions = new PolicyDocument({
      statements: [
        new PolicyStatement({ actions: ['logs:CreateLogStream', 'logs:PutLogEvents'], resources: [this.logGroup.logGroupArn] }),
        ...(isTraced ? [new PolicyStatement({ actions: ['xray:PutTraceSegments', 'xray:PutTelemetryRecords'], resources: ['*'] })] : []),
      ],
    });
    this.role = new Role(this, 'Role', {
      assumedBy: new ServicePrincipal('lambda.amazonaws.com'),
      description: `Intent Gate: ${props.name}`,
      inlinePolicies: { own: this.permissions },
    });
    this.lambda = new LambdaFunction(this, 'Function', {
      description: `Intent Gate: ${props.summary}`,
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      handler: 'index.handler',
      code: props.code,
      role: this.role.withoutPolicyUpdates(),
      timeout: Duration.seconds(props.timeoutSeconds),
      memorySize: props.memoryMb,
      ...(props.storageMb && { ephemeralStorageSize: Size.mebibytes(props.storageMb) }),
      ...(props.reservedConcurrency && { reservedConcurrentExecutions: props.reservedConcurrency }),
      environment: props.environment,
      logGroup: this.logGroup,
      loggingFormat: LoggingFormat.JSON,
      // At INFO, the platform's report of each run includes its cold start.
      systemLogLevelV2: isQuiet ? SystemLogLevel.WARN : SystemLogLevel.INFO,
      applicationLogLevelV2: ApplicationLogLevel.INFO,
      tracing: isTraced ? Tracing.ACTIVE : Tracing.DISABLED,
      ...props.network?.placement,
    });
    props.network?.connect(this);
    this.resource = this.lambda.node.defaultChild as CfnFunction;
    const traces = 'X-Ray does not support permissions on resources; only the two actions that write traces are granted.';
    acknowledge(this.role, { 'AwsSolutions-IAM5[Resource::*]': traces, 'Serverless-LambdaStarPermissions': traces });
    acknowledge(this.lambda, {
      'Serverless-LambdaTracing': 'Optional (setting tracing).',
      'Serverless-LambdaDLQ':
        'The caller waits for the response, or the next scheduled run makes up for a failed one. Log lines to count remain in the log, and an alarm reports failures.',
    });
  }

  /** ARN that callers invoke: that of the alias, if there is one */
  get invokedArn(): string {
    return (this.alias ?? this.lambda).functionArn;
  }

  /** Publishes every change as a version behind an alias. */
  publish(aliasName: string): void {
    this.alias = new Alias(this, aliasName, { aliasName, version: this.lambda.currentVersion as IVersion });
  }
}
