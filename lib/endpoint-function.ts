import { Duration, RemovalPolicy } from 'aws-cdk-lib';
import { type PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import {
  ApplicationLogLevel,
  Architecture,
  type Code,
  Function as LambdaFunction,
  LoggingFormat,
  Runtime,
  SystemLogLevel,
  Tracing,
} from 'aws-cdk-lib/aws-lambda';
import { LogGroup, type RetentionDays } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import type { Settings } from './settings.ts';

export interface EndpointFunctionProps {
  name: string;
  summary: string;
  code: Code;
  timeoutSeconds: number;
  memoryMb: number;
  environment: Record<string, string>;
  statements: PolicyStatement[];
  settings: Settings;
}

/** One Lambda with a role and a log group of its own. */
export class EndpointFunction extends Construct {
  readonly lambda: LambdaFunction;
  readonly logGroup: LogGroup;

  constructor(scope: Construct, id: string, props: EndpointFunctionProps) {
    super(scope, id);
    const { settings } = props;
    this.logGroup = new LogGroup(this, 'Logs', {
      retention: settings.logRetentionDays as RetentionDays,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    const role = new Role(this, 'Role', {
      assumedBy: new ServicePrincipal('lambda.amazonaws.com'),
      description: `Intent Gate: ${props.name}`,
    });
    this.logGroup.grantWrite(role);
    for (const statement of props.statements) role.addToPolicy(statement);
    this.lambda = new LambdaFunction(this, 'Function', {
      description: `Intent Gate: ${props.summary}`,
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      handler: 'index.handler',
      code: props.code,
      role,
      timeout: Duration.seconds(props.timeoutSeconds),
      memorySize: props.memoryMb,
      environment: props.environment,
      logGroup: this.logGroup,
      loggingFormat: LoggingFormat.JSON,
      // The platform's own report of each run has its cold start in it.
      systemLogLevelV2: SystemLogLevel.INFO,
      applicationLogLevelV2: ApplicationLogLevel.INFO,
      tracing: settings.tracing ? Tracing.ACTIVE : Tracing.DISABLED,
    });
  }
}
