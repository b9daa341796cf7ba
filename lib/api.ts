import { RemovalPolicy, Size, Stack } from 'aws-cdk-lib';
import {
  AccessLogFormat,
  ApiDefinition,
  EndpointType,
  LogGroupLogDestination,
  MethodLoggingLevel,
  SpecRestApi,
  type StageOptions,
} from 'aws-cdk-lib/aws-apigateway';
import { PolicyDocument, PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import { acknowledge } from './acknowledge.ts';
import { defineApi } from './api-definition.ts';
import { addRecords, domainOptions } from './domain.ts';
import type { EndpointFunction } from './endpoint-function.ts';
import { type Endpoint, endpointsWith, pathsOf } from './endpoints.ts';
import { protect } from './firewall.ts';
import type { Settings } from './settings.ts';

/** Answers of at least this many bytes are compressed for clients that accept it. */
const minCompressionBytes = 1_024;

/** Anybody may fetch a document, whose bytes cost; browsers keep the large ones for a year. */
const documentThrottle = { requestsPerSecond: 5, burst: 50 };

/** The REST API: its paths and methods come from the endpoint table; every answer of its own is an error in the gate's form. */
export class Api extends Construct {
  readonly rest: SpecRestApi;
  /** a line for each request, with the reason if the gateway itself refused it */
  readonly accessLog: LogGroup;
  private readonly settings: Settings;
  private readonly routes: readonly Endpoint[];

  constructor(scope: Construct, id: string, functions: ReadonlyMap<string, EndpointFunction>, settings: Settings) {
    super(scope, id);
    this.settings = settings;
    this.routes = listRoutes(settings);
    this.accessLog = new LogGroup(this, 'AccessLog', { retention: settings.logRetentionDays, removalPolicy: RemovalPolicy.DESTROY });
    this.rest = this.createRestApi(functions);
    if (settings.domain) addRecords(this, settings.domain, this.rest);
    if (settings.waf) protect(this, this.rest.deploymentStage, settings);
  }

  private createRestApi(functions: ReadonlyMap<string, EndpointFunction>): SpecRestApi {
    const { stage, domain, manageApiLogRole } = this.settings;
    const { partition, region } = Stack.of(this);
    const functionOf = (name: string) => {
      const made = functions.get(name);
      if (!made) throw new TypeError(`there is no function for the endpoint ${name}`);
      return made.lambda;
    };
    const invoker = this.createInvoker(new Set(this.routes.map(({ name }) => functionOf(name))));
    const invocationOf = (name: string) => ({
      uri: `arn:${partition}:apigateway:${region}:lambda:path/2015-03-31/functions/${functionOf(name).functionArn}/invocations`,
      credentials: invoker.roleArn,
    });
    const rest = new SpecRestApi(this, 'Rest', {
      restApiName: `Intent Gate (${stage})`,
      apiDefinition: ApiDefinition.fromInline(defineApi(this.routes, invocationOf, this.settings)),
      endpointTypes: [EndpointType.REGIONAL],
      minCompressionSize: Size.bytes(minCompressionBytes),
      ...(domain && { domainName: domainOptions(this, domain), disableExecuteApiEndpoint: true }),
      cloudWatchRole: manageApiLogRole,
      // Every API of the account and region writes its logs with this role, including those of other stacks.
      ...(manageApiLogRole && { cloudWatchRoleRemovalPolicy: RemovalPolicy.RETAIN }),
      deployOptions: this.stageOptions(),
    });
    acknowledge(rest, {
      'AwsSolutions-APIG2': 'Functions check requests against their schemas and name every mistake at once, which the gateway cannot.',
      'AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AmazonAPIGatewayPushToCloudWatchLogs]':
        'AWS defines this policy for the one role of an account with which API Gateway writes the logs of all its APIs.',
      'AwsSolutions-APIG3':
        'A setting, waf: it nearly doubles what the gate costs when idle. Limits of agents hold without it; open endpoints share one limit of requests.',
      'Serverless-APIGWXrayEnabled': 'A setting, tracing.',
    });
    // The stack names its outputs itself.
    rest.node.tryRemoveChild('Endpoint');
    return rest;
  }

  /** The role with which the API runs functions: a permission beside each function would take a stack with all settings over the 500 resources that CloudFormation allows. */
  private createInvoker(functions: ReadonlySet<IFunction>): Role {
    const statement = new PolicyStatement({
      actions: ['lambda:InvokeFunction'],
      resources: [...functions].map(({ functionArn }) => functionArn),
    });
    return new Role(this, 'Invoker', {
      assumedBy: new ServicePrincipal('apigateway.amazonaws.com'),
      description: 'Intent Gate: lets the API run the functions of its endpoints',
      inlinePolicies: { invoke: new PolicyDocument({ statements: [statement] }) },
    });
  }

  private stageOptions(): StageOptions {
    const { tracing, requestsPerSecond, burst, throttling } = this.settings;
    const logged = { loggingLevel: MethodLoggingLevel.ERROR, dataTraceEnabled: false };
    const exceptions = this.routes.flatMap(({ name, path, method, needs }) => {
      const limit = throttling[name] ?? (needs.documents || name === 'get-own-description' ? documentThrottle : undefined);
      if (!limit) return [];
      return [[`${path}/${method}`, { ...logged, throttlingRateLimit: limit.requestsPerSecond, throttlingBurstLimit: limit.burst }]];
    });
    return {
      stageName: 'live',
      tracingEnabled: tracing,
      ...logged,
      throttlingRateLimit: requestsPerSecond,
      throttlingBurstLimit: burst,
      methodOptions: Object.fromEntries(exceptions),
      accessLogDestination: new LogGroupLogDestination(this.accessLog),
      accessLogFormat: AccessLogFormat.custom(accessLine),
    };
  }
}

/** What the API serves: each endpoint once for each of its paths. */
const listRoutes = (settings: Settings): readonly Endpoint[] =>
  endpointsWith(settings).flatMap((endpoint) => pathsOf(endpoint, settings).map((path) => ({ ...endpoint, path })));

/** What is logged about a request: never headers, query or body, which may contain tokens. */
const accessLine = JSON.stringify({
  message: 'access',
  request_id: '$context.requestId',
  extended_request_id: '$context.extendedRequestId',
  time: '$context.requestTimeEpoch',
  ip: '$context.identity.sourceIp',
  method: '$context.httpMethod',
  resource: '$context.resourcePath',
  status: '$context.status',
  response_bytes: '$context.responseLength',
  duration_ms: '$context.responseLatency',
  integration_ms: '$context.integrationLatency',
  refusal: '$context.error.responseType',
});
