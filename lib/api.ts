import { Duration, RemovalPolicy } from 'aws-cdk-lib';
import {
  AccessLogFormat,
  AwsIntegration,
  EndpointType,
  type IResource,
  LogGroupLogDestination,
  MethodLoggingLevel,
  MockIntegration,
  PassthroughBehavior,
  RestApi,
  type StageOptions,
} from 'aws-cdk-lib/aws-apigateway';
import { PolicyDocument, PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import { errorTable } from '../schemas/errors.ts';
import { acknowledge } from './acknowledge.ts';
import { addRecords, domainOptions } from './domain.ts';
import type { EndpointFunction } from './endpoint-function.ts';
import { aliasOf, type Endpoint, endpointsWith } from './endpoints.ts';
import { bodyTemplate, type GatewayAnswer, gatewayAnswers, gatewayResponse, headerExpressions, noPath } from './error-answers.ts';
import { protect } from './firewall.ts';
import type { Settings } from './settings.ts';

/** The media types for which a mock method finds a template: the gateway answers 415 to any other body. */
const mediaTypes = [
  'application/json',
  'text/plain',
  'application/x-www-form-urlencoded',
  'application/octet-stream',
  'multipart/form-data',
];

/** The REST API: its paths and methods come from the endpoint table; every answer of its own is an error in the gate's form. */
export class Api extends Construct {
  readonly rest: RestApi;
  /** a line for each request, with the reason if the gateway itself refused it */
  readonly accessLog: LogGroup;
  private readonly settings: Settings;

  constructor(scope: Construct, id: string, functions: ReadonlyMap<string, EndpointFunction>, settings: Settings) {
    super(scope, id);
    this.settings = settings;
    this.accessLog = new LogGroup(this, 'AccessLog', { retention: settings.logRetentionDays, removalPolicy: RemovalPolicy.DESTROY });
    this.rest = this.createRestApi();
    const routes = listRoutes(settings);
    const invoker = this.createInvoker([...functions].flatMap(([name, made]) => (routes.some((route) => route.name === name) ? made : [])));
    for (const [path, group] of Map.groupBy(routes, ({ path }) => path)) {
      const resource = this.rest.root.resourceForPath(path);
      for (const { name, method, credential } of group) {
        const handler = functions.get(name);
        if (!handler) continue;
        for (const verb of answeredTo(method)) {
          const added = resource.addMethod(verb, this.invoke(handler, invoker));
          acknowledge(added, { 'AwsSolutions-APIG4': whyNoAuthorizer[credential], 'AwsSolutions-COG4': whyNoAuthorizer[credential] });
        }
      }
      const allowed = group.flatMap(({ method }) => answeredTo(method));
      if (settings.corsOrigins.length > 0) this.addPreflight(resource, allowed);
      this.refuseOtherMethods(resource, allowed);
    }
    this.refuseOtherPaths(routes.map(({ path }) => path));
    if (settings.domain) addRecords(this, settings.domain, this.rest);
    if (settings.waf) protect(this, this.rest.deploymentStage, settings);
  }

  /** The role with which the API runs functions: a permission beside each function would take a stack with all settings over the 500 resources that CloudFormation allows. */
  private createInvoker(functions: readonly EndpointFunction[]): Role {
    const statement = new PolicyStatement({
      actions: ['lambda:InvokeFunction'],
      resources: functions.map(({ lambda }) => lambda.functionArn),
    });
    return new Role(this, 'Invoker', {
      assumedBy: new ServicePrincipal('apigateway.amazonaws.com'),
      description: 'Intent Gate: lets the API run the functions of its endpoints',
      inlinePolicies: { invoke: new PolicyDocument({ statements: [statement] }) },
    });
  }

  private invoke({ lambda }: EndpointFunction, credentialsRole: Role): AwsIntegration {
    const path = `2015-03-31/functions/${lambda.functionArn}/invocations`;
    return new AwsIntegration({ service: 'lambda', proxy: true, path, options: { credentialsRole } });
  }

  private createRestApi(): RestApi {
    const { stage, domain, manageApiLogRole, protocol, corsOrigins } = this.settings;
    const rest = new RestApi(this, 'Rest', {
      restApiName: `Intent Gate (${stage})`,
      description: 'Lets agents find, get authorised for, and run intents',
      endpointTypes: [EndpointType.REGIONAL],
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
    for (const [type, answer] of gatewayAnswers) {
      rest.addGatewayResponse(type.responseType, gatewayResponse(type, answer, protocol, corsOrigins.length > 0, stage !== 'local'));
    }
    return rest;
  }

  private stageOptions(): StageOptions {
    const { tracing, requestsPerSecond, burst, throttling } = this.settings;
    const logged = { loggingLevel: MethodLoggingLevel.ERROR, dataTraceEnabled: false };
    const exceptions = listRoutes(this.settings).flatMap(({ name, path, method }) => {
      const limit = throttling[name];
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

  private addPreflight(resource: IResource, allowed: string[]): void {
    const added = resource.addCorsPreflight({
      allowOrigins: this.settings.corsOrigins,
      allowMethods: allowed,
      maxAge: Duration.hours(1),
      allowHeaders: [
        ...['Authorization', 'Content-Type', 'DPoP', 'Idempotency-Key', 'If-Match', 'If-None-Match'],
        // what hosts of MCP that are pages send, also when they look for the sign-in
        ...['MCP-Protocol-Version', 'Mcp-Method', 'Mcp-Name'],
      ],
    });
    acknowledge(added, { 'AwsSolutions-APIG4': whyRefusalIsOpen, 'AwsSolutions-COG4': whyRefusalIsOpen });
  }

  /** 405 with `Allow` for every method that the path does not support (RFC 9110 section 15.5.6). */
  private refuseOtherMethods(resource: IResource, allowed: string[]): void {
    const methods = allowed.join(', ');
    const message = `This path does not have that method. It has: ${methods}.`;
    this.answerAny(resource, { code: 'METHOD_NOT_ALLOWED', message }, { Allow: `'${methods}'` });
  }

  /**
   * 404 for every path that no endpoint has, whatever the request carries: without a method of its own, the gateway would take a bearer token
   * for a bad AWS signature.
   */
  private refuseOtherPaths(paths: readonly string[]): void {
    const { root } = this.rest;
    const isBare = (resource: IResource) => !paths.includes(resource.path);
    const parents = paths.flatMap((path) => {
      const segments = path.split('/').slice(1, -1);
      return segments.map((_, at) => root.resourceForPath(`/${segments.slice(0, at + 1).join('/')}`));
    });
    for (const resource of new Set([...[root, ...parents].filter(isBare), root.addResource('{proxy+}')])) this.answerAny(resource, noPath);
  }

  /** Lets the gateway itself answer every method of a resource that has no integration of its own. */
  private answerAny(resource: IResource, answer: GatewayAnswer, more: Record<string, string> = {}): void {
    const { protocol, corsOrigins, stage } = this.settings;
    const status = String(errorTable[answer.code].status);
    const headers = { ...headerExpressions({}, corsOrigins.length > 0, stage !== 'local'), ...more };
    const named = Object.entries(headers).map(([name, value]) => [`method.response.header.${name}`, value] as const);
    const integration = new MockIntegration({
      passthroughBehavior: PassthroughBehavior.NEVER,
      requestTemplates: Object.fromEntries(mediaTypes.map((mediaType) => [mediaType, `{"statusCode": ${status}}`])),
      integrationResponses: [
        {
          statusCode: status,
          responseParameters: Object.fromEntries(named),
          responseTemplates: { 'application/json': bodyTemplate(answer, protocol) },
        },
      ],
    });
    const added = resource.addMethod('ANY', integration, {
      methodResponses: [{ statusCode: status, responseParameters: Object.fromEntries(named.map(([name]) => [name, true])) }],
    });
    acknowledge(added, { 'AwsSolutions-APIG4': whyRefusalIsOpen, 'AwsSolutions-COG4': whyRefusalIsOpen });
  }
}

/** What the API serves: the endpoints and, if they are wanted, those with a further path once more under that one. */
const listRoutes = (settings: Settings): readonly Endpoint[] => {
  const deployed = endpointsWith(settings);
  const further = (settings.aliases ? deployed : []).flatMap((endpoint) => {
    const path = aliasOf(endpoint, settings.protocol);
    return path === undefined ? [] : [{ ...endpoint, path }];
  });
  return [...deployed, ...further];
};

/** HEAD is answered wherever GET is (RFC 9110 section 9.3.2). */
const answeredTo = (method: Endpoint['method']): string[] => (method === 'GET' ? ['GET', 'HEAD'] : [method]);

const whyNoAuthorizer: Record<Endpoint['credential'], string> = {
  none: 'The specification opens this endpoint to everybody.',
  pat: 'The function verifies the PAT, because the order of checks and the form of refusals are part of the specification.',
  admin: 'The function verifies the Cognito token, because an authorizer could not answer in the specified form.',
};

const whyRefusalIsOpen = 'A fixed answer of the gateway, which reads and reveals nothing.';

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
