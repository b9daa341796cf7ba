import { RemovalPolicy } from 'aws-cdk-lib';
import {
  AccessLogFormat,
  EndpointType,
  type IResource,
  LambdaIntegration,
  LogGroupLogDestination,
  MethodLoggingLevel,
  MockIntegration,
  PassthroughBehavior,
  RestApi,
} from 'aws-cdk-lib/aws-apigateway';
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import { LogGroup, type RetentionDays } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import type { Endpoint } from './endpoints.ts';
import { bodyTemplate, gatewayAnswers, gatewayResponse, headerExpressions } from './error-answers.ts';
import type { Settings } from './settings.ts';

/** The media types for which a mock method finds a template: the gateway answers 415 to any other body. */
const mediaTypes = [
  'application/json',
  'text/plain',
  'application/x-www-form-urlencoded',
  'application/octet-stream',
  'multipart/form-data',
];

/** The REST API: its paths and methods come from the endpoint table; every answer of its own is an error in our form. */
export class Api extends Construct {
  readonly rest: RestApi;
  private readonly settings: Settings;

  constructor(
    scope: Construct,
    id: string,
    endpoints: readonly Endpoint[],
    functions: ReadonlyMap<string, LambdaFunction>,
    settings: Settings,
  ) {
    super(scope, id);
    this.settings = settings;
    this.rest = this.createRestApi();
    for (const [path, group] of Map.groupBy(endpoints, ({ path }) => path)) {
      const resource = this.rest.root.resourceForPath(path);
      for (const { name, method } of group) {
        const handler = functions.get(name);
        if (handler) resource.addMethod(method, new LambdaIntegration(handler, { allowTestInvoke: false }));
      }
      const allowed = group.map(({ method }) => method);
      if (settings.corsOrigins.length > 0) this.addPreflight(resource, allowed);
      this.refuseOtherMethods(resource, allowed);
    }
  }

  private createRestApi(): RestApi {
    const { stage, tracing, logRetentionDays, manageApiLogRole, retainData, protocol, corsOrigins } = this.settings;
    const accessLog = new LogGroup(this, 'AccessLog', {
      retention: logRetentionDays as RetentionDays,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    const rest = new RestApi(this, 'Rest', {
      restApiName: `Intent Gate (${stage})`,
      description: 'Lets agents find, get authorised for, and run intents',
      endpointTypes: [EndpointType.REGIONAL],
      cloudWatchRole: manageApiLogRole,
      ...(manageApiLogRole && { cloudWatchRoleRemovalPolicy: retainData ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY }),
      deployOptions: {
        stageName: 'live',
        metricsEnabled: true,
        tracingEnabled: tracing,
        loggingLevel: MethodLoggingLevel.ERROR,
        dataTraceEnabled: false,
        accessLogDestination: new LogGroupLogDestination(accessLog),
        accessLogFormat: AccessLogFormat.custom(accessLine),
      },
    });
    for (const [type, answer] of gatewayAnswers) {
      rest.addGatewayResponse(type.responseType, gatewayResponse(type, answer, protocol, corsOrigins.length > 0));
    }
    return rest;
  }

  private addPreflight(resource: IResource, allowed: string[]): void {
    resource.addCorsPreflight({
      allowOrigins: this.settings.corsOrigins,
      allowMethods: allowed,
      allowHeaders: ['Authorization', 'Content-Type', 'DPoP', 'Idempotency-Key', 'If-Match', 'If-None-Match'],
    });
  }

  /** 405 with `Allow` for every method that the path does not have (RFC 9110 section 15.5.6). */
  private refuseOtherMethods(resource: IResource, allowed: string[]): void {
    const { protocol, corsOrigins } = this.settings;
    const methods = allowed.join(', ');
    const headers = { ...headerExpressions({}, corsOrigins.length > 0), Allow: `'${methods}'` };
    const named = Object.entries(headers).map(([name, value]) => [`method.response.header.${name}`, value] as const);
    const answer = { code: 'METHOD_NOT_ALLOWED', message: `This path does not have that method. It has: ${methods}.` } as const;
    const integration = new MockIntegration({
      passthroughBehavior: PassthroughBehavior.NEVER,
      requestTemplates: Object.fromEntries(mediaTypes.map((mediaType) => [mediaType, '{"statusCode": 405}'])),
      integrationResponses: [
        {
          statusCode: '405',
          responseParameters: Object.fromEntries(named),
          responseTemplates: { 'application/json': bodyTemplate(answer, protocol) },
        },
      ],
    });
    resource.addMethod('ANY', integration, {
      methodResponses: [{ statusCode: '405', responseParameters: Object.fromEntries(named.map(([name]) => [name, true])) }],
    });
  }
}

/** What is logged of a request: never headers, query or body, which may hold tokens. */
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
