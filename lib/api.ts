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
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import { acknowledge } from './acknowledge.ts';
import { answeredTo, defineApi } from './api-definition.ts';
import { addRecord, domainOptions } from './domain.ts';
import type { EndpointFunction } from './endpoint-function.ts';
import { hasFunction, type Route, routesWith } from './endpoints.ts';
import { protect } from './firewall.ts';
import { aliasReasons, invocableArns } from './gradual-deployment.ts';
import type { Settings } from './settings.ts';

const minCompressionBytes = 1_024;

/** The REST API, with paths and methods from the endpoint table. Its gateway responses use the gate's error format. */
export class Api extends Construct {
  readonly rest: SpecRestApi;
  readonly accessLog: LogGroup;
  private readonly settings: Settings;
  private readonly routes: readonly Route[];

  constructor(scope: Construct, id: string, functions: ReadonlyMap<string, EndpointFunction>, settings: Settings, gateName: string) {
    super(scope, id);
    this.settings = settings;
    this.routes = routesWith(settings);
    this.accessLog = new LogGroup(this, 'AccessLog', { retention: settings.logRetentionDays, removalPolicy: RemovalPolicy.DESTROY });
    this.rest = this.createRestApi(functions, gateName);
    if (settings.domain) addRecord(this, settings.domain, this.rest);
    if (settings.waf) protect(this, this.rest.deploymentStage, settings, gateName);
  }

  private createRestApi(functions: ReadonlyMap<string, EndpointFunction>, gateName: string): SpecRestApi {
    const { domain, manageApiLogRole } = this.settings;
    const { partition, region } = Stack.of(this);
    const functionOf = (name: string) => {
      const made = functions.get(name);
      if (!made) throw new TypeError(`there is no function for the endpoint ${name}`);
      return made;
    };
    const names = new Set([
      ...this.routes.filter(hasFunction).map(({ name }) => name),
      ...this.routes.flatMap(({ authorizer }) => authorizer?.name ?? []),
    ]);
    const invoker = this.createInvoker([...names].flatMap((name) => invocableArns(name, functionOf(name))));
    acknowledge(invoker, aliasReasons(functions));
    const invocationOf = (name: string) => ({
      uri: `arn:${partition}:apigateway:${region}:lambda:path/2015-03-31/functions/${functionOf(name).invokedArn}/invocations`,
      credentials: invoker.roleArn,
    });
    const rest = new SpecRestApi(this, 'Rest', {
      // metrics of APIs of the same name are added up
      restApiName: gateName,
      apiDefinition: ApiDefinition.fromInline(defineApi(this.routes, invocationOf, this.settings, gateName)),
      endpointTypes: [EndpointType.REGIONAL],
      minCompressionSize: Size.bytes(minCompressionBytes),
      ...(domain && { domainName: domainOptions(this, domain), disableExecuteApiEndpoint: true }),
      cloudWatchRole: manageApiLogRole,
      // All APIs of the account and region share this role for their logs, including those of other stacks.
      ...(manageApiLogRole && { cloudWatchRoleRemovalPolicy: RemovalPolicy.RETAIN }),
      deployOptions: this.stageOptions(),
    });
    acknowledge(rest, {
      'AwsSolutions-APIG2': 'Functions validate requests and report every mistake in one response, which API Gateway cannot do.',
      'AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AmazonAPIGatewayPushToCloudWatchLogs]':
        'AWS defines this policy for the role with which API Gateway writes the logs of all APIs of an account.',
      'Serverless-APIGWStructuredLogging': 'The access log is JSON once API Gateway has filled in the numbers, which have no quotes.',
      'AwsSolutions-APIG6': 'The access log contains every request, with the reason if API Gateway refused it or its function failed.',
      'AwsSolutions-APIG3':
        'Optional (setting waf), because it nearly doubles the cost of an idle gate. Limits of agents apply without it; public endpoints share one request limit.',
      'Serverless-APIGWXrayEnabled': 'Optional (setting tracing).',
    });
    // The stack defines its own outputs.
    rest.node.tryRemoveChild('Endpoint');
    return rest;
  }

  /**
   * The role that invokes functions. A permission per function would take a stack with all settings over 500 resources. Its trust has no condition: API
   * Gateway names no account (`aws:SourceAccount`) when it assumes the role of an integration, and only APIs of this account can be given the role.
   */
  private createInvoker(functionArns: string[]): Role {
    const statement = new PolicyStatement({ actions: ['lambda:InvokeFunction'], resources: functionArns });
    return new Role(this, 'Invoker', {
      assumedBy: new ServicePrincipal('apigateway.amazonaws.com'),
      description: 'Intent Gate: lets the API run the functions of its endpoints',
      inlinePolicies: { invoke: new PolicyDocument({ statements: [statement] }) },
    });
  }

  private stageOptions(): StageOptions {
    const { tracing, requestsPerSecond, burst, throttling } = this.settings;
    // API Gateway would write execution logs to its own log group, outside the stack and without expiry.
    const logged = { loggingLevel: MethodLoggingLevel.OFF, dataTraceEnabled: false };
    const exceptions = this.routes.flatMap(({ name, path, method, throttle }) => {
      const limit = throttling[name] ?? throttle;
      if (!limit) return [];
      const throttled = { ...logged, throttlingRateLimit: limit.requestsPerSecond, throttlingBurstLimit: limit.burst };
      return answeredTo(method).map((verb) => [`${path}/${verb}`, throttled]);
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

/** The access log line. It omits headers, query and body, which may contain tokens. */
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
  // Strings, because they are "-" if no function ran.
  integration_ms: '$context.integrationLatency',
  // Lambda's own status, such as 413 or 429, not the function's
  integration_status: '$context.integrationStatus',
  refusal: '$context.error.responseType',
}).replaceAll(/"(\$context\.(?:requestTimeEpoch|status|responseLength|responseLatency))"/g, '$1');
