import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { ResponseType } from 'aws-cdk-lib/aws-apigateway';
import { type BackgroundFunction, backgroundFunctions, type Endpoint, endpointsWith, hasFunction } from '../../lib/endpoints.ts';
import { errorBody } from '../../schemas/error-body.ts';
import { logicalPrefix, type Resource, run, type Synthesis, synthesize } from './synthesize.ts';

let standard: Synthesis;

const deployed = endpointsWith({ signIn: false });
const functionRows = [...deployed.filter(hasFunction), ...backgroundFunctions];
const withSignIn = { signIn: true, publicBaseUrl: 'https://gate.example' };

const adopt = {
  registryTable: 'IntentGate-Registry4DB9CCA5-ABC',
  activityTable: 'IntentGate-Activity04690B0A-ABC',
  userPoolId: 'eu-west-1_Abc123',
  signingKeys: { first: 'arn:aws:kms:eu-west-1:123456789012:key/mrk-1' },
};

const vpc = { vpcId: 'vpc-0123456789abcdef0', subnetIds: ['subnet-0123456789abcdef0', 'subnet-0123456789abcdef1'] };

const isTerminationProtected = ({ terminationProtection }: { terminationProtection?: boolean | undefined }) => terminationProtection;

beforeAll(() => {
  standard = synthesize();
});

/** A text of the template with its references as `<logical id>`. */
function flatten(value: unknown): string {
  if (typeof value === 'string') return value;
  const { Ref: ref, 'Fn::GetAtt': attribute, 'Fn::Join': join } = value as Record<string, unknown>;
  if (typeof ref === 'string') return `<${ref}>`;
  if (Array.isArray(attribute)) return `<${attribute.join('.')}>`;
  const [separator, parts] = join as [string, unknown[]];
  return parts.map(flatten).join(separator);
}

const definition = ({ only }: Synthesis) => only('AWS::ApiGateway::RestApi').Properties.Body;

/** Every method of the API: `GET /path` and what it does. */
// biome-ignore lint/suspicious/noExplicitAny: an operation of an OpenAPI document
function listMethods(synthesis: Synthesis): Map<string, any> {
  const paths: [string, Record<string, unknown>][] = Object.entries(definition(synthesis).paths);
  const nameOf = (method: string) => (method === 'x-amazon-apigateway-any-method' ? 'ANY' : method.toUpperCase());
  return new Map(
    paths.flatMap(([path, methods]) => Object.entries(methods).map(([method, operation]) => [`${nameOf(method)} ${path}`, operation])),
  );
}

// biome-ignore lint/suspicious/noExplicitAny: an operation of an OpenAPI document
const integrationOf = (operation: any) => operation?.['x-amazon-apigateway-integration'];

const gatewayResponses = (synthesis: Synthesis) => definition(synthesis)['x-amazon-apigateway-gateway-responses'];

const named = (type: string, prefix: string, { resources }: Synthesis): Resource | undefined =>
  Object.entries(resources(type)).find(([id]) => id.startsWith(prefix))?.[1];
const keyNamed = (prefix: string, synthesis: Synthesis) => named('AWS::KMS::Key', prefix, synthesis);
const bucketNamed = (prefix: string, synthesis = standard) => named('AWS::S3::Bucket', prefix, synthesis);

const signingKeyOf = (synthesis: Synthesis) => keyNamed('SigningKey', synthesis)?.Properties as Resource['Properties'];

const functionOf = (name: string, { resources }: Synthesis = standard): Resource => {
  const found = Object.entries(resources('AWS::Lambda::Function')).find(([id]) => id.startsWith(`${logicalPrefix(name)}Function`));
  if (!found) throw new Error(`no function ${name}`);
  return found[1];
};

/** The functions that run on a schedule. */
const schedulesOf = ({ resources }: Synthesis): string[] =>
  Object.entries(resources('AWS::Events::Rule'))
    .flatMap(([id, { Properties }]) =>
      Properties.ScheduleExpression ? `${id.replace(/Schedule.*/, '')} ${Properties.ScheduleExpression} ${Properties.State}` : [],
    )
    .sort();

describe('functions', () => {
  test.each<Endpoint | BackgroundFunction>(functionRows)('$name runs as its row says', (row) => {
    const { name, timeoutSeconds, memoryMb, summary } = row;
    const isQuiet = 'isQuiet' in row;
    const { Properties } = functionOf(name);
    expect(Properties).toMatchObject({
      Runtime: 'nodejs24.x',
      Architectures: ['arm64'],
      Handler: 'index.handler',
      Timeout: timeoutSeconds,
      MemorySize: memoryMb,
      Description: `Intent Gate: ${summary}`,
      ...(!isQuiet && { TracingConfig: { Mode: 'Active' } }),
      Role: { 'Fn::GetAtt': [expect.stringMatching(new RegExp(`^${logicalPrefix(name)}Role`)), 'Arn'] },
      LoggingConfig: {
        LogGroup: { Ref: expect.stringMatching(new RegExp(`^${logicalPrefix(name)}Logs`)) },
        LogFormat: 'JSON',
        SystemLogLevel: isQuiet ? 'WARN' : 'INFO',
      },
    });
    if (isQuiet) expect(Properties).not.toHaveProperty('TracingConfig');
  });

  test('no endpoint waits longer than API Gateway does', () => {
    for (const { name, timeoutSeconds } of deployed) expect([name, timeoutSeconds <= 29]).toEqual([name, true]);
  });

  test('there is no other function, and every log is kept for as long as the setting says', () => {
    expect(Object.keys(standard.resources('AWS::Lambda::Function'))).toHaveLength(functionRows.length);
    for (const { Properties } of Object.values(standard.resources('AWS::Logs::LogGroup'))) expect(Properties.RetentionInDays).toBe(30);
  });

  test('the lines of executions, and no others, are passed to the function that counts them', () => {
    const [[countUsage = ''] = []] = Object.entries(standard.resources('AWS::Lambda::Function')).filter(([id]) =>
      id.startsWith('countusage'),
    );
    const target = { 'Fn::GetAtt': [countUsage, 'Arn'] };
    const filters = Object.values(standard.resources('AWS::Logs::SubscriptionFilter'));
    expect(filters.map(({ Properties }) => Properties)).toEqual(
      ['execute-intent', 'mcp', 'run-deferred-call'].map((name) => ({
        LogGroupName: functionOf(name).Properties.LoggingConfig.LogGroup,
        FilterPattern: '{ $.message = "executed" }',
        DestinationArn: target,
      })),
    );
    const [permission, ...others] = Object.values(standard.resources('AWS::Lambda::Permission')).filter(
      ({ Properties }) => Properties.Principal !== 'events.amazonaws.com',
    );
    expect(others).toEqual([]);
    expect(permission?.Properties).toEqual({
      Action: 'lambda:InvokeFunction',
      FunctionName: target,
      Principal: 'logs.amazonaws.com',
      SourceAccount: { Ref: 'AWS::AccountId' },
      SourceArn: expect.anything(),
    });
    expect(flatten(permission?.Properties.SourceArn)).toBe(
      'arn:<AWS::Partition>:logs:<AWS::Region>:<AWS::AccountId>:log-group:IntentGate-*',
    );
    for (const filter of filters) expect(filter.DependsOn).toContainEqual(expect.stringMatching(/^countusageLines/));
  });

  test('a snapshot is made after each deployment of this stack', () => {
    const [, rule] = Object.entries(standard.resources('AWS::Events::Rule')).find(([id]) => id.includes('AfterDeployment')) ?? [];
    expect(rule?.Properties.EventPattern).toEqual({
      source: ['aws.cloudformation'],
      'detail-type': ['CloudFormation Stack Status Change'],
      detail: { 'stack-id': [{ Ref: 'AWS::StackId' }], 'status-details': { status: ['CREATE_COMPLETE', 'UPDATE_COMPLETE'] } },
    });
    expect(rule?.Properties.Targets).toMatchObject([{ Arn: { 'Fn::GetAtt': [expect.stringMatching(/^snapshotsearchindex/), 'Arn'] } }]);
  });

  test('functions that hold the search index have room for what is expected of the registry', () => {
    const sizes = (context: Record<string, unknown>) => {
      const { resources } = synthesize(context);
      const functions = Object.entries(resources('AWS::Lambda::Function'));
      return functions.flatMap(([id, { Properties }]) =>
        Properties.EphemeralStorage ? [[id.replace(/Function.*/, ''), Properties.EphemeralStorage.Size, Properties.MemorySize]] : [],
      );
    };
    const searching = ['searchintents', 'mcp', 'getowndescription', 'snapshotsearchindex'];
    expect(sizes({ expectedIntents: 10 })).toEqual(searching.map((name) => [name, 512, 1_024]));
    expect(sizes({ expectedIntents: 250_000 })).toEqual(searching.map((name) => [name, 1_431, 1_769]));
    expect(sizes({ expectedIntents: 300_000, search: 'opensearch' })).toEqual([]);
  });
});

describe('the API', () => {
  test('has the methods of the endpoint table, each with its own function, and an answer to every other method', () => {
    const methods = listMethods(synthesize({ aliases: false }));
    const everyPath = deployed.flatMap(({ further = [], ...row }) => [
      row,
      ...further.filter(({ onlyWith }) => !onlyWith).map(({ path }) => ({ ...row, path })),
    ]);
    const expected = everyPath.flatMap(({ method, path }) => [
      `${method} ${path}`,
      `ANY ${path}`,
      ...(method === 'GET' ? [`HEAD ${path}`] : []),
    ]);
    const bare = [
      '/{proxy+}',
      '/api',
      '/api/agents',
      '/api/executions',
      '/api/intents',
      '/api/pat',
      '/log',
      '/log/tile',
      '/.well-known',
    ].map((path) => `ANY ${path}`);
    expect([...methods.keys()].sort()).toEqual([...new Set([...expected, ...bare])].sort());
    for (const { method, path } of deployed.filter((row) => row.method === 'GET' && hasFunction(row))) {
      expect(methods.get(`HEAD ${path}`)).toEqual(methods.get(`${method} ${path}`));
    }
    for (const { method, path, name } of deployed.filter(hasFunction)) {
      const { type, httpMethod, uri, credentials } = integrationOf(methods.get(`${method} ${path}`));
      expect([type, httpMethod]).toEqual(['aws_proxy', 'POST']);
      expect(flatten(uri)).toContain(`<${logicalPrefix(name)}Function`);
      expect(flatten(credentials)).toMatch(/^<ApiInvoker/);
    }
  });

  test('gives answers that are the same for everybody itself, without a function', () => {
    const signingIn = synthesize(withSignIn);
    const methods = listMethods(signingIn);
    const answerTo = (method: string, path: string) => integrationOf(methods.get(`${method} ${path}`)).responses.default;
    const constants = endpointsWith({ signIn: true }).filter((row) => !hasFunction(row));
    expect(constants.map(({ name }) => name)).toEqual(['get-health', 'get-protected-resource', 'get-authorization-server']);
    for (const { method, path, constant } of constants) {
      const { statusCode, responseTemplates } = answerTo(method, path);
      expect([statusCode, JSON.parse(responseTemplates['application/json'])]).toEqual(['200', constant?.('https://gate.example')]);
      expect(answerTo('HEAD', path).responseTemplates).toEqual({ 'application/json': '' });
    }
    const moved = answerTo('GET', '/.well-known/oauth-authorization-server');
    expect([moved.statusCode, moved.responseParameters['method.response.header.Location']]).toEqual([
      '308',
      "'https://gate.example/.well-known/oauth-authorization-server/oauth'",
    ]);
  });

  test.each([{}, withSignIn, { stage: 'local', signIn: true }])('uses only what the local gateway fills in: %j', (settings) => {
    const made = synthesize(settings);
    const answers: { responseParameters: Record<string, string>; responseTemplates: Record<string, string> }[] = [
      ...[...listMethods(made).values()].flatMap((operation) => integrationOf(operation).responses?.default ?? []),
      ...Object.values<{ responseParameters: Record<string, string>; responseTemplates: Record<string, string> }>(gatewayResponses(made)),
    ];
    expect(answers.length).toBeGreaterThan(50);
    const variables = answers.flatMap(({ responseTemplates }) => JSON.stringify(responseTemplates).match(/[$#][\w.!({]*/g) ?? []);
    const local = 'stage' in settings ? ['$context.domainName'] : [];
    expect([...new Set(variables)].sort()).toEqual([...local, '$context.requestId']);
    const expressions = answers.flatMap(({ responseParameters }) => Object.values(responseParameters));
    expect(expressions.filter((expression) => !/^('[^']*'|context\.requestId)$/.test(expression))).toEqual([]);
  });

  test('has one path variable name at each place: AWS refuses a second one when it is deployed', () => {
    const names = new Map<string, Set<string>>();
    for (const { path } of deployed) {
      const segments = path.split('/');
      for (const [index, segment] of segments.entries()) {
        if (!segment.startsWith('{')) continue;
        const place = segments.slice(0, index).join('/');
        names.set(place, (names.get(place) ?? new Set()).add(segment));
      }
    }
    expect([...names].filter(([, variables]) => variables.size > 1)).toEqual([]);
  });

  test('answers 405 with Allow', () => {
    const refusal = listMethods(standard).get('ANY /api/services/{service_id}');
    const answer = integrationOf(refusal).responses.default;
    expect(answer.statusCode).toBe('405');
    expect(answer.responseParameters).toEqual({
      'method.response.header.Allow': "'PUT, DELETE, GET, HEAD'",
      'method.response.header.X-Request-Id': 'context.requestId',
      'method.response.header.Cache-Control': "'no-store'",
      'method.response.header.X-Content-Type-Options': "'nosniff'",
      'method.response.header.Strict-Transport-Security': "'max-age=31536000'",
    });
    expect(JSON.parse(answer.responseTemplates['application/json'])).toEqual({
      error: {
        code: 'METHOD_NOT_ALLOWED',
        message: 'This path does not have that method. It has: PUT, DELETE, GET, HEAD.',
        details: { reference: 'PROTO-PRO-002', request_id: '$context.requestId' },
      },
    });
    const declared = Object.keys(refusal.responses[405].headers).map((name) => `method.response.header.${name}`);
    expect(declared).toEqual(Object.keys(answer.responseParameters));
  });

  const types = Object.values(ResponseType).filter((value): value is ResponseType => value instanceof ResponseType);

  test.each<[string, number | undefined, string, string]>([
    ['ACCESS_DENIED', 403, 'FORBIDDEN', 'AUZ-001'],
    ['API_CONFIGURATION_ERROR', 500, 'INTERNAL_SERVER_ERROR', 'SRV-001'],
    ['AUTHORIZER_CONFIGURATION_ERROR', 500, 'INTERNAL_SERVER_ERROR', 'SRV-001'],
    ['AUTHORIZER_FAILURE', 500, 'INTERNAL_SERVER_ERROR', 'SRV-001'],
    ['BAD_REQUEST_BODY', 400, 'INVALID_PARAMETER', 'VAL-002'],
    ['BAD_REQUEST_PARAMETERS', 400, 'INVALID_PARAMETER', 'VAL-002'],
    ['DEFAULT_4XX', undefined, 'INVALID_PARAMETER', 'VAL-002'],
    ['DEFAULT_5XX', 500, 'INTERNAL_SERVER_ERROR', 'SRV-001'],
    ['EXPIRED_TOKEN', 404, 'NOT_FOUND', 'RES-001'],
    ['INTEGRATION_FAILURE', 503, 'SERVICE_UNAVAILABLE', 'SRV-002'],
    ['INTEGRATION_TIMEOUT', 504, 'GATEWAY_TIMEOUT', 'SRV-003'],
    ['INVALID_API_KEY', 403, 'FORBIDDEN', 'AUZ-001'],
    ['INVALID_SIGNATURE', 404, 'NOT_FOUND', 'RES-001'],
    ['MISSING_AUTHENTICATION_TOKEN', 404, 'NOT_FOUND', 'RES-001'],
    ['QUOTA_EXCEEDED', 429, 'TOO_MANY_REQUESTS', 'AUZ-004'],
    ['REQUEST_TOO_LARGE', 413, 'INVALID_PARAMETER', 'VAL-002'],
    ['RESOURCE_NOT_FOUND', 404, 'NOT_FOUND', 'RES-001'],
    ['THROTTLED', 429, 'TOO_MANY_REQUESTS', 'AUZ-004'],
    ['UNAUTHORIZED', 401, 'UNAUTHORIZED', 'AUT-001'],
    ['UNSUPPORTED_MEDIA_TYPE', 415, 'UNSUPPORTED_MEDIA_TYPE', 'PRO-003'],
    ['WAF_FILTERED', 429, 'TOO_MANY_REQUESTS', 'AUZ-004'],
  ])("answers %s in the gate's form", (type, status, code, reference) => {
    const responses = gatewayResponses(standard);
    expect(Object.keys(responses).sort()).toEqual(types.map(({ responseType }) => responseType).sort());
    const { statusCode, responseTemplates, responseParameters } = responses[type];
    expect(statusCode).toBe(status?.toString());
    const body = errorBody.parse(JSON.parse(responseTemplates['application/json']));
    expect(body.error).toMatchObject({ code, details: { reference: `PROTO-${reference}`, request_id: '$context.requestId' } });
    const header = (name: string) => responseParameters[`gatewayresponse.header.${name}`];
    expect(header('X-Request-Id')).toBe('context.requestId');
    expect(header('Cache-Control')).toBe("'no-store'");
    expect(header('Access-Control-Allow-Origin')).toBeUndefined();
    expect(header('WWW-Authenticate')).toBe(status === 401 ? `'Bearer realm="intent-gate"'` : undefined);
    if (status === 429 || status === 503) expect(header('Retry-After')).toMatch(/^'\d+'$/);
  });

  test('logs neither headers nor bodies', () => {
    const { AccessLogSetting, MethodSettings } = standard.only('AWS::ApiGateway::Stage').Properties;
    const format: string = AccessLogSetting.Format;
    // what metric filters compare is a number
    expect(format).toContain('"status":$context.status,');
    const line = JSON.parse(format.replaceAll(/:(\$context[.\w]+)/g, ':"$1"'));
    for (const variable of Object.values(line).slice(1)) expect(variable).not.toMatch(/header|body|querystring|authorizer|context\.path/i);
    for (const setting of MethodSettings) expect(setting.DataTraceEnabled).toBe(false);
  });

  test('uses the name of the protocol', () => {
    const named = synthesize({ protocol: 'uim' });
    for (const { responseTemplates } of Object.values<{ responseTemplates: Record<string, string> }>(gatewayResponses(named))) {
      expect(responseTemplates['application/json']).toMatch(/"reference":"UIM-/);
    }
    expect(functionOf('issue-pat', named).Properties.Environment.Variables.PROTOCOL).toBe('uim');
  });

  test('has the paths of the guides besides, with the name of the protocol, each with the function of its endpoint', () => {
    const plain = listMethods(synthesize({ aliases: false, protocol: 'uim' }));
    const methods = listMethods(synthesize({ protocol: 'uim' }));
    const added = [...methods.keys()].filter((name) => !plain.has(name)).sort();
    const own = {
      'GET /uim-policy.json': 'GET /api/policy',
      'GET /uim/intents/search': 'GET /api/intents/search',
      'HEAD /uim-policy.json': 'HEAD /api/policy',
      'HEAD /uim/intents/search': 'HEAD /api/intents/search',
      'POST /pat/issue': 'POST /api/pat/issue',
      'POST /uim/execute': 'POST /api/intents/execute',
    };
    const refusing = ['/pat', '/pat/issue', '/uim', '/uim-policy.json', '/uim/execute', '/uim/intents', '/uim/intents/search'];
    expect(added).toEqual([...refusing.map((path) => `ANY ${path}`), ...Object.keys(own)]);
    for (const [alias, name] of Object.entries(own)) {
      expect(methods.get(alias)).toEqual(methods.get(name));
    }
  });

  test('has every path once, whatever the protocol is called', () => {
    for (const protocol of ['api', 'pat', 'docs', 'mcp']) {
      const methods = listMethods(synthesize({ protocol }));
      for (const { method, path } of deployed) expect(methods.has(`${method} ${path}`)).toBe(true);
    }
  });

  test('throttles each method, documents to a few requests a second, others as configured', () => {
    const { only } = synthesize({
      aliases: true,
      throttling: { 'issue-pat': { requestsPerSecond: 6, burst: 10 }, 'get-docs': { requestsPerSecond: 7, burst: 8 } },
    });
    const settings: { ResourcePath: string; HttpMethod: string; ThrottlingRateLimit: number; ThrottlingBurstLimit: number }[] =
      only('AWS::ApiGateway::Stage').Properties.MethodSettings;
    for (const setting of settings) expect(setting).toMatchObject({ LoggingLevel: 'OFF', DataTraceEnabled: false });
    const rates = settings.map(({ ResourcePath, HttpMethod, ThrottlingRateLimit, ThrottlingBurstLimit }) => [
      `${HttpMethod} ${ResourcePath.replaceAll('~1', '/')}`,
      [ThrottlingRateLimit, ThrottlingBurstLimit],
    ]);
    expect(Object.fromEntries(rates)).toMatchObject({
      '* /*': [200, 400],
      'POST //api/pat/issue': [6, 10],
      'POST //pat/issue': [6, 10],
      'GET //docs': [7, 8],
      'GET //docs/{asset}': [5, 50],
      'GET //console': [5, 50],
      'GET //openapi.json': [5, 50],
      'GET //agents.json': [5, 50],
    });
  });

  test('compresses what is larger than a kilobyte', () => {
    expect(standard.only('AWS::ApiGateway::RestApi').Properties.MinimumCompressionSize).toBe(1_024);
  });

  const everything = {
    ...{ signIn: true, adminSignIn: true, waf: true, machineClient: true, machineNamespaces: 'a.example,b.example', corsOrigins: '*' },
    ...{ domainName: 'api.example.com', hostedZoneId: 'Z1', hostedZoneName: 'example.com', manageApiLogRole: true },
    ...{ alarmEmail: 'a@example.com', signingKeys: 'first,second', reservedConcurrency: { 'execute-intent': 300, mcp: 100 } },
    ...{ tags: { team: 'gate' }, customerManagedKey: true, vpc, privateOrigins: 'https://orders.internal:8443', gradualDeployment: true },
  };

  test('leaves room in the template, of which CloudFormation takes 500 resources and 1 MB', () => {
    for (const settings of [everything, { ...everything, search: 'opensearch' }, { ...everything, retainData: false }]) {
      const { template } = synthesize(settings);
      expect(Object.keys(template.Resources).length).toBeLessThan(420);
      expect(JSON.stringify(template).length).toBeLessThan(800_000);
    }
  });

  test('admits pages of other origins if configured', () => {
    const open = synthesize({ corsOrigins: 'https://a.example,https://b.example' });
    const preflight = integrationOf(listMethods(open).get('OPTIONS /api/pat/issue')).responses.default;
    expect(preflight.responseTemplates['application/json']).toContain(
      '#if($origin == "https://a.example" || $origin == "https://b.example")',
    );
    expect(preflight.responseParameters).toMatchObject({
      'method.response.header.Access-Control-Allow-Origin': "'https://a.example'",
      'method.response.header.Access-Control-Allow-Methods': "'POST'",
      'method.response.header.Access-Control-Allow-Headers': expect.stringContaining(',MCP-Protocol-Version,Mcp-Method,Mcp-Name'),
    });
    for (const { responseParameters } of Object.values<{ responseParameters: Record<string, string> }>(gatewayResponses(open))) {
      expect(responseParameters['gatewayresponse.header.Access-Control-Allow-Origin']).toBe("'*'");
    }
  });

  test('has a firewall if configured', () => {
    expect(standard.resources('AWS::WAFv2::WebACL')).toEqual({});
    const { only } = synthesize({ waf: true, wafRequestsPerFiveMinutes: 100 });
    const rules = only('AWS::WAFv2::WebACL').Properties.Rules.map(
      ({ Statement }: { Statement: { RateBasedStatement: object } }) => Statement.RateBasedStatement,
    );
    expect(rules).toMatchObject([
      { Limit: 100, AggregateKeyType: 'IP', ScopeDownStatement: { ByteMatchStatement: { SearchString: '/pat/issue' } } },
      { Limit: 100, AggregateKeyType: 'IP', ScopeDownStatement: { ByteMatchStatement: { SearchString: '/intents/search' } } },
      { Limit: 100, AggregateKeyType: 'IP', ScopeDownStatement: { ByteMatchStatement: { SearchString: '/mcp' } } },
      { Limit: 1_000, AggregateKeyType: 'IP' },
    ]);
    expect(rules[3].ScopeDownStatement).toBeUndefined();
    expect(flatten(only('AWS::WAFv2::WebACLAssociation').Properties.ResourceArn)).toContain('/stages/<ApiRestDeploymentStagelive');
  });

  test('gets a domain name if configured, and is reachable under no other', () => {
    const { only, resources, template } = synthesize({ domainName: 'api.example.com', hostedZoneId: 'Z1', hostedZoneName: 'example.com' });
    expect(only('AWS::ApiGateway::DomainName').Properties).toMatchObject({ DomainName: 'api.example.com', SecurityPolicy: 'TLS_1_2' });
    expect(only('AWS::ApiGateway::RestApi').Properties.DisableExecuteApiEndpoint).toBe(true);
    expect(Object.values(resources('AWS::Route53::RecordSet')).map(({ Properties }) => Properties.Type)).toEqual(['A', 'AAAA']);
    expect(template.Outputs.ApiUrl?.Value).toBe('https://api.example.com');
    expect(functionOf('get-policy', { resources } as Synthesis).Properties.Environment.Variables.BASE_URL).toBe('https://api.example.com');
  });
});

describe('data', () => {
  const keeps = ({ DeletionPolicy }: Resource) => DeletionPolicy === 'RetainExceptOnCreate';

  test('both tables can be restored, production cannot lose them', () => {
    const tables = Object.values(standard.resources('AWS::DynamoDB::GlobalTable'));
    expect(tables).toHaveLength(2);
    for (const { Properties } of tables) {
      expect(Properties).toMatchObject({
        BillingMode: 'PAY_PER_REQUEST',
        SSESpecification: { SSEEnabled: true },
        TimeToLiveSpecification: { AttributeName: 'expires_at', Enabled: true },
        KeySchema: [
          { AttributeName: 'pk', KeyType: 'HASH' },
          { AttributeName: 'sk', KeyType: 'RANGE' },
        ],
        Replicas: [{ DeletionProtectionEnabled: true, PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true } }],
      });
      expect(Properties.GlobalSecondaryIndexes).toBeUndefined();
    }
    expect(signingKeyOf(standard)).toMatchObject({ MultiRegion: true });
    expect(keyNamed('CallKey', standard)?.DeletionPolicy).toBe('Delete');
  });

  test.each(['AWS::DynamoDB::GlobalTable', 'AWS::KMS::Key', 'AWS::Cognito::UserPool', 'AWS::S3::Bucket'])(
    '%s is kept in production and goes elsewhere',
    (type) => {
      const kept = ({ resources }: Synthesis) => [
        ...new Set(Object.entries(resources(type)).flatMap(([id, resource]) => (id.startsWith('CallKey') ? [] : keeps(resource)))),
      ];
      expect(kept(standard)).toEqual([true]);
      expect(kept(synthesize({ stage: 'test' }))).toEqual([false]);
    },
  );

  test('a creation that fails leaves nothing behind: nothing is protected before it has succeeded', () => {
    const first = synthesize({ unprotected: true });
    expect(Object.values(first.template.Resources).filter(({ DeletionPolicy }) => DeletionPolicy === 'Retain')).toEqual([]);
    const protects = ({ only, resources }: Synthesis) => [
      ...Object.values(resources('AWS::DynamoDB::GlobalTable')).map(({ Properties }) => Properties.Replicas[0].DeletionProtectionEnabled),
      only('AWS::Cognito::UserPool').Properties.DeletionProtection,
    ];
    expect(protects(first)).toEqual([false, false, 'INACTIVE']);
    expect(protects(standard)).toEqual([true, true, 'ACTIVE']);
    expect([run({ unprotected: true }, false, isTerminationProtected), run({}, false, isTerminationProtected)]).toEqual([false, true]);
  });

  test('nothing writes to the snapshot bucket before the API is there: a creation that fails could not delete it', () => {
    for (const { DependsOn } of Object.values(standard.resources('AWS::Events::Rule')))
      expect(DependsOn).toEqual(expect.arrayContaining([expect.stringMatching(/^ApiRestDeploymentStagelive/)]));
  });

  test('the snapshot bucket is private, versioned and empties itself', () => {
    expect(bucketNamed('Snapshots')?.Properties).toMatchObject({
      PublicAccessBlockConfiguration: {
        BlockPublicAcls: true,
        BlockPublicPolicy: true,
        IgnorePublicAcls: true,
        RestrictPublicBuckets: true,
      },
      VersioningConfiguration: { Status: 'Enabled' },
      LifecycleConfiguration: { Rules: [{ ExpirationInDays: 7, NoncurrentVersionExpiration: { NoncurrentDays: 1 }, Status: 'Enabled' }] },
    });
  });

  test('has a key of its own with customerManagedKey, for tables, buckets and every log', () => {
    const { resources } = synthesize({ customerManagedKey: true });
    const [id] = Object.keys(resources('AWS::KMS::Key')).filter((name) => name.startsWith('DataKey'));
    const arn = { 'Fn::GetAtt': [id, 'Arn'] };
    for (const { Properties } of Object.values(resources('AWS::DynamoDB::GlobalTable'))) {
      expect(Properties.SSESpecification).toEqual({ SSEEnabled: true, SSEType: 'KMS' });
      expect(Properties.Replicas[0].SSESpecification).toEqual({ KMSMasterKeyId: arn });
    }
    for (const { Properties } of Object.values(resources('AWS::S3::Bucket'))) {
      const [rule] = Properties.BucketEncryption.ServerSideEncryptionConfiguration;
      expect(rule.ServerSideEncryptionByDefault).toEqual({ KMSMasterKeyID: arn, SSEAlgorithm: 'aws:kms' });
    }
    for (const { Properties } of Object.values(resources('AWS::Logs::LogGroup'))) expect(Properties.KmsKeyId).toEqual(arn);
    expect(resources('AWS::KMS::Key')[id ?? '']).toMatchObject({
      DeletionPolicy: 'RetainExceptOnCreate',
      Properties: { EnableKeyRotation: true },
    });
    // what uses the key does so through DynamoDB, S3 or the logs of this account
    const [, ...others] = resources('AWS::KMS::Key')[id ?? '']?.Properties.KeyPolicy.Statement ?? [];
    expect(others.map(({ Condition }: { Condition: object }) => Object.keys(Condition))).toEqual([['StringEquals'], ['ArnLike']]);
  });

  test('keys sign on P-256, the first name first', () => {
    const { resources } = synthesize({ signingKeys: 'b,a' });
    const ids = Object.keys(resources('AWS::KMS::Key')).filter((id) => id.startsWith('SigningKey'));
    expect(ids).toEqual([/^SigningKeyb/, /^SigningKeya/].map((id) => expect.stringMatching(id)));
    for (const id of ids) {
      expect(resources('AWS::KMS::Key')[id]?.Properties).toMatchObject({ KeySpec: 'ECC_NIST_P256', KeyUsage: 'SIGN_VERIFY' });
    }
    const { SIGNING_KEY_IDS: order } = functionOf('get-jwks', { resources } as Synthesis).Properties.Environment.Variables;
    expect(flatten(order)).toBe(`<${ids[0]}.Arn>,<${ids[1]}.Arn>`);
  });

  test('a key lets only the endpoint that issues PATs sign', () => {
    const { Statement } = signingKeyOf(standard).KeyPolicy;
    const [account, ...signers] = Statement;
    expect(flatten(account.Principal.AWS)).toMatch(/:root$/);
    expect(account.Action).not.toContain('kms:Sign');
    expect(account.Action).toEqual(expect.arrayContaining(['kms:ReplicateKey', 'kms:UpdatePrimaryRegion']));
    expect(account.Action.filter((action: string) => action.includes('*'))).toEqual([]);
    for (const { Effect, Action, Principal } of signers) {
      expect([Effect, Action]).toEqual(['Allow', 'kms:Sign']);
      for (const principal of [Principal.AWS].flat()) expect(flatten(principal)).toMatch(/^<issuepatRole\w+\.Arn>$/);
    }
  });

  test('another key lets only the functions that sign calls have theirs, and its name replaces it', () => {
    const key = keyNamed('CallKey', standard)?.Properties;
    expect(key).toMatchObject({ KeySpec: 'HMAC_256', KeyUsage: 'GENERATE_VERIFY_MAC' });
    const [account, ...users] = key?.KeyPolicy.Statement ?? [];
    expect(account.Action).not.toContain('kms:GenerateMac');
    expect(users.map(({ Action }: { Action: unknown }) => Action)).toEqual(users.map(() => 'kms:GenerateMac'));
    const roles = users.flatMap(({ Principal }: { Principal: { AWS: unknown } }) => [Principal.AWS].flat().map(flatten));
    expect(roles.map((role: string) => role.replace(/Role\w+\.Arn>$/, '')).sort()).toEqual([
      '<executeintent',
      '<getsignaturedirectory',
      '<mcp',
      '<rundeferredcall',
    ]);
    const names = Object.keys(synthesize({ callKey: 'second' }).resources('AWS::KMS::Key'));
    expect(names.filter((name) => name.startsWith('CallKey'))).toEqual([expect.stringMatching(/^CallKeysecond/)]);
  });
});

describe('admins', () => {
  test('nobody can sign up, or write an attribute that grants rights', () => {
    expect(standard.only('AWS::Cognito::UserPool').Properties).toMatchObject({
      AdminCreateUserConfig: { AllowAdminCreateUserOnly: true },
      DeletionProtection: 'ACTIVE',
      Policies: { PasswordPolicy: { MinimumLength: 12 } },
    });
    for (const { Properties } of Object.values(standard.resources('AWS::Cognito::UserPoolClient'))) {
      expect(Properties.WriteAttributes).toEqual(['name']);
    }
    expect(standard.only('AWS::Cognito::UserPoolGroup').Properties.GroupName).toBe('admins');
  });

  test('a namespace gets a machine client of its own with machineNamespaces, whose scope is of no use elsewhere', () => {
    const made = synthesize({ machineClient: true, machineNamespaces: ['pay.example', 'pay'] });
    const [server] = Object.values(made.resources('AWS::Cognito::UserPoolResourceServer'));
    const names = server?.Properties.Scopes.map(({ ScopeName }: { ScopeName: string }) => ScopeName);
    expect(names).toEqual(['admin', 'admin:pay.example', 'admin:pay']);
    // what Cognito takes as the name of a scope
    for (const name of names) expect(name).toMatch(/^[\x21\x23-\x2e\x30-\x5b\x5d-\x7e]+$/);
    const clients = Object.values(made.resources('AWS::Cognito::UserPoolClient')).filter(({ Properties }) => Properties.GenerateSecret);
    expect(clients.map(({ Properties }) => Properties.AllowedOAuthScopes.length)).toEqual([1, 1, 1]);
  });

  test('machines get the scope and nothing else, and only if they are to', () => {
    const made = synthesize({ machineClient: true });
    const clients = Object.values(made.resources('AWS::Cognito::UserPoolClient')).map(({ Properties }) => Properties);
    const machines = clients.find(({ GenerateSecret }) => GenerateSecret === true) ?? {};
    expect(machines.AllowedOAuthFlows).toEqual(['client_credentials']);
    expect(machines.AllowedOAuthScopes.map(flatten)).toEqual([expect.stringMatching(/^<AdminsPoolResourceServer\w+>\/admin$/)]);
    expect(functionOf('create-service').Properties.Environment.Variables.ADMIN_SCOPE).toBe('intent-gate/admin');
    for (const type of ['ResourceServer', 'Domain']) {
      expect([type, Object.keys(made.resources(`AWS::Cognito::UserPool${type}`)).length]).toEqual([type, 1]);
      expect(standard.resources(`AWS::Cognito::UserPool${type}`)).toEqual({});
    }
    expect(standard.only('AWS::Cognito::UserPoolClient').Properties.GenerateSecret).toBeUndefined();
  });
});

describe('sign-in', () => {
  test('is a public client of the user pool, whose tokens are no admin tokens', () => {
    const made = synthesize(withSignIn);
    const [[id, client] = []] = Object.entries(made.resources('AWS::Cognito::UserPoolClient')).filter(
      ([, { Properties }]) => Properties.CallbackURLs,
    );
    expect(client?.Properties).toMatchObject({
      AllowedOAuthFlows: ['code'],
      AllowedOAuthScopes: ['openid'],
      CallbackURLs: ['https://gate.example/oauth/signed-in'],
      WriteAttributes: ['name'],
    });
    expect(client?.Properties.GenerateSecret).toBeUndefined();
    const { Variables } = functionOf('authorize', made).Properties.Environment;
    expect(flatten(Variables.SIGN_IN_CLIENT_ID)).toBe(`<${id}>`);
    expect(flatten(Variables.SIGN_IN_DOMAIN)).toMatch(/^https:\/\/<AdminsPoolDomain\w+>\.auth\.<AWS::Region>\.amazoncognito\.com$/);
    expect(flatten(functionOf('create-service', made).Properties.Environment.Variables.ADMIN_CLIENT_IDS)).not.toContain(`<${id}>`);
    expect(Variables).not.toHaveProperty('SIGNING_KEY_IDS');
  });

  test('adds its endpoints, and lets the function sign that exchanges codes', () => {
    const made = synthesize(withSignIn);
    expect([...listMethods(made).keys()]).toEqual(expect.arrayContaining(['GET /oauth/authorize', 'POST /oauth/token', 'ANY /oauth']));
    expect(flatten(functionOf('mcp', made).Properties.Environment.Variables.SIGN_IN_CLIENT_ID)).toMatch(/^<AdminsPoolSignIn/);
    const { Statement } = signingKeyOf(made).KeyPolicy;
    const signers = Statement.slice(1).flatMap(({ Principal }: { Principal: { AWS: unknown } }) => [Principal.AWS].flat().map(flatten));
    expect(signers).toEqual([expect.stringMatching(/^<issuepatRole/), expect.stringMatching(/^<issuetokenRole/)]);
  });
});

test('the console has an app client with which admins sign in, whose tokens count, only if the setting is made', () => {
  const made = synthesize({ adminSignIn: true, publicBaseUrl: 'https://gate.example' });
  const [[id, client] = []] = Object.entries(made.resources('AWS::Cognito::UserPoolClient')).filter(
    ([, { Properties }]) => Properties.CallbackURLs?.[0] === 'https://gate.example/console',
  );
  expect(client?.Properties).toMatchObject({ AllowedOAuthFlows: ['code'], AllowedOAuthScopes: ['openid'] });
  expect(client?.Properties.GenerateSecret).toBeUndefined();
  const environments = Object.values(made.resources('AWS::Lambda::Function')).map(({ Properties }) => Properties.Environment.Variables);
  expect(environments.filter(({ CONSOLE_CLIENT_ID }) => CONSOLE_CLIENT_ID !== undefined)).toEqual([
    expect.objectContaining({ CONSOLE_CLIENT_ID: { Ref: id }, SIGN_IN_DOMAIN: expect.anything() }),
  ]);
  const admins = environments.filter(({ ADMIN_CLIENT_IDS }) => ADMIN_CLIENT_IDS !== undefined);
  expect(admins.length).toBeGreaterThan(10);
  expect(admins.filter(({ ADMIN_CLIENT_IDS }) => !JSON.stringify(ADMIN_CLIENT_IDS).includes(`"Ref":"${id}"`))).toEqual([]);
  expect(JSON.stringify(standard.template)).not.toContain('CONSOLE_CLIENT_ID');
});

test('only the local stage may call loopback addresses', () => {
  const { resources } = synthesize({ stage: 'local', allowLoopback: true, localUpstreams: 'api,192.168.1.7' });
  expect(functionOf('execute-intent').Properties.Environment.Variables.EGRESS_ALLOW_LOOPBACK).toBeUndefined();
  expect(JSON.stringify(standard.template)).not.toContain('EGRESS_LOCAL_UPSTREAMS');
  for (const name of ['execute-intent', 'create-intent', 'update-intent']) {
    expect(functionOf(name, { resources } as Synthesis).Properties.Environment.Variables).toMatchObject({
      EGRESS_ALLOW_LOOPBACK: 'true',
      EGRESS_LOCAL_UPSTREAMS: 'api,192.168.1.7',
    });
  }
});

describe('in a network', () => {
  const placed = ['execute-intent', 'mcp', 'run-deferred-call'];
  const rows = [...endpointsWith({ signIn: true }).filter(hasFunction), ...backgroundFunctions];
  const origins = ['https://orders.internal:8443', 'https://stock.internal'];
  const inside = synthesize({ vpc, privateOrigins: origins, tracing: false, ...withSignIn });
  const [[group, { Properties }]] = Object.entries(inside.resources('AWS::EC2::SecurityGroup')) as [[string, Resource]];

  test('run only the functions that call intents, in a security group that lets out what they need', () => {
    for (const { name } of rows) {
      const { VpcConfig } = functionOf(name, inside).Properties;
      const expected = { SubnetIds: vpc.subnetIds, SecurityGroupIds: [{ 'Fn::GetAtt': [group, 'GroupId'] }] };
      expect([name, VpcConfig]).toEqual([name, placed.includes(name) ? expected : undefined]);
    }
    expect(Properties).toMatchObject({ VpcId: vpc.vpcId });
    expect(Properties.SecurityGroupIngress).toBeUndefined();
    expect(Properties.SecurityGroupEgress.map(({ FromPort, ToPort }: Record<string, number>) => [FromPort, ToPort])).toEqual([
      [443, 443],
      [8_443, 8_443],
    ]);
  });

  test('private origins are known where intents are registered and called, and nowhere else', () => {
    const knowing = [...placed, 'create-intent', 'change-intents', 'update-intent', 'put-service-credential'];
    for (const { name } of rows) {
      const { EGRESS_PRIVATE_ORIGINS } = functionOf(name, inside).Properties.Environment.Variables;
      expect([name, EGRESS_PRIVATE_ORIGINS]).toEqual([name, knowing.includes(name) ? origins.join(',') : undefined]);
    }
  });

  test('roles may connect their function and the function may do nothing in EC2', () => {
    const roleOf = (name: string, { resources }: Synthesis) =>
      Object.entries(resources('AWS::IAM::Role')).find(([id]) => id.startsWith(`${logicalPrefix(name)}Role`))?.[1].Properties;
    const ofNetwork = ({ Action }: { Action: string | string[] }) => [Action].flat().some((action) => action.startsWith('ec2:'));
    for (const name of placed) {
      const statements = roleOf(name, inside)?.Policies[0].PolicyDocument.Statement.filter(ofNetwork);
      const described = statements.map(({ Effect, Action, Resource, Condition }: Record<string, unknown>) => [
        Effect,
        Action,
        [Resource].flat().map((arn) => (arn === '*' ? arn : flatten(arn).replace(/.*:/, ''))),
        ...(Condition ? [Condition] : []),
      ]);
      const ids = [`security-group/<${group}.GroupId>`, ...vpc.subnetIds.map((id) => `subnet/${id}`)];
      expect(described).toEqual([
        ['Allow', ['ec2:DescribeNetworkInterfaces', 'ec2:DescribeSubnets'], ['*']],
        ['Allow', 'ec2:CreateNetworkInterface', ['network-interface/*', ...ids]],
        [
          'Allow',
          ['ec2:AssignPrivateIpAddresses', 'ec2:DeleteNetworkInterface', 'ec2:UnassignPrivateIpAddresses'],
          ['network-interface/*'],
        ],
        ['Deny', 'ec2:*', ['*'], { Null: { 'lambda:SourceFunctionArn': 'false' } }],
      ]);
    }
    expect(JSON.stringify(roleOf('authorize', inside))).not.toContain('ec2:');
  });
});

describe("cdk-nag and CloudFormation's own rules are satisfied", () => {
  const variants: Record<string, Record<string, unknown>> = {
    'as it is': {},
    'with everything': {
      protocol: 'uim',
      signingKeys: 'b,a',
      throttling: { 'issue-pat': { requestsPerSecond: 5, burst: 10 } },
      requireAdminMfa: true,
      waf: true,
      corsOrigins: '*',
      alarmEmail: 'a@example.com',
      manageApiLogRole: true,
      customerManagedKey: true,
      gradualDeployment: true,
      vpc,
      machineClient: true,
      signIn: true,
      adminSignIn: true,
      domainName: 'a.example.com',
      hostedZoneId: 'Z1',
      hostedZoneName: 'example.com',
    },
    'with as little as possible, in a network': { stage: 'test', tracing: false, vpc },
    'with a search collection': { search: 'opensearch' },
    'with what a deleted stack left': { adopt },
    'on the local stage': { stage: 'local', allowLoopback: true },
  };
  test.each(Object.entries(variants))('%s', (_, settings) => {
    const violations = run(settings, true, (_, { directory }) => {
      const { pluginReports } = JSON.parse(readFileSync(join(directory, 'validation-report.json'), 'utf8'));
      return pluginReports.flatMap(({ violations }: { violations: object[] }) => violations);
    });
    expect(violations).toEqual([]);
  });
});

test('the tags of the settings are those of the stack', () => {
  expect(run({ tags: { team: 'gate' } }, false, (stack) => stack.tags.tagValues())).toEqual({ team: 'gate' });
});

test('every topic that an alarm notifies lets CloudWatch publish, for alarms of this account alone', () => {
  const policies = Object.values(standard.resources('AWS::SNS::TopicPolicy')).map(({ Properties }) => Properties);
  const alarms = Object.values(standard.resources('AWS::CloudWatch::Alarm')).map(({ Properties }) => Properties);
  const topics = new Set(alarms.flatMap(({ AlarmActions, OKActions }) => [...AlarmActions, ...OKActions]).map(({ Ref }) => Ref));
  expect(topics.size).toBe(1);
  for (const topic of topics) {
    const statements = policies
      .filter(({ Topics }) => Topics.some(({ Ref }: { Ref: string }) => Ref === topic))
      .flatMap(({ PolicyDocument }) => PolicyDocument.Statement);
    expect(statements).toContainEqual({
      Sid: expect.any(String),
      Effect: 'Allow',
      Action: 'sns:Publish',
      Principal: { Service: 'cloudwatch.amazonaws.com' },
      Resource: { Ref: topic },
      Condition: { StringEquals: { 'aws:SourceAccount': { Ref: 'AWS::AccountId' } } },
    });
  }
});

test('a deployment begins with a look at the signing keys, on which every other function and all data wait', () => {
  const { only, resources } = synthesize({ signingKeys: ['first', 'second'] });
  expect(only('Custom::SigningKeyGuard').Properties).toEqual({
    ServiceToken: { 'Fn::GetAtt': [expect.stringMatching(/^guardsigningkeysFunction/), 'Arn'] },
    ServiceTimeout: '120',
    SigningKeys: ['first', 'second'],
    VoidPats: 'false',
    ReservedConcurrency: '0',
    ManageApiLogRole: 'false',
  });
  const waiting = Object.values(resources('AWS::Lambda::Function')).filter(({ DependsOn = [] }) => DependsOn.includes('SigningKeyGuard'));
  expect(waiting).toHaveLength(functionRows.length - 1);
  for (const type of ['AWS::DynamoDB::GlobalTable', 'AWS::KMS::Key', 'AWS::Cognito::UserPool', 'AWS::Cognito::UserPoolDomain']) {
    for (const { DependsOn } of Object.values(resources(type)))
      expect([type, DependsOn]).toEqual([type, expect.arrayContaining(['SigningKeyGuard'])]);
  }
});

test('resources with data or addresses keep their logical ids: a new id would be a new, empty resource', () => {
  const pinned = {
    'AWS::DynamoDB::GlobalTable': ['Registry4DB9CCA5', 'Activity04690B0A'],
    'AWS::KMS::Key': ['SigningKeyfirst375D5524', expect.stringMatching(/^CallKey/), 'ReceiptKey306FE255', 'LogKeyE83D0C1B'],
    'AWS::KMS::Alias': [
      'SigningKeyfirstAlias6EE0BB09',
      expect.stringMatching(/^CallKey/),
      'ReceiptKeyAlias3ECB4A45',
      'LogKeyAlias61EB334B',
    ],
    'AWS::Cognito::UserPool': ['AdminsPool4381FD12'],
    'AWS::Cognito::UserPoolGroup': ['AdminsPoolAdminGroup157B0FA0'],
    'AWS::Cognito::UserPoolClient': ['AdminsPoolPeople275FCC4F'],
    'AWS::ApiGateway::RestApi': ['ApiRest4DEC74FE'],
    'AWS::ApiGateway::Stage': ['ApiRestDeploymentStagelive3BEBAE0C'],
    'AWS::CloudWatch::Dashboard': ['Dashboard9E4231ED'],
    'AWS::SNS::Topic': ['AlarmsTopic3A2DFEBA'],
    'AWS::S3::Bucket': ['SnapshotsD03D071C', 'ReceiptLogD736B797'],
  };
  for (const [type, ids] of Object.entries(pinned)) expect([type, Object.keys(standard.resources(type))]).toEqual([type, ids]);
  expect(Object.keys(standard.template.Resources)).toEqual(
    expect.arrayContaining(['executeintentFunction94253DE6', 'executeintentRole331D70B1']),
  );
});

describe('what a deleted stack left', () => {
  let adopting: Synthesis;
  beforeAll(() => {
    adopting = synthesize({ adopt });
  });

  test('is taken over instead of created', () => {
    expect(keyNamed('SigningKey', adopting)).toBeUndefined();
    for (const type of ['AWS::DynamoDB::GlobalTable', 'AWS::Cognito::UserPool', 'AWS::Cognito::UserPoolGroup']) {
      expect([type, adopting.resources(type)]).toEqual([type, {}]);
    }
    const { Variables } = functionOf('issue-pat', adopting).Properties.Environment;
    expect(Variables).toMatchObject({
      REGISTRY_TABLE: adopt.registryTable,
      ACTIVITY_TABLE: adopt.activityTable,
      SIGNING_KEY_IDS: adopt.signingKeys.first,
    });
    expect(functionOf('create-service', adopting).Properties.Environment.Variables).toMatchObject({ USER_POOL_ID: adopt.userPoolId });
    expect(adopting.template.Outputs).toMatchObject({
      RegistryTable: { Value: adopt.registryTable },
      ActivityTable: { Value: adopt.activityTable },
      UserPoolId: { Value: adopt.userPoolId },
    });
  });

  test('gets new clients, and the domain and scope that went with the stack', () => {
    for (const type of ['AWS::Cognito::UserPoolClient', 'AWS::Cognito::UserPoolDomain', 'AWS::Cognito::UserPoolResourceServer']) {
      const made = Object.values(adopting.resources(type));
      expect([type, made.length]).toEqual([type, Object.keys(standard.resources(type)).length]);
      for (const { Properties } of made) expect(Properties.UserPoolId).toBe(adopt.userPoolId);
    }
  });

  test('is used under the same permissions', () => {
    const texts = Object.values({ ...adopting.resources('AWS::IAM::Policy'), ...adopting.resources('AWS::IAM::Role') }).map(
      ({ Properties }) => JSON.stringify(Properties),
    );
    expect(texts.some((text) => text.includes('"kms:Sign"') && text.includes(adopt.signingKeys.first))).toBe(true);
    for (const table of [adopt.registryTable, adopt.activityTable])
      expect(texts.some((text) => text.includes(`:table/${table}`))).toBe(true);
  });

  test('comes with the policy that its keys are to be given: that of a new key', () => {
    const { Statement } = JSON.parse(flatten(adopting.template.Outputs.SigningKeyPolicy?.Value));
    const created = signingKeyOf(standard).KeyPolicy.Statement;
    expect(Statement.map(({ Action }: { Action: unknown }) => Action)).toEqual(created.map(({ Action }: { Action: unknown }) => Action));
    expect(Statement[1].Principal.AWS).toMatch(/^<issuepatRole\w+\.Arn>$/);
  });
});

describe('alarms', () => {
  const alarmOf = (name: string, { resources }: Synthesis = standard) =>
    Object.entries(resources('AWS::CloudWatch::Alarm')).find(([id]) => id.startsWith(`Alarms${name}`))?.[1].Properties;

  test('metrics from logs have no dimension that a caller or a provider chooses', () => {
    const dimensions = Object.values(standard.resources('AWS::Logs::MetricFilter')).flatMap(
      ({ Properties }) => Properties.MetricTransformations[0].Dimensions ?? [],
    );
    expect([...new Set(dimensions.map(({ Key, Value }) => `${Key} ${Value}`))]).toEqual(['code $.code']);
  });

  test('count failures of the gate, not those of the services behind intents', () => {
    const patternsOf = (metric: string) =>
      Object.values(standard.resources('AWS::Logs::MetricFilter'))
        .filter(({ Properties }) => Properties.MetricTransformations[0].MetricName === metric)
        .map(({ Properties }) => Properties.FilterPattern);
    expect(patternsOf('GatewayFailures')).toEqual([
      '{ ($.message = "access") && ($.status >= 500) && ($.refusal != "-") && ($.integration_status != "413") }',
    ]);
    const refusals = patternsOf('Refusals');
    expect(new Set(refusals)).toEqual(
      new Set(['{ (($.message = "answered") || ($.message = "tool")) && ($.code = "*") && ($.fault NOT EXISTS) }']),
    );
    expect(refusals).toHaveLength(functionRows.length);
    const counted = { Namespace: 'IntentGate', Threshold: 10, EvaluationPeriods: 2 };
    const ofCode = (Value: string) => ({ ...counted, MetricName: 'Refusals', Dimensions: [{ Name: 'code', Value }] });
    for (const name of ['UsageErrors', 'DeferredErrors', 'ReceiptErrors'])
      expect(alarmOf(name)).toMatchObject({ Namespace: 'AWS/Lambda', MetricName: 'Errors', Threshold: 2 });
    expect(alarmOf('ApiErrors')).toMatchObject(ofCode('INTERNAL_SERVER_ERROR'));
    expect(alarmOf('Unavailable')).toMatchObject(ofCode('SERVICE_UNAVAILABLE'));
    expect(alarmOf('GatewayErrors')).toMatchObject({ ...counted, MetricName: 'GatewayFailures' });
  });

  test('count the executions of each agent, and of each service if wanted, as log lines come in', () => {
    const rulesOf = ({ resources }: Synthesis) =>
      Object.values(resources('AWS::CloudWatch::InsightRule')).map(({ Properties: { RuleBody, ...others } }) => ({
        ...others,
        ...JSON.parse(flatten(RuleBody)),
      }));
    const ruleOf = (name: string, key: string) => ({
      RuleName: `IntentGate-${name}`,
      RuleState: 'ENABLED',
      Schema: { Name: 'CloudWatchLogRule', Version: 1 },
      LogGroupNames: ['executeintent', 'mcp', 'rundeferredcall'].map((name) => expect.stringContaining(name)),
      LogFormat: 'JSON',
      Contribution: {
        Keys: [key],
        Filters: [
          { Match: '$.message', In: ['executed'] },
          { Match: '$.outcome', NotIn: ['FORBIDDEN'] },
        ],
      },
      AggregateOn: 'Count',
    });
    const expected = (name: string, Threshold: number) => ({
      Metrics: [
        {
          Id: expect.any(String),
          Expression: `INSIGHT_RULE_METRIC('IntentGate-${name}', MaxContributorValue)`,
          Period: 60,
          ReturnData: true,
        },
      ],
      ComparisonOperator: 'GreaterThanThreshold',
      Threshold,
      EvaluationPeriods: 3,
      TreatMissingData: 'notBreaching',
    });
    expect(rulesOf(standard)).toEqual([ruleOf('BusyAgent', '$.agent_id')]);
    expect(alarmOf('BusyAgent')).toMatchObject(expected('BusyAgent', 300));
    const both = synthesize({ alarmCallsPerAgent: 20, alarmCallsPerService: '5000' });
    expect(rulesOf(both)).toEqual([ruleOf('BusyAgent', '$.agent_id'), ruleOf('BusyService', '$.service_id')]);
    expect(alarmOf('BusyAgent', both)?.Threshold).toBe(20);
    expect(alarmOf('BusyService', both)).toMatchObject(expected('BusyService', 5_000));
    const none = synthesize({ alarmCallsPerAgent: 0 });
    expect([rulesOf(none), alarmOf('BusyAgent', none), alarmOf('BusyService', none)]).toEqual([[], undefined, undefined]);
  });

  /** What measures a metric, and by which lines of a log. */
  const valuesOf = (metric: string, { resources }: Synthesis) =>
    Object.values(resources('AWS::Logs::MetricFilter'))
      .map(({ Properties }) => [Properties.MetricTransformations[0], Properties.FilterPattern])
      .filter(([{ MetricName }]) => MetricName === metric)
      .map(([{ MetricValue }, pattern]) => [MetricValue, pattern]);
  // Missing data moves an alarm to INSUFFICIENT_DATA, in which a new alarm begins: so only what has run once can fall silent.
  const silence = { TreatMissingData: 'missing', InsufficientDataActions: [expect.anything()] };

  test('none fires during a first deployment, when there is no data yet, or by a few slow searches', () => {
    for (const made of [standard, synthesize({ search: 'opensearch' })]) {
      const alarms = Object.values(made.resources('AWS::CloudWatch::Alarm')).map(({ Properties }) => Properties);
      expect(alarms.filter(({ TreatMissingData }) => TreatMissingData === 'breaching')).toEqual([]);
    }
    expect(alarmOf('SlowSearch')).toMatchObject({ ExtendedStatistic: 'p99', EvaluateLowSampleCountPercentile: 'ignore' });
    expect(alarmOf('Unavailable')?.EvaluateLowSampleCountPercentile).toBeUndefined();
  });

  test('alarm if a scheduled function stops running', () => {
    expect(alarmOf('SnapshotAge')).toMatchObject({
      ComparisonOperator: 'LessThanThreshold',
      Threshold: 1,
      Period: 10_800,
      ...silence,
    });
    expect(valuesOf('SnapshotAgeRuns', standard)).toEqual([
      ['1', '{ $.message = "the snapshot of the search index is as new as it should be" }'],
      ['0', '{ $.type = "platform.report" }'],
    ]);
  });

  test('alarm if the feed of a search collection falls behind or is silent, or if its fill does not end', () => {
    const withCollection = synthesize({ search: 'opensearch' });
    expect(alarmOf('FeedAge', withCollection)).toMatchObject({
      MetricName: 'FeedAge',
      ComparisonOperator: 'GreaterThanThreshold',
      Threshold: 1_800,
      Period: 1_800,
      ...silence,
    });
    expect(alarmOf('FillAge', withCollection)).toMatchObject({ MetricName: 'FillAge', Threshold: 7_200, TreatMissingData: 'notBreaching' });
    expect(valuesOf('FeedAge', withCollection)).toEqual([
      ['$.behind_seconds', '{ $.message = "fed the search collection" }'],
      ['0', '{ $.message = "filled a part of the search collection" }'],
      ['86400', '{ $.type = "platform.report" }'],
    ]);
    expect(valuesOf('FillAge', withCollection)).toEqual([['$.behind_seconds', '{ $.message = "filled a part of the search collection" }']]);
  });

  test('alarm before the reserved concurrency of a function is used up', () => {
    const reserving = synthesize({ reservedConcurrency: '{"execute-intent": 300, "mcp": 100}' });
    expect(functionOf('execute-intent', reserving).Properties.ReservedConcurrentExecutions).toBe(300);
    expect(functionOf('mcp', reserving).Properties.ReservedConcurrentExecutions).toBe(100);
    expect(functionOf('mcp', reserving).Properties.Environment.Variables.RESERVED_CONCURRENCY).toBe('100');
    expect(functionOf('search-intents', reserving).Properties.ReservedConcurrentExecutions).toBeUndefined();
    expect([alarmOf('ExecuteConcurrency', reserving)?.Threshold, alarmOf('McpConcurrency', reserving)?.Threshold]).toEqual([240, 80]);
    expect(reserving.only('Custom::SigningKeyGuard').Properties.ReservedConcurrency).toBe('400');
    for (const { Properties } of Object.values(standard.resources('AWS::Lambda::Function')))
      expect(Properties.ReservedConcurrentExecutions).toBeUndefined();
    expect([alarmOf('ExecuteConcurrency'), alarmOf('McpConcurrency')]).toEqual([undefined, undefined]);
  });
});

test('the dashboard queries every log group, at most 50 at once, which is what CloudWatch takes', () => {
  const { widgets } = JSON.parse(flatten(standard.only('AWS::CloudWatch::Dashboard').Properties.DashboardBody));
  const queries: string[] = widgets.flatMap(({ properties }: { properties: { query?: string } }) => properties.query ?? []);
  const groups = queries.map((query) => query.match(/<\w+Logs\w+>/g) ?? []);
  expect(Math.max(...groups.map(({ length }) => length))).toBeLessThanOrEqual(50);
  for (const line of ['"answered" and code', 'level = ', 'platform.report'])
    expect(groups.filter((_, at) => queries[at]?.includes(line)).flat()).toHaveLength(functionRows.length);
});

test('every alarm has its row in the runbook', async () => {
  const { readFile } = await import('node:fs/promises');
  const guide = await readFile('docs/operations.md', 'utf8');
  const [, table = ''] = /^\| alarm \|.*\n(?:.*\n)((?:\|.*\n)+)/m.exec(guide) ?? [];
  const named = [...table.matchAll(/^\| (.+?) \|/gm)].flatMap(([, cell = '']) => [...cell.matchAll(/`(\w+)`/g)].map(([, name]) => name));
  const every = {
    search: 'opensearch',
    reservedConcurrency: { 'execute-intent': 300, mcp: 100 },
    alarmCallsPerService: 1,
    gradualDeployment: true,
  };
  const alarms = [standard, synthesize(every)].flatMap(({ resources }) => Object.entries(resources('AWS::CloudWatch::Alarm')));
  expect([...new Set(alarms.map(([id]) => id.replace(/^Alarms(\w+)[0-9A-F]{8}$/, '$1')))].sort()).toEqual(named.sort());
  for (const [, { Properties }] of alarms) expect(Properties.AlarmDescription).toMatch(/ Runbook: docs\/operations\.md#runbook$/);
});

describe('the setting gradualDeployment', () => {
  const gradual = { 'execute-intent': 'ExecuteRollout', 'issue-pat': 'IssueRollout' };
  const made = synthesize({ gradualDeployment: true });
  const aliasIdOf = (name: string, { resources } = made) =>
    Object.keys(resources('AWS::Lambda::Alias')).find((id) => id.startsWith(logicalPrefix(name))) ?? '';

  test('publishes versions of two functions, which are deployed under alarms and rolled back by them', () => {
    for (const type of ['Alias', 'Version']) expect(Object.keys(made.resources(`AWS::Lambda::${type}`))).toHaveLength(2);
    for (const [name, ownAlarm] of Object.entries(gradual)) {
      const alias = made.resources('AWS::Lambda::Alias')[aliasIdOf(name)];
      const { DeploymentGroupName } = alias?.UpdatePolicy?.CodeDeployLambdaAliasUpdate ?? {};
      const group = made.resources('AWS::CodeDeploy::DeploymentGroup')[DeploymentGroupName.Ref];
      expect(group?.Properties).toMatchObject({
        DeploymentConfigName: 'CodeDeployDefault.LambdaCanary10Percent15Minutes',
        AutoRollbackConfiguration: { Enabled: true, Events: expect.arrayContaining(['DEPLOYMENT_STOP_ON_ALARM']) },
      });
      const alarms = [ownAlarm, 'ApiErrors', 'Unavailable', 'GatewayErrors', 'IssueFailures'];
      expect(group?.Properties.AlarmConfiguration.Alarms.map(({ Name }: { Name: unknown }) => flatten(Name))).toEqual(
        alarms.map((alarm) => expect.stringMatching(new RegExp(`^<Alarms${alarm}[0-9A-F]{8}>$`))),
      );
      // the alarm watches the new version before requests reach it
      expect(alias?.DependsOn).toContainEqual(expect.stringMatching(new RegExp(`^Alarms${ownAlarm}`)));
      const [, alarm] = Object.entries(made.resources('AWS::CloudWatch::Alarm')).find(([id]) => id.startsWith(`Alarms${ownAlarm}`)) ?? [];
      expect(alarm?.Properties).toMatchObject({ MetricName: 'Errors', Threshold: 0, Period: 60, EvaluationPeriods: 1 });
      const dimensions = alarm?.Properties.Dimensions.map(({ Name, Value }: Record<string, unknown>) => [Name, flatten(Value)]);
      const version = new RegExp(`^<${logicalPrefix(name)}FunctionCurrentVersion\\w+\\.Version>$`);
      expect(Object.fromEntries(dimensions)).toMatchObject({ ExecutedVersion: expect.stringMatching(version) });
    }
  });

  test('the API and MCP run the aliases, and may run nothing else of the two', () => {
    const methods = listMethods(made);
    const roleOf = (prefix: string) =>
      Object.entries(made.resources('AWS::IAM::Role')).find(([id]) => id.startsWith(prefix))?.[1].Properties;
    const invocable = roleOf('ApiInvoker')?.Policies[0].PolicyDocument.Statement[0].Resource.map(flatten);
    for (const { name, method, path } of deployed.filter((row) => Object.hasOwn(gradual, row.name))) {
      const alias = `<${aliasIdOf(name)}>`;
      expect(flatten(integrationOf(methods.get(`${method} ${path}`)).uri)).toContain(`/functions/${alias}/invocations`);
      expect(invocable.filter((arn: string) => arn.startsWith(`<${logicalPrefix(name)}`))).toEqual([alias]);
    }
    expect(functionOf('mcp', made).Properties.Environment.Variables.ISSUE_FUNCTION).toEqual({ Ref: aliasIdOf('issue-pat') });
    const invoking = Object.entries(made.resources('AWS::IAM::Policy'))
      .filter(([id]) => id.startsWith('mcpRole'))
      .flatMap(([, { Properties }]) => Properties.PolicyDocument.Statement)
      .filter(({ Action }: { Action: unknown }) => Action === 'lambda:InvokeFunction');
    expect(JSON.stringify(roleOf('mcpRole'))).not.toContain('lambda:InvokeFunction');
    const worker = { 'Fn::GetAtt': [expect.stringMatching(/^rundeferredcallFunction/), 'Arn'] };
    expect(invoking.map(({ Resource }: { Resource: unknown }) => Resource)).toEqual([[worker, { Ref: aliasIdOf('issue-pat') }]]);
  });

  test('what makes PATs invalid leads all requests to another alias; another setting does not', () => {
    const aliasWith = (settings: Record<string, unknown>) => aliasIdOf('issue-pat', synthesize({ gradualDeployment: true, ...settings }));
    const usual = aliasIdOf('issue-pat');
    expect(aliasWith({ patLifeSeconds: 600 })).toBe(usual);
    const others = [
      { policyFile: 'bin/local/policy.json' },
      { signingKeys: '2027' },
      { publicBaseUrl: 'https://gate.example' },
      { protocol: 'uim' },
    ];
    expect(new Set([usual, ...others.map(aliasWith)]).size).toBe(1 + others.length);
  });
});

describe('the setting search: opensearch', () => {
  const synthesis = synthesize({ search: 'opensearch' });
  const { resources, only } = synthesis;

  test('deploys a collection that is fed every minute, and no snapshots', () => {
    expect(only('AWS::OpenSearchServerless::Collection').Properties).toMatchObject({ Type: 'SEARCH', StandbyReplicas: 'ENABLED' });
    expect(schedulesOf(synthesis)).toEqual(
      ['countusage', 'feedsearchcollection', 'sequencereceipts'].map((name) => `${name} rate(1 minute) ENABLED`),
    );
    expect(bucketNamed('Snapshots', synthesis)).toBeUndefined();
    for (const name of ['search-intents', 'mcp', 'feed-search-collection']) {
      const { Variables } = functionOf(name, { resources } as Synthesis).Properties.Environment;
      expect(flatten(Variables.SEARCH_COLLECTION)).toMatch(/^<SearchCollection\w+\.CollectionEndpoint>$/);
      expect(Variables).not.toHaveProperty('SNAPSHOT_BUCKET');
    }
  });

  test('lets the functions that search read, and the one that feeds write', () => {
    const [readers, writers, ...others] = JSON.parse(flatten(only('AWS::OpenSearchServerless::AccessPolicy').Properties.Policy));
    expect(others).toEqual([]);
    expect(readers.Rules[0].Permission).toEqual(['aoss:DescribeIndex', 'aoss:ReadDocument']);
    expect(readers.Principal).toEqual(
      ['searchintents', 'mcp', 'getowndescription'].map((name) => expect.stringMatching(new RegExp(`^<${name}Role`))),
    );
    expect(writers.Rules[0].Permission).toContain('aoss:WriteDocument');
    expect(writers.Principal).toEqual([expect.stringMatching(/^<feedsearchcollectionRole/)]);
  });
});
