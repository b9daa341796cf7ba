import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { App, NestedStack, Stack } from 'aws-cdk-lib';
import { ResponseType } from 'aws-cdk-lib/aws-apigateway';
import { Construct } from 'constructs';
import type { BackgroundFunction } from '../../lib/endpoints/endpoint.ts';
import { backgroundFunctions, type Endpoint, endpointsWith, hasFunction, pathsOf } from '../../lib/endpoints.ts';
import { aliasNameOf } from '../../lib/gradual-deployment.ts';
import { namesOf } from '../../lib/names.ts';
import { permissionsOf } from '../../lib/permissions.ts';
import { parseSettings } from '../../lib/settings.ts';
import { indexSize } from '../../lib/snapshots.ts';
import { errorBody } from '../../schemas/error-body.ts';
import { errorTable } from '../../schemas/errors.ts';
import { logicalPrefix, type Resource, type Synthesis, synthesize } from './synthesize.ts';

const deployed = endpointsWith({ signIn: false });
const functionRows = [
  ...deployed.filter(hasFunction),
  ...backgroundFunctions.filter(({ onlyWith, isUsed }) => onlyWith === undefined && (isUsed?.({ receipts: 'off' }) ?? true)),
];
const allRows = [...endpointsWith({ signIn: true }).filter(hasFunction), ...backgroundFunctions];

const adopt = {
  registryTable: 'IntentGate-Registry4DB9CCA5-ABC',
  activityTable: 'IntentGate-Activity04690B0A-ABC',
  userPoolId: 'eu-west-1_Abc123',
  signingKeys: { first: 'arn:aws:kms:eu-west-1:123456789012:key/mrk-1' },
};
const receiptLog = {
  receiptKey: 'arn:aws:kms:eu-west-1:123456789012:key/receipts',
  logKey: 'arn:aws:kms:eu-west-1:123456789012:key/log',
  receiptBucket: 'intentgate-receiptlog-1',
};
const vpc = { vpcId: 'vpc-0123456789abcdef0', subnetIds: ['subnet-0123456789abcdef0', 'subnet-0123456789abcdef1'] };
const privateOrigins = ['https://orders.internal:8443', 'https://stock.internal'];

const notify = { url: 'https://hooks.example/intent-gate', secret: 'intent-gate/notify' };

const everySetting = {
  protocol: 'uim',
  signingKeys: 'b,a',
  callKey: 'second',
  throttling: { 'issue-pat': { requestsPerSecond: 6, burst: 10 }, 'get-docs': { requestsPerSecond: 7, burst: 8 } },
  reservedConcurrency: '{"execute-intent": 300, "mcp": 100, "run-deferred-call": 50}',
  expectedIntents: 250_000,
  waf: true,
  wafRequestsPerFiveMinutes: 100,
  corsOrigins: 'https://a.example,https://b.example',
  alarmEmail: 'a@example.com',
  alarmCallsPerAgent: 20,
  alarmCallsPerService: '5000',
  manageApiLogRole: true,
  customerManagedKey: true,
  gradualDeployment: true,
  receipts: 'keyed',
  notify,
  executionMemoryMb: 2_048,
  tags: { team: 'gate' },
  tracing: false,
  vpc,
  privateOrigins,
  machineClient: true,
  machineNamespaces: ['pay.example', 'pay'],
  signIn: true,
  adminSignIn: true,
  ...{ domainName: 'api.example.com', hostedZoneId: 'Z1', hostedZoneName: 'example.com' },
};

const standard = synthesize({}, true);
const everything = synthesize(everySetting, true);
const little = synthesize(
  { stage: 'test', receipts: 'keyed', tracing: false, vpc, aliases: false, expectedIntents: 10, alarmCallsPerAgent: 0 },
  true,
);
const withCollection = synthesize({ search: 'opensearch' }, true);
const adopting = synthesize({ adopt }, true);
const withReceipts = synthesize({ receipts: 'keyed' });
const adoptingReceipts = synthesize({ receipts: 'keyed', adopt: receiptLog }, true);
/** with two keys, so that permissions for only one of them can be distinguished */
const local = synthesize(
  { stage: 'local', receipts: 'keyed', notify, allowLoopback: true, localUpstreams: 'api,192.168.1.7', signIn: true, signingKeys: 'b,a' },
  true,
);

test.each(Object.entries({ standard, everything, little, withCollection, adopting, adoptingReceipts, local }))(
  "cdk-nag and CloudFormation's own rules are satisfied: %s",
  (_, { violations }) => {
    expect(violations).toEqual([]);
  },
);

test.each(Object.entries({ everything, little, withCollection, adopting, local }))(
  'the template stays well below the limits of CloudFormation, 500 resources and 1 MB: %s',
  (_, { template }) => {
    expect(Object.keys(template.Resources).length).toBeLessThan(350);
    expect(JSON.stringify(template).length).toBeLessThan(800_000);
  },
);

test('the template has at most 240 resources with the standard settings', () => {
  expect(Object.keys(standard.template.Resources).length).toBeLessThanOrEqual(240);
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

const listed = <T>(value: T | T[]): T[] => [value].flat() as T[];

/** The properties of the resources of a type. */
const all = (type: string, { resources }: Synthesis = standard): Resource['Properties'][] =>
  Object.values(resources(`AWS::${type}`)).map(({ Properties }) => Properties);

/** The resource whose logical id begins with a text. */
const named = (type: string, prefix: string, { resources }: Synthesis = standard) =>
  Object.entries(resources(`AWS::${type}`)).find(([id]) => id.startsWith(prefix))?.[1];

const functionOf = (name: string, synthesis?: Synthesis): Resource['Properties'] => {
  const found = named('Lambda::Function', `${logicalPrefix(name)}Function`, synthesis);
  if (!found) throw new Error(`no function ${name}`);
  return found.Properties;
};
const environmentOf = (name: string, synthesis?: Synthesis) => functionOf(name, synthesis).Environment.Variables;
const keyOf = (prefix: string, synthesis?: Synthesis): Resource['Properties'] => named('KMS::Key', prefix, synthesis)?.Properties ?? {};
const alarmOf = (name: string, synthesis?: Synthesis) => named('CloudWatch::Alarm', `Alarms${name}`, synthesis)?.Properties;

const definition = ({ only }: Synthesis) => only('AWS::ApiGateway::RestApi').Properties.Body;

/** The methods of the API by name, such as `GET /path`. */
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

interface GatewayAnswer {
  statusCode?: string;
  responseParameters: Record<string, string>;
  responseTemplates: Record<string, string>;
}
const gatewayResponses = (synthesis: Synthesis): Record<string, GatewayAnswer> =>
  definition(synthesis)['x-amazon-apigateway-gateway-responses'];

/** The functions that run on a schedule. */
const schedulesOf = ({ resources }: Synthesis): string[] =>
  Object.entries(resources('AWS::Events::Rule'))
    .flatMap(([id, { Properties }]) =>
      Properties.ScheduleExpression ? `${id.replace(/Schedule.*/, '')} ${Properties.ScheduleExpression} ${Properties.State}` : [],
    )
    .sort();

describe('functions', () => {
  test.each<Endpoint | BackgroundFunction>(functionRows)('$name is configured as in its row', (row) => {
    const { name, timeoutSeconds, memoryMb, summary } = row;
    const isQuiet = 'isQuiet' in row;
    const properties = functionOf(name);
    expect(properties).toMatchObject({
      Runtime: 'nodejs24.x',
      Architectures: ['arm64'],
      Handler: 'index.handler',
      Timeout: timeoutSeconds,
      MemorySize: memoryMb,
      Description: `Intent Gate: ${summary}`,
      Role: { 'Fn::GetAtt': [expect.stringMatching(new RegExp(`^${logicalPrefix(name)}Role`)), 'Arn'] },
      LoggingConfig: {
        LogGroup: { Ref: expect.stringMatching(new RegExp(`^${logicalPrefix(name)}Logs`)) },
        LogFormat: 'JSON',
        SystemLogLevel: isQuiet ? 'WARN' : 'INFO',
      },
    });
    expect(properties.TracingConfig).toEqual(isQuiet ? undefined : { Mode: 'Active' });
    // the timeout of API Gateway
    if ('path' in row) expect(timeoutSeconds).toBeLessThanOrEqual(29);
  });

  test('the stack has no other function, and every log has the retention of the setting', () => {
    expect(all('Lambda::Function')).toHaveLength(functionRows.length);
    for (const { RetentionInDays } of all('Logs::LogGroup')) expect(RetentionInDays).toBe(30);
  });

  test('the lines of executions, and no others, are passed to the function that counts them', () => {
    const target = { 'Fn::GetAtt': [expect.stringMatching(/^countusageFunction/), 'Arn'] };
    expect(all('Logs::SubscriptionFilter')).toEqual(
      ['execute-intent', 'mcp', 'run-deferred-call'].map((name) => ({
        LogGroupName: functionOf(name).LoggingConfig.LogGroup,
        FilterPattern: '{ $.message = "executed" }',
        DestinationArn: target,
      })),
    );
    // those log groups, and none of another stage
    const permissions = Object.entries(standard.resources('AWS::Lambda::Permission')).filter(
      ([, { Properties }]) => Properties.Principal !== 'events.amazonaws.com',
    );
    expect(permissions.map(([, { Properties }]) => Properties)).toEqual(
      ['execute-intent', 'mcp', 'run-deferred-call'].map((name) => ({
        Action: 'lambda:InvokeFunction',
        FunctionName: target,
        Principal: 'logs.amazonaws.com',
        SourceArn: { 'Fn::GetAtt': [functionOf(name).LoggingConfig.LogGroup.Ref, 'Arn'] },
      })),
    );
    const filters = Object.values(standard.resources('AWS::Logs::SubscriptionFilter'));
    expect(filters.map(({ DependsOn }) => DependsOn)).toEqual(permissions.map(([id]) => expect.arrayContaining([id])));
  });

  test('a snapshot is made after each deployment of this stack', () => {
    const rule = named('Events::Rule', 'snapshotsearchindexAfterDeployment')?.Properties;
    expect(rule?.EventPattern).toEqual({
      source: ['aws.cloudformation'],
      'detail-type': ['CloudFormation Stack Status Change'],
      detail: { 'stack-id': [{ Ref: 'AWS::StackId' }], 'status-details': { status: ['CREATE_COMPLETE', 'UPDATE_COMPLETE'] } },
    });
    expect(rule?.Targets).toMatchObject([{ Arn: { 'Fn::GetAtt': [expect.stringMatching(/^snapshotsearchindex/), 'Arn'] } }]);
  });

  test('only the function for bulk changes starts the one that saves snapshots, if there is one', () => {
    const starter = (synthesis: Synthesis) =>
      Object.values(synthesis.resources('AWS::Lambda::Function')).flatMap(({ Properties }) =>
        Properties.Environment.Variables.SNAPSHOT_FUNCTION
          ? [[Properties.Description, Properties.Environment.Variables.SNAPSHOT_FUNCTION]]
          : [],
      );
    const { summary } = deployed.find(({ name }) => name === 'change-intents') as Endpoint;
    expect(starter(standard)).toEqual([[`Intent Gate: ${summary}`, { Ref: expect.stringMatching(/^snapshotsearchindexFunction/) }]]);
    expect(starter(withCollection)).toEqual([]);
  });

  test('functions with the search index have room for the expected size of the registry', () => {
    const sizes = ({ resources }: Synthesis) =>
      Object.entries(resources('AWS::Lambda::Function')).flatMap(([id, { Properties }]) =>
        Properties.EphemeralStorage ? [[id.replace(/Function.*/, ''), Properties.EphemeralStorage.Size, Properties.MemorySize]] : [],
      );
    const searching = ['snapshotsearchindex', 'searchintents', 'mcp', 'getowndescription'];
    expect(sizes(little)).toEqual(searching.map((name) => [name, 512, name === 'mcp' ? 512 : 1_769]));
    expect(sizes(everything)).toEqual(searching.map((name) => [name, 1_431, name === 'mcp' ? 2_048 : 1_769]));
    expect(sizes(withCollection)).toEqual([]);
  });

  test.each<[string, Synthesis, memoryMb: number]>([
    ['by default', standard, 512],
    ['with a search collection', withCollection, 512],
    ['with the setting executionMemoryMb', everything, 2_048],
  ])('functions that execute intents have the memory that costs least, or that of the setting: %s', (_, synthesis, memoryMb) => {
    const sizes = ['execute-intent', 'mcp', 'run-deferred-call'].map((name) => functionOf(name, synthesis).MemorySize);
    expect(sizes).toEqual([memoryMb, memoryMb, memoryMb]);
  });

  test.each<[expectedIntents: number, executionMemoryMb: number, mcp: number]>([
    [100_000, 256, 256],
    [100_001, 512, 1_769],
    [250_000, 4_096, 4_096],
  ])(
    'with %i expected intents and %i MB to execute intents, mcp has %i MB, because it holds the search index',
    (expectedIntents, executionMemoryMb, mcp) => {
      const row = allRows.find(({ name }) => name === 'mcp') as Endpoint;
      expect(row.memoryMb).toBe(512);
      expect(indexSize(parseSettings({ expectedIntents, executionMemoryMb }), executionMemoryMb).memoryMb).toBe(mcp);
    },
  );
});

interface Statement {
  Effect: string;
  Action: string | string[];
  Resource: unknown;
  Condition?: unknown;
}

describe('roles', () => {
  /** Every statement of every role, inline or in a separate policy. */
  const allStatements = (): [id: string, Statement[]][] =>
    [...Object.entries(local.resources('AWS::IAM::Role')), ...Object.entries(local.resources('AWS::IAM::Policy'))].map(
      ([id, { Properties }]) => [
        id,
        [...(Properties.Policies ?? []), ...(Properties.PolicyDocument ? [Properties] : [])].flatMap(
          ({ PolicyDocument }) => PolicyDocument.Statement,
        ),
      ],
    );

  test.each(allRows)('$name may do exactly what its row needs', ({ name, needs }) => {
    const isOwn = new RegExp(`^${logicalPrefix(name)}Role(DefaultPolicy)?[0-9A-F]{8}$`);
    const statements = allStatements().flatMap(([id, own]) => (isOwn.test(id) ? own : []));
    expect(statements.filter(({ Action }) => listed(Action)[0]?.startsWith('logs:'))).toEqual([
      {
        Effect: 'Allow',
        Action: ['logs:CreateLogStream', 'logs:PutLogEvents'],
        Resource: { 'Fn::GetAtt': [expect.stringMatching(new RegExp(`^${logicalPrefix(name)}Logs`)), 'Arn'] },
      },
    ]);
    const granted = statements.flatMap(({ Effect, Action, Condition }) => {
      const actions = listed(Action).filter((action) => !/^(logs|xray):/.test(action));
      return actions.length > 0 ? [[Effect, actions.sort(), Condition]] : [];
    });
    const needed = permissionsOf(needs).map(({ actions, partitions }) => [
      'Allow',
      [...actions].sort(),
      partitions && { 'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': partitions } },
    ]);
    // statements that differ only in their resources are one in the template
    const sorted = (list: unknown[][]) => [...new Set(list.map((entry) => JSON.stringify(entry)))].sort();
    expect(sorted(granted)).toEqual(sorted(needed));
  });

  test('no action has a wildcard, and only the documented resources have one', () => {
    const statements = allStatements().flatMap(([, own]) => own);
    expect(statements.flatMap(({ Action }) => listed(Action)).filter((action) => action.includes('*'))).toEqual([]);
    const wild = statements.filter(({ Resource }) => JSON.stringify(Resource).includes('*')).flatMap(({ Action }) => listed(Action));
    expect([...new Set(wild)].sort()).toEqual([
      'lambda:GetAccountSettings',
      'lambda:InvokeFunction',
      's3:DeleteObject',
      's3:GetObject',
      's3:PutObject',
      'secretsmanager:CreateSecret',
      'secretsmanager:DeleteSecret',
      'secretsmanager:GetSecretValue',
      'secretsmanager:PutSecretValue',
      'xray:PutTelemetryRecords',
      'xray:PutTraceSegments',
    ]);
  });

  test('PATs are signed with one key, only by the functions that issue them', () => {
    const isOfReceipts = ({ Resource }: Statement) => /"(Receipt|Log)Key/.test(JSON.stringify(Resource));
    const signing = allStatements().flatMap(([, own]) =>
      own.filter((statement) => listed(statement.Action).includes('kms:Sign') && !isOfReceipts(statement)),
    );
    const newest = { 'Fn::GetAtt': [expect.stringMatching(/^SigningKeyb/), 'Arn'] };
    expect(signing).toEqual(['issue-pat', 'issue-token'].map(() => ({ Effect: 'Allow', Action: 'kms:Sign', Resource: newest })));
  });
});

describe('the API', () => {
  test('the API has the methods of the endpoint table, each with its own function, and a response to every other method', () => {
    const methods = listMethods(little);
    const paths = (row: Endpoint) => pathsOf(row, { aliases: false, protocol: 'proto', signIn: false });
    const expected = deployed.flatMap((row) =>
      paths(row).flatMap((path) => [`${row.method} ${path}`, `ANY ${path}`, ...(row.method === 'GET' ? [`HEAD ${path}`] : [])]),
    );
    const bare = ['/{proxy+}', '/api', '/api/agents', '/api/executions', '/api/intents', '/api/pat', '/log', '/log/tile', '/.well-known'];
    expect([...methods.keys()].sort()).toEqual([...new Set([...expected, ...bare.map((path) => `ANY ${path}`)])].sort());
    for (const { method, path, name } of deployed.filter(hasFunction)) {
      const operation = methods.get(`${method} ${path}`);
      const { type, httpMethod, uri, credentials } = integrationOf(operation);
      expect([type, httpMethod]).toEqual(['aws_proxy', 'POST']);
      expect(flatten(uri)).toContain(`<${logicalPrefix(name)}Function`);
      expect(flatten(credentials)).toMatch(/^<ApiInvoker/);
      if (method === 'GET') expect(methods.get(`HEAD ${path}`)).toEqual(operation);
    }
  });

  test('the API serves constant responses without a function', () => {
    const methods = listMethods(everything);
    const answerTo = (method: string, path: string) => integrationOf(methods.get(`${method} ${path}`)).responses.default;
    const constants = endpointsWith({ signIn: true }).filter(({ constant }) => constant);
    expect(constants.map(({ name }) => name)).toEqual(['get-health', 'get-protected-resource', 'get-authorization-server']);
    for (const { method, path, constant } of constants) {
      const { statusCode, responseTemplates } = answerTo(method, path);
      expect([statusCode, JSON.parse(responseTemplates['application/json'])]).toEqual(['200', constant?.('https://api.example.com')]);
      expect(answerTo('HEAD', path).responseTemplates).toEqual({ 'application/json': '' });
    }
    const moved = answerTo('GET', '/.well-known/oauth-authorization-server');
    expect([moved.statusCode, moved.responseParameters['method.response.header.Location']]).toEqual([
      '308',
      "'https://api.example.com/.well-known/oauth-authorization-server/oauth'",
    ]);
  });

  test.each([
    ['standard', standard, '/production'],
    ['local', local, ''],
    ['everything', everything, 'https://api.example.com'],
  ])('the API redirects from the root: %s', (_, made, baseUrl) => {
    for (const method of ['GET', 'HEAD']) {
      const { statusCode, responseParameters, responseTemplates } = integrationOf(listMethods(made).get(`${method} /`)).responses.default;
      expect(statusCode).toBe('302');
      expect(responseParameters).toMatchObject({
        'method.response.header.Location': `'${baseUrl}/openapi.json'`,
        'method.response.header.Vary': "'Accept'",
      });
      expect(responseTemplates).toEqual({
        'application/json':
          '#if($input.params().header.get("accept").contains("text/html") || $input.params().header.get("Accept").contains("text/html"))' +
          `#set($context.responseOverride.header.Location = "${baseUrl}/console")#end`,
      });
    }
  });

  test.each([
    ['standard', standard, []],
    ['local', local, ['$context.domainName']],
  ] as const)('the API uses only what the local gateway fills in: %s', (_, made, more) => {
    const answers: GatewayAnswer[] = [
      ...[...listMethods(made).values()].flatMap((operation) => integrationOf(operation).responses?.default ?? []),
      ...Object.values(gatewayResponses(made)),
    ];
    expect(answers.length).toBeGreaterThan(50);
    const fixed = answers.filter(({ statusCode }) => statusCode !== '302');
    const variables = fixed.flatMap(({ responseTemplates }) => JSON.stringify(responseTemplates).match(/[$#][\w.!({]*/g) ?? []);
    expect([...new Set(variables)].sort()).toEqual([...more, '$context.requestId']);
    const expressions = answers.flatMap(({ responseParameters }) => Object.values(responseParameters));
    expect(expressions.filter((expression) => !/^('[^']*'|context\.requestId)$/.test(expression))).toEqual([]);
  });

  test('the API has one path variable name at each place, because AWS refuses to deploy a second one', () => {
    const places = deployed.flatMap(({ path }) =>
      [...path.matchAll(/\{\w+\+?\}/g)].map(({ index, 0: name }) => [path.slice(0, index), name]),
    );
    const variables = Map.groupBy(places, ([place]) => place);
    expect([...variables.values()].filter((found) => new Set(found.map(([, name]) => name)).size > 1)).toEqual([]);
  });

  test('the API answers 405 with Allow', () => {
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

  test("the API gives refusals of API Gateway the gate's error format", () => {
    const types = Object.values(ResponseType).flatMap((value) => (value instanceof ResponseType ? value.responseType : []));
    const answered = Object.entries(gatewayResponses(standard)).map(([type, answer]) => {
      const { code, details } = errorBody.parse(JSON.parse(answer.responseTemplates['application/json'] ?? '')).error;
      expect(details).toEqual({
        reference: `PROTO-${errorTable[code as keyof typeof errorTable].reference}`,
        request_id: '$context.requestId',
      });
      const header = (name: string) => answer.responseParameters[`gatewayresponse.header.${name}`];
      expect([header('X-Request-Id'), header('Cache-Control')]).toEqual(['context.requestId', "'no-store'"]);
      expect(header('Access-Control-Allow-Origin')).toBeUndefined();
      expect(header('WWW-Authenticate')).toBe(answer.statusCode === '401' ? `'Bearer realm="intent-gate"'` : undefined);
      if (/429|503/.test(answer.statusCode ?? '')) expect(header('Retry-After')).toMatch(/^'\d+'$/);
      return [type, `${answer.statusCode} ${code}`];
    });
    expect(answered.map(([type]) => type).sort()).toEqual(types.sort());
    expect(Object.fromEntries(answered)).toEqual({
      ACCESS_DENIED: '403 FORBIDDEN',
      API_CONFIGURATION_ERROR: '500 INTERNAL_SERVER_ERROR',
      AUTHORIZER_CONFIGURATION_ERROR: '500 INTERNAL_SERVER_ERROR',
      AUTHORIZER_FAILURE: '500 INTERNAL_SERVER_ERROR',
      BAD_REQUEST_BODY: '400 INVALID_PARAMETER',
      BAD_REQUEST_PARAMETERS: '400 INVALID_PARAMETER',
      DEFAULT_4XX: 'undefined INVALID_PARAMETER',
      DEFAULT_5XX: '500 INTERNAL_SERVER_ERROR',
      EXPIRED_TOKEN: '404 NOT_FOUND',
      INTEGRATION_FAILURE: '503 SERVICE_UNAVAILABLE',
      INTEGRATION_TIMEOUT: '504 GATEWAY_TIMEOUT',
      INVALID_API_KEY: '403 FORBIDDEN',
      INVALID_SIGNATURE: '404 NOT_FOUND',
      MISSING_AUTHENTICATION_TOKEN: '404 NOT_FOUND',
      QUOTA_EXCEEDED: '429 TOO_MANY_REQUESTS',
      REQUEST_TOO_LARGE: '413 INVALID_PARAMETER',
      RESOURCE_NOT_FOUND: '404 NOT_FOUND',
      THROTTLED: '429 TOO_MANY_REQUESTS',
      UNAUTHORIZED: '401 UNAUTHORIZED',
      UNSUPPORTED_MEDIA_TYPE: '415 UNSUPPORTED_MEDIA_TYPE',
      WAF_FILTERED: '429 TOO_MANY_REQUESTS',
    });
  });

  describe('at the address for hosts that sign people in', () => {
    const schemesOf = (synthesis: Synthesis) => definition(synthesis).components?.securitySchemes;

    test.each([
      ['everything', everything, 'https://api.example.com'],
      ['local', local, 'http://$context.domainName'],
    ])('/mcp/sign-in refuses requests without a token itself, with a challenge and a JSON-RPC error: %s', (_, made, address) => {
      const methods = listMethods(made);
      expect(methods.get('ANY /mcp/sign-in')).toEqual({ ...methods.get('POST /mcp'), security: [{ token: [] }] });
      expect(methods.get('POST /mcp/sign-in')).toEqual(methods.get('ANY /mcp/sign-in'));
      expect(integrationOf(methods.get('OPTIONS /mcp/sign-in')).type).toBe('mock');
      const secured = [...methods].flatMap(([name, { security }]) => (security ? [name] : []));
      expect(secured.sort()).toEqual(['ANY /mcp/sign-in', 'POST /mcp/sign-in']);
      const { 'x-amazon-apigateway-authorizer': authorizer, ...scheme } = schemesOf(made).token;
      expect(scheme).toEqual({ type: 'apiKey', name: 'Authorization', in: 'header', 'x-amazon-apigateway-authtype': 'custom' });
      // only with a cache does API Gateway refuse a request without an identity source before it invokes the authorizer
      expect(authorizer).toMatchObject({
        type: 'request',
        identitySource: 'method.request.header.Authorization',
        authorizerResultTtlInSeconds: 3_600,
      });
      expect(flatten(authorizer.authorizerUri)).toMatch(/\/functions\/<admittokenFunction\w+\.Arn>\/invocations$/);
      expect(flatten(authorizer.authorizerCredentials)).toMatch(/^<ApiInvoker/);
      const { statusCode, responseParameters, responseTemplates } = gatewayResponses(made).UNAUTHORIZED as GatewayAnswer;
      expect([statusCode, responseParameters['gatewayresponse.header.WWW-Authenticate']]).toEqual([
        '401',
        `'Bearer realm="intent-gate", resource_metadata="${address}/.well-known/oauth-protected-resource/mcp/sign-in"'`,
      ]);
      expect(JSON.parse(responseTemplates['application/json'] ?? '')).toEqual({
        jsonrpc: '2.0',
        error: {
          code: -32041,
          message: expect.stringContaining('This address needs a sign-in.'),
          data: { error: { code: 'UNAUTHORIZED', message: expect.any(String), details: { request_id: '$context.requestId' } } },
        },
      });
    });

    test('/mcp/sign-in lets API Gateway invoke the authorizer', () => {
      const invoker = JSON.stringify(named('IAM::Role', 'ApiInvoker', everything)?.Properties);
      expect(invoker).toContain('"admittokenFunction');
      expect(functionOf('admit-token', everything)).toMatchObject({ MemorySize: 128 });
    });

    test('/mcp/sign-in has neither path nor authorizer without the setting', () => {
      expect([...listMethods(standard).keys()].filter((name) => name.endsWith('/sign-in'))).toEqual([]);
      expect(schemesOf(standard)).toBeUndefined();
      expect(named('Lambda::Function', 'admittokenFunction')).toBeUndefined();
    });
  });

  test('the API logs neither headers nor bodies, and compresses what is larger than a kilobyte', () => {
    const { AccessLogSetting, MethodSettings } = standard.only('AWS::ApiGateway::Stage').Properties;
    const format: string = AccessLogSetting.Format;
    // metric filters compare numbers
    expect(format).toContain('"status":$context.status,');
    const line = JSON.parse(format.replaceAll(/:(\$context[.\w]+)/g, ':"$1"'));
    for (const variable of Object.values(line).slice(1)) expect(variable).not.toMatch(/header|body|querystring|authorizer|context\.path/i);
    for (const setting of MethodSettings) expect(setting).toMatchObject({ LoggingLevel: 'OFF', DataTraceEnabled: false });
    expect(standard.only('AWS::ApiGateway::RestApi').Properties.MinimumCompressionSize).toBe(1_024);
  });

  test("the API also has the paths of the protocol's guides, each with the function of its endpoint", () => {
    const methods = listMethods(everything);
    const aliases = {
      'GET /uim-policy.json': 'GET /api/policy',
      'GET /uim/intents/search': 'GET /api/intents/search',
      'HEAD /uim-policy.json': 'HEAD /api/policy',
      'POST /pat/issue': 'POST /api/pat/issue',
      'POST /uim/execute': 'POST /api/intents/execute',
    };
    for (const [alias, name] of Object.entries(aliases)) expect(methods.get(alias)).toEqual(methods.get(name));
    for (const path of ['/pat', '/uim', '/uim/intents']) expect(methods.has(`ANY ${path}`)).toBe(true);
    expect(environmentOf('issue-pat', everything).PROTOCOL).toBe('uim');
    const { UNAUTHORIZED: _, ...responses } = gatewayResponses(everything);
    for (const { responseTemplates } of Object.values(responses))
      expect(responseTemplates['application/json']).toMatch(/"reference":"UIM-/);
  });

  test.each(['api', 'pat', 'docs', 'mcp'])('the API has every path once if the protocol is called %s', (protocol) => {
    const all = deployed.flatMap((row) => pathsOf(row, { aliases: true, protocol, signIn: true }).map((path) => `${row.method} ${path}`));
    expect(all.filter((path, at) => all.indexOf(path) !== at)).toEqual([]);
  });

  test('the API throttles each method, documents to a few requests a second, others as configured', () => {
    const settings: { ResourcePath: string; HttpMethod: string; ThrottlingRateLimit: number; ThrottlingBurstLimit: number }[] =
      everything.only('AWS::ApiGateway::Stage').Properties.MethodSettings;
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
    const limits = new Map(rates.map(([name, limit]) => [String(name), limit]));
    const reads = [...limits].filter(([name]) => name.startsWith('GET '));
    expect(reads.map(([name]) => limits.get(name.replace('GET', 'HEAD')))).toEqual(reads.map(([, limit]) => limit));
  });

  test('the API admits pages of other origins if configured', () => {
    const preflight = integrationOf(listMethods(everything).get('OPTIONS /api/pat/issue')).responses.default;
    expect(preflight.responseTemplates['application/json']).toContain(
      '#if($origin == "https://a.example" || $origin == "https://b.example")',
    );
    expect(preflight.responseParameters).toMatchObject({
      'method.response.header.Access-Control-Allow-Origin': "'https://a.example'",
      'method.response.header.Access-Control-Allow-Methods': "'POST'",
      'method.response.header.Access-Control-Allow-Headers':
        "'Authorization,Content-Type,If-None-Match,Idempotency-Key,Prefer,If-Match,DPoP,traceparent,tracestate,Import-Id,MCP-Protocol-Version,Mcp-Method,Mcp-Name,Mcp-Session-Id'",
    });
    for (const { responseParameters } of Object.values(gatewayResponses(everything)))
      expect(responseParameters['gatewayresponse.header.Access-Control-Allow-Origin']).toBe("'*'");
  });

  test('the API stays reachable under its own address without a domain name', () => {
    expect(standard.only('AWS::ApiGateway::RestApi').Properties.DisableExecuteApiEndpoint).toBeUndefined();
    expect(definition(standard)).not.toHaveProperty('servers');
  });

  test.each([
    ['standard', standard, 'IntentGate'],
    ['little', little, 'IntentGate-test'],
  ])('the API has the name of its gate, so that its metrics are its own: %s', (_, made, name) => {
    const { Name, Body } = made.only('AWS::ApiGateway::RestApi').Properties;
    expect([Name, Body.info.title]).toEqual([name, name]);
    const body = flatten(made.only('AWS::CloudWatch::Dashboard').Properties.DashboardBody);
    expect([...new Set(body.match(/"ApiName","[^"]*"/g))]).toEqual([`"ApiName","${name}"`]);
    expect(body).not.toContain('Intent Gate (');
    for (const { Dimensions = [] } of all('CloudWatch::Alarm', made))
      expect(Dimensions.filter(({ Name, Value }: Record<string, string>) => Name === 'ApiName' && Value !== name)).toEqual([]);
  });

  test('the API lets API Gateway assume the role that runs functions, which names no account when it does', () => {
    const { AssumeRolePolicyDocument } = named('IAM::Role', 'ApiInvoker')?.Properties ?? {};
    expect(AssumeRolePolicyDocument.Statement).toEqual([
      { Effect: 'Allow', Action: 'sts:AssumeRole', Principal: { Service: 'apigateway.amazonaws.com' } },
    ]);
  });

  test('the API has a firewall if configured', () => {
    expect(all('WAFv2::WebACL')).toEqual([]);
    const limits = everything
      .only('AWS::WAFv2::WebACL')
      .Properties.Rules.map(
        ({ Statement: { RateBasedStatement: limit } }: { Statement: { RateBasedStatement: Record<string, unknown> } }) => [
          limit.AggregateKeyType,
          limit.Limit,
          (limit.ScopeDownStatement as { ByteMatchStatement: { SearchString: string } } | undefined)?.ByteMatchStatement.SearchString,
        ],
      );
    expect(limits).toEqual([
      ['IP', 100, '/pat/issue'],
      ['IP', 100, '/intents/search'],
      ['IP', 100, '/mcp'],
      ['IP', 1_000, undefined],
    ]);
    expect(flatten(everything.only('AWS::WAFv2::WebACLAssociation').Properties.ResourceArn)).toContain(
      '/stages/<ApiRestDeploymentStagelive',
    );
  });

  test('the API has a domain name if configured, and is reachable only under it', () => {
    expect(everything.only('AWS::ApiGateway::DomainName').Properties).toMatchObject({
      DomainName: 'api.example.com',
      SecurityPolicy: 'TLS_1_2',
    });
    expect(everything.only('AWS::ApiGateway::RestApi').Properties.DisableExecuteApiEndpoint).toBe(true);
    expect(definition(everything).servers).toEqual([
      { url: 'https://api.example.com', 'x-amazon-apigateway-endpoint-configuration': { disableExecuteApiEndpoint: true } },
    ]);
    // regional APIs have no IPv6 addresses unless that is configured
    expect(all('Route53::RecordSet', everything).map(({ Type }) => Type)).toEqual(['A']);
    expect(everything.template.Outputs.ApiUrl?.Value).toBe('https://api.example.com');
    expect(environmentOf('get-policy', everything).BASE_URL).toBe('https://api.example.com');
  });
});

describe('data', () => {
  test('both tables can be restored, and are protected in production', () => {
    const tables = all('DynamoDB::GlobalTable');
    expect(tables).toHaveLength(2);
    for (const table of tables) {
      expect(table).toMatchObject({
        BillingMode: 'PAY_PER_REQUEST',
        // AWS-owned keys: no requests to KMS, which would be billed and count against the account's quota
        SSESpecification: { SSEEnabled: false },
        TimeToLiveSpecification: { AttributeName: 'expires_at', Enabled: true },
        KeySchema: [
          { AttributeName: 'pk', KeyType: 'HASH' },
          { AttributeName: 'sk', KeyType: 'RANGE' },
        ],
        Replicas: [{ DeletionProtectionEnabled: true, PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true } }],
      });
      expect(table.GlobalSecondaryIndexes).toBeUndefined();
      expect(table.Replicas[0].SSESpecification).toBeUndefined();
    }
    expect(keyOf('SigningKey')).toMatchObject({ MultiRegion: true });
    expect(named('KMS::Key', 'CallKey')?.DeletionPolicy).toBe('Delete');
  });

  test.each(['AWS::DynamoDB::GlobalTable', 'AWS::KMS::Key', 'AWS::Cognito::UserPool', 'AWS::S3::Bucket'])(
    '%s is kept in production and deleted elsewhere',
    (type) => {
      const policies = ({ resources }: Synthesis) =>
        new Set(Object.entries(resources(type)).flatMap(([id, { DeletionPolicy }]) => (/^(Call|Grant)Key/.test(id) ? [] : DeletionPolicy)));
      expect([policies(standard), policies(little)]).toEqual([new Set(['RetainExceptOnCreate']), new Set(['Delete'])]);
    },
  );

  test('the guide to removing a stack names whatever stays', () => {
    const [, rows = ''] = /^\| what stays \|.*\n.*\n((?:\|.*\n)+)/m.exec(readFileSync('docs/operations.md', 'utf8')) ?? [];
    const kept = Object.entries(everything.template.Resources).filter(([, { DeletionPolicy }]) => /^Retain/.test(DeletionPolicy ?? ''));
    const names: [id: RegExp, name: string][] = [
      [/^(Registry|Activity)/, 'tables *Registry* and *Activity*'],
      [/^SigningKey/, 'signing keys'],
      [/^ReceiptKey/, 'receipt key'],
      [/^LogKey/, 'log key'],
      [/^DataKey/, 'key of `customerManagedKey`'],
      [/^ReceiptLog/, 'bucket *ReceiptLog*'],
      [/^Snapshots/, 'bucket *Snapshots*'],
      [/^Admins/, 'user pool'],
      [/^ApiRest(CloudWatchRole|Account)/, 'role that `manageApiLogRole` made'],
    ];
    const missing = kept
      .map(([id]) => [id, names.find(([pattern]) => pattern.test(id))?.[1]] as const)
      .filter(([, name]) => !name || !rows.includes(name));
    expect(kept.length).toBeGreaterThan(8);
    expect(missing).toEqual([]);
  });

  test('a failed creation leaves nothing behind, because nothing is protected before it has succeeded', () => {
    const first = synthesize({ unprotected: true });
    expect(Object.values(first.template.Resources).filter(({ DeletionPolicy }) => DeletionPolicy === 'Retain')).toEqual([]);
    const protection = (made: Synthesis) => [
      ...all('DynamoDB::GlobalTable', made).map(({ Replicas }) => Replicas[0].DeletionProtectionEnabled),
      made.only('AWS::Cognito::UserPool').Properties.DeletionProtection,
      made.stack.terminationProtection,
    ];
    expect(protection(first)).toEqual([false, false, 'INACTIVE', false]);
    expect(protection(standard)).toEqual([true, true, 'ACTIVE', true]);
    // a bucket to which something has been written could not be deleted
    for (const { DependsOn } of Object.values(standard.resources('AWS::Events::Rule')))
      expect(DependsOn).toEqual(expect.arrayContaining([expect.stringMatching(/^ApiRestDeploymentStagelive/)]));
  });

  test('the snapshot bucket is private, versioned and empties itself', () => {
    expect(named('S3::Bucket', 'Snapshots')?.Properties).toMatchObject({
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

  test('customerManagedKey encrypts tables, buckets and every log with a key of the stack', () => {
    const arn = { 'Fn::GetAtt': [expect.stringMatching(/^DataKey/), 'Arn'] };
    for (const { SSESpecification, Replicas } of all('DynamoDB::GlobalTable', everything)) {
      expect(SSESpecification).toEqual({ SSEEnabled: true, SSEType: 'KMS' });
      expect(Replicas[0].SSESpecification).toEqual({ KMSMasterKeyId: arn });
    }
    for (const { BucketEncryption } of all('S3::Bucket', everything)) {
      const [rule] = BucketEncryption.ServerSideEncryptionConfiguration;
      expect(rule.ServerSideEncryptionByDefault).toEqual({ KMSMasterKeyID: arn, SSEAlgorithm: 'aws:kms' });
    }
    for (const { KmsKeyId } of all('Logs::LogGroup', everything)) expect(KmsKeyId).toEqual(arn);
    const { EnableKeyRotation, KeyPolicy } = keyOf('DataKey', everything);
    expect([EnableKeyRotation, named('KMS::Key', 'DataKey', everything)?.DeletionPolicy]).toEqual([true, 'RetainExceptOnCreate']);
    // the key can be used only through DynamoDB, S3 or the logs of this account
    const [, ...others] = KeyPolicy.Statement;
    expect(others.map(({ Condition }: { Condition: object }) => Object.keys(Condition))).toEqual([['StringEquals'], ['ArnLike']]);
  });

  test('keys sign on P-256, the first name first', () => {
    const ids = Object.keys(everything.resources('AWS::KMS::Key')).filter((id) => id.startsWith('SigningKey'));
    expect(ids).toEqual([/^SigningKeyb/, /^SigningKeya/].map((id) => expect.stringMatching(id)));
    for (const id of ids) expect(keyOf(id, everything)).toMatchObject({ KeySpec: 'ECC_NIST_P256', KeyUsage: 'SIGN_VERIFY' });
    expect(flatten(environmentOf('get-jwks', everything).SIGNING_KEY_IDS)).toBe(`<${ids[0]}.Arn>,<${ids[1]}.Arn>`);
  });

  /** The statement for the account in a key's policy, and the roles in its other statements with their actions. */
  const usersOf = (key: Resource['Properties']) => {
    const [account, ...users] = key.KeyPolicy.Statement;
    const roles = users.flatMap(({ Effect, Action, Principal }: Record<string, { AWS: unknown }>) =>
      listed(Principal?.AWS).map((role) => `${Effect} ${Action} ${flatten(role).replace(/Role\w+\.Arn>$/, '')}`),
    );
    return { account, roles: roles.sort() };
  };

  test('only endpoints that issue PATs may sign with a signing key', () => {
    const { account, roles } = usersOf(keyOf('SigningKey'));
    expect(roles).toEqual(['Allow kms:Sign <issuepat']);
    expect(flatten(account.Principal.AWS)).toMatch(/:root$/);
    expect(account.Action).not.toContain('kms:Sign');
    expect(account.Action).toEqual(expect.arrayContaining(['kms:ReplicateKey', 'kms:UpdatePrimaryRegion']));
    expect(account.Action.filter((action: string) => action.includes('*'))).toEqual([]);
    expect(usersOf(keyOf('SigningKey', everything)).roles).toEqual(['Allow kms:Sign <issuepat', 'Allow kms:Sign <issuetoken']);
  });

  test('only functions that sign calls may use the call key, and a new name replaces it', () => {
    const key = keyOf('CallKey');
    expect(key).toMatchObject({ KeySpec: 'HMAC_256', KeyUsage: 'GENERATE_VERIFY_MAC' });
    const { account, roles } = usersOf(key);
    expect(account.Action).not.toContain('kms:GenerateMac');
    const users = ['executeintent', 'getsignaturedirectory', 'mcp', 'rundeferredcall'];
    expect(roles).toEqual(users.map((name) => `Allow kms:GenerateMac <${name}`));
    expect(Object.keys(everything.resources('AWS::KMS::Key')).filter((name) => name.startsWith('CallKey'))).toEqual([
      expect.stringMatching(/^CallKeysecond/),
    ]);
  });

  test('only functions that use, keep or end grants may use the key that seals tokens', () => {
    const key = keyOf('GrantKey', everything);
    expect(key).toMatchObject({ KeySpec: 'HMAC_256', KeyUsage: 'GENERATE_VERIFY_MAC' });
    const users = ['endconnection', 'executeintent', 'finishconnection', 'mcp', 'rundeferredcall'];
    expect(usersOf(key).roles).toEqual(users.map((name) => `Allow kms:GenerateMac <${name}`));
  });
});

describe('admins', () => {
  const clients = all('Cognito::UserPoolClient', everything);
  const clientAt = (address: string) => {
    const found = Object.entries(everything.resources('AWS::Cognito::UserPoolClient')).find(
      ([, { Properties }]) => Properties.CallbackURLs?.[0] === address,
    );
    return { id: found?.[0], client: found?.[1].Properties ?? {} };
  };

  test('nobody can sign up, or write an attribute that grants rights', () => {
    expect(standard.only('AWS::Cognito::UserPool').Properties).toMatchObject({
      AdminCreateUserConfig: { AllowAdminCreateUserOnly: true },
      DeletionProtection: 'ACTIVE',
      Policies: { PasswordPolicy: { MinimumLength: 12 } },
    });
    for (const { WriteAttributes } of clients) expect(WriteAttributes).toEqual(['name']);
    expect(standard.only('AWS::Cognito::UserPoolGroup').Properties.GroupName).toBe('admins');
  });

  test('machine clients, if configured, get exactly one scope, that of their namespace if they have one', () => {
    const names = everything
      .only('AWS::Cognito::UserPoolResourceServer')
      .Properties.Scopes.map(({ ScopeName }: { ScopeName: string }) => ScopeName);
    expect(names).toEqual(['admin', 'admin:pay.example', 'admin:pay']);
    // names that Cognito accepts for scopes
    for (const name of names) expect(name).toMatch(/^[\x21\x23-\x2e\x30-\x5b\x5d-\x7e]+$/);
    const machines = clients.filter(({ GenerateSecret }) => GenerateSecret);
    expect(machines.map(({ AllowedOAuthFlows, AllowedOAuthScopes }) => [AllowedOAuthFlows, AllowedOAuthScopes.map(flatten)])).toEqual(
      names.map((name: string) => [
        ['client_credentials'],
        [expect.stringMatching(new RegExp(`^<AdminsPoolResourceServer\\w+>/${name}$`))],
      ]),
    );
    for (const { ExplicitAuthFlows } of machines) expect(ExplicitAuthFlows).toEqual(['ALLOW_REFRESH_TOKEN_AUTH']);
    expect(environmentOf('create-service').ADMIN_SCOPE).toBe('intent-gate/admin');
    for (const type of ['ResourceServer', 'Domain']) expect(all(`Cognito::UserPool${type}`)).toEqual([]);
    expect(standard.only('AWS::Cognito::UserPoolClient').Properties.GenerateSecret).toBeUndefined();
  });

  test('people authorise programs through a public client of the user pool, whose tokens are not admin tokens', () => {
    const { id, client } = clientAt('https://api.example.com/oauth/signed-in');
    expect(client).toMatchObject({ AllowedOAuthFlows: ['code'], AllowedOAuthScopes: ['openid'] });
    expect(client.GenerateSecret).toBeUndefined();
    const variables = environmentOf('authorize', everything);
    expect(flatten(variables.SIGN_IN_CLIENT_ID)).toBe(`<${id}>`);
    expect(flatten(variables.SIGN_IN_DOMAIN)).toMatch(/^https:\/\/<AdminsPoolDomain\w+>\.auth\.<AWS::Region>\.amazoncognito\.com$/);
    expect(variables).not.toHaveProperty('SIGNING_KEY_IDS');
    expect(flatten(environmentOf('mcp', everything).SIGN_IN_CLIENT_ID)).toBe(`<${id}>`);
    expect(flatten(environmentOf('create-service', everything).ADMIN_CLIENT_IDS)).not.toContain(`<${id}>`);
    expect([...listMethods(everything).keys()]).toEqual(
      expect.arrayContaining(['GET /oauth/authorize', 'POST /oauth/token', 'ANY /oauth']),
    );
  });

  test('admins sign in to the console, if configured, through an app client whose tokens are admin tokens', () => {
    const { id, client } = clientAt('https://api.example.com/console');
    expect(client).toMatchObject({ AllowedOAuthFlows: ['code'], AllowedOAuthScopes: ['openid'] });
    expect(client.GenerateSecret).toBeUndefined();
    const environments = all('Lambda::Function', everything).map(({ Environment }) => Environment.Variables);
    expect(environments.filter(({ CONSOLE_CLIENT_ID }) => CONSOLE_CLIENT_ID !== undefined)).toEqual([
      expect.objectContaining({ CONSOLE_CLIENT_ID: { Ref: id }, SIGN_IN_DOMAIN: expect.anything() }),
    ]);
    const admins = environments.filter(({ ADMIN_CLIENT_IDS }) => ADMIN_CLIENT_IDS !== undefined);
    expect(admins.length).toBeGreaterThan(10);
    expect(admins.filter(({ ADMIN_CLIENT_IDS }) => !JSON.stringify(ADMIN_CLIENT_IDS).includes(`"Ref":"${id}"`))).toEqual([]);
    expect(JSON.stringify(standard.template)).not.toContain('CONSOLE_CLIENT_ID');
  });
});

test('only the local stage may call loopback addresses', () => {
  expect(JSON.stringify(everything.template)).not.toMatch(/EGRESS_ALLOW_LOOPBACK|EGRESS_LOCAL_UPSTREAMS/);
  for (const name of ['execute-intent', 'create-intent', 'update-intent'])
    expect(environmentOf(name, local)).toMatchObject({ EGRESS_ALLOW_LOOPBACK: 'true', EGRESS_LOCAL_UPSTREAMS: 'api,192.168.1.7' });
});

describe('networks', () => {
  const placed = ['execute-intent', 'list-mcp-tools', 'mcp', 'run-deferred-call'];
  const [[group, { Properties }]] = Object.entries(everything.resources('AWS::EC2::SecurityGroup')) as [[string, Resource]];

  test('only functions that call intents run in the network, in a security group for the necessary outbound traffic', () => {
    for (const { name } of allRows) {
      const { VpcConfig } = functionOf(name, everything);
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
    for (const { name } of allRows) {
      const { EGRESS_PRIVATE_ORIGINS } = environmentOf(name, everything);
      expect([name, EGRESS_PRIVATE_ORIGINS]).toEqual([name, knowing.includes(name) ? privateOrigins.join(',') : undefined]);
    }
  });

  const given = { ...vpc, securityGroupIds: ['sg-0123456789abcdef0', 'sg-0123456789abcdef1'] };
  const cases: [title: string, made: Synthesis][] = [
    ['with a security group of the stack', synthesize({ vpc })],
    ['with given security groups', synthesize({ vpc: given })],
    ['with given security groups and subnets alone', synthesize({ vpc: { ...given, vpcId: undefined } })],
    ['with every setting', everything],
  ];
  const policyOf = ({ resources }: Synthesis) =>
    Object.entries(resources('AWS::IAM::Policy')).find(([id]) => id.startsWith('Network')) ?? [];

  test.each(cases)('Lambda may manage network interfaces, and the code of the functions may do nothing in EC2: %s', (_, made) => {
    const [, policy] = policyOf(made);
    expect(policy?.Properties.Roles).toEqual(
      expect.arrayContaining(placed.map((name) => ({ Ref: functionOf(name, made).Role['Fn::GetAtt'][0] }))),
    );
    expect(policy?.Properties.Roles).toHaveLength(placed.length);
    // Lambda checks the permissions before there are interfaces, so they cannot name any.
    expect(policy?.Properties.PolicyDocument.Statement).toEqual([
      {
        Effect: 'Allow',
        Action: [
          'ec2:AssignPrivateIpAddresses',
          'ec2:CreateNetworkInterface',
          'ec2:DeleteNetworkInterface',
          'ec2:DescribeNetworkInterfaces',
          'ec2:DescribeSubnets',
          'ec2:UnassignPrivateIpAddresses',
        ],
        Resource: '*',
      },
      { Effect: 'Deny', Action: 'ec2:*', Resource: '*', Condition: { Null: { 'lambda:SourceFunctionArn': 'false' } } },
    ]);
    const others = [...all('IAM::Role', made), ...all('IAM::Policy', made)].filter((properties) => properties !== policy?.Properties);
    expect(JSON.stringify(others)).not.toContain('"ec2:');
  });

  test.each(cases.slice(0, 3))('an existing stack can enter and leave a network: %s', (_, made) => {
    const [permissions, policy] = policyOf(made);
    // Entering: the roles stay as they are, then come the permissions, then the group, then the functions.
    expect(made.resources('AWS::IAM::Role')).toEqual(standard.resources('AWS::IAM::Role'));
    expect(policy?.DependsOn ?? []).toEqual([]);
    for (const { DependsOn } of Object.values(made.resources('AWS::EC2::SecurityGroup'))) expect(DependsOn).toEqual([permissions]);
    const functions = made.resources('AWS::Lambda::Function');
    for (const [id, standing] of Object.entries(standard.resources('AWS::Lambda::Function'))) {
      const { VpcConfig, ...same } = functions[id]?.Properties ?? {};
      expect([id, same]).toEqual([id, standing.Properties]);
      expect([id, functions[id]?.DependsOn?.includes(String(permissions)) ?? false]).toEqual([id, VpcConfig !== undefined]);
    }
    // Leaving: the group and the permissions are deleted after the functions have changed, and nothing else is.
    const added = Object.keys(made.template.Resources).filter((id) => !(id in standard.template.Resources));
    expect(added).toEqual([permissions, ...Object.keys(made.resources('AWS::EC2::SecurityGroup'))]);
    for (const id of added) expect(made.template.Resources[id]?.DeletionPolicy).toBeUndefined();
  });

  test('given security groups are used instead of one of the stack', () => {
    const [, [, made]] = cases as [unknown, [string, Synthesis]];
    expect(all('EC2::SecurityGroup', made)).toEqual([]);
    for (const name of placed)
      expect(functionOf(name, made).VpcConfig).toEqual({ SubnetIds: vpc.subnetIds, SecurityGroupIds: given.securityGroupIds });
  });
});

test('the tags of the settings are those of the stack', () => {
  expect(everything.stack.tags.tagValues()).toEqual({ team: 'gate' });
});

test('a deployment begins with the guard of the signing keys, before every other function and all data', () => {
  const { only, resources } = everything;
  expect(only('Custom::SigningKeyGuard').Properties).toEqual({
    ServiceToken: { 'Fn::GetAtt': [expect.stringMatching(/^guardsigningkeysFunction/), 'Arn'] },
    ServiceTimeout: '120',
    SigningKeys: ['b', 'a'],
    VoidPats: 'false',
    ManageApiLogRole: 'true',
  });
  const waiting = Object.values(resources('AWS::Lambda::Function')).filter(({ DependsOn = [] }) => DependsOn.includes('SigningKeyGuard'));
  expect(waiting).toHaveLength(allRows.length - 1);
  for (const type of ['DynamoDB::GlobalTable', 'KMS::Key', 'Cognito::UserPool', 'Cognito::UserPoolDomain']) {
    for (const [id, { DependsOn }] of Object.entries(resources(`AWS::${type}`))) {
      if (!id.startsWith('DataKey')) expect([id, DependsOn]).toEqual([id, expect.arrayContaining(['SigningKeyGuard'])]);
    }
  }
});

test.each([
  ['none', {}, '0'],
  ['one function', { reservedConcurrency: { mcp: 100 } }, '100'],
  ['more of it', { reservedConcurrency: { mcp: 900 } }, '900'],
  ['several functions', { reservedConcurrency: { mcp: 100, 'execute-intent': 300 } }, '400'],
])('the guard learns the reserved concurrency without running again when it changes: %s', (_, settings, total) => {
  const made = synthesize(settings);
  expect(made.only('Custom::SigningKeyGuard')).toEqual(standard.only('Custom::SigningKeyGuard'));
  expect(environmentOf('guard-signing-keys', made).RESERVED_CONCURRENCY).toBe(total);
});

test('resources with data or addresses keep their logical ids, because a new id would mean a new, empty resource', () => {
  const pinned = {
    'AWS::DynamoDB::GlobalTable': ['Registry4DB9CCA5', 'Activity04690B0A'],
    'AWS::KMS::Key': ['SigningKeyfirst375D5524', expect.stringMatching(/^CallKey/), 'GrantKey9003CDB3'],
    'AWS::KMS::Alias': ['SigningKeyfirstAlias6EE0BB09', expect.stringMatching(/^CallKey/), expect.stringMatching(/^GrantKey/)],
    'AWS::Cognito::UserPool': ['AdminsPool4381FD12'],
    'AWS::Cognito::UserPoolGroup': ['AdminsPoolAdminGroup157B0FA0'],
    'AWS::Cognito::UserPoolClient': ['AdminsPoolPeople275FCC4F'],
    'AWS::ApiGateway::RestApi': ['ApiRest4DEC74FE'],
    'AWS::ApiGateway::Stage': ['ApiRestDeploymentStagelive3BEBAE0C'],
    'AWS::CloudWatch::Dashboard': ['Dashboard9E4231ED'],
    'AWS::SNS::Topic': ['AlarmsTopic3A2DFEBA'],
    'AWS::S3::Bucket': ['SnapshotsD03D071C'],
  };
  for (const [type, ids] of Object.entries(pinned)) expect([type, Object.keys(standard.resources(type))]).toEqual([type, ids]);
  expect(Object.keys(standard.template.Resources)).toEqual(
    expect.arrayContaining(['executeintentFunction94253DE6', 'executeintentRole331D70B1']),
  );
});

const receiptIds = [
  ...['ReceiptKey306FE255', 'ReceiptKeyAlias3ECB4A45', 'LogKeyE83D0C1B', 'LogKeyAlias61EB334B', 'ReceiptLogD736B797'],
  ...['sequencereceiptsFunction3B5D5799', 'AlarmsReceiptAge93851BAC', 'AlarmsReceiptErrors76B4144A'],
];

test.each<{ what: string; synthesis: Synthesis; ids?: string[]; variable?: string }>([
  { what: 'none by default', synthesis: standard },
  { what: 'none by default, with a search collection', synthesis: withCollection },
  { what: 'all with receipts: keyed', synthesis: little, ids: receiptIds, variable: 'keyed' },
  { what: 'all with receipts: keyed, and every other setting', synthesis: everything, ids: receiptIds, variable: 'keyed' },
])('resources for receipts, whose logical ids never change: $what', ({ synthesis, ids = [], variable }) => {
  const isOfReceipts = (id: string) => /^(Receipt|Log)Key|^ReceiptLog[0-9A-F]+$|^sequencereceiptsFunction|^AlarmsReceipt/.test(id);
  expect(Object.keys(synthesis.template.Resources).filter(isOfReceipts).sort()).toEqual([...ids].sort());
  for (const name of ['execute-intent', 'mcp', 'run-deferred-call']) expect(environmentOf(name, synthesis).RECEIPTS).toBe(variable);
});

describe('the resources of a deleted stack', () => {
  test('the resources of a deleted stack are adopted instead of created, with new clients', () => {
    expect(named('KMS::Key', 'SigningKey', adopting)).toBeUndefined();
    for (const type of ['DynamoDB::GlobalTable', 'Cognito::UserPool', 'Cognito::UserPoolGroup']) expect(all(type, adopting)).toEqual([]);
    expect(all('Cognito::UserPoolClient', adopting).map(({ UserPoolId }) => UserPoolId)).toEqual([adopt.userPoolId]);
    expect(environmentOf('issue-pat', adopting)).toMatchObject({
      REGISTRY_TABLE: adopt.registryTable,
      ACTIVITY_TABLE: adopt.activityTable,
      SIGNING_KEY_IDS: adopt.signingKeys.first,
    });
    expect(environmentOf('create-service', adopting)).toMatchObject({ USER_POOL_ID: adopt.userPoolId });
    expect(adopting.template.Outputs).toMatchObject({
      RegistryTable: { Value: adopt.registryTable },
      ActivityTable: { Value: adopt.activityTable },
      UserPoolId: { Value: adopt.userPoolId },
    });
  });

  test('the resources of a deleted stack are used with the same permissions', () => {
    const texts = [...all('IAM::Policy', adopting), ...all('IAM::Role', adopting)].map((properties) => JSON.stringify(properties));
    expect(texts.some((text) => text.includes('"kms:Sign"') && text.includes(adopt.signingKeys.first))).toBe(true);
    for (const table of [adopt.registryTable, adopt.activityTable])
      expect(texts.some((text) => text.includes(`:table/${table}`))).toBe(true);
  });

  test('the resources of a deleted stack need the key policy in the output, which is that of a new key', () => {
    const { Statement } = JSON.parse(flatten(adopting.template.Outputs.SigningKeyPolicy?.Value));
    const created = keyOf('SigningKey').KeyPolicy.Statement;
    expect(Statement.map(({ Action }: { Action: unknown }) => Action)).toEqual(created.map(({ Action }: { Action: unknown }) => Action));
    expect(Statement[1].Principal.AWS).toMatch(/^<issuepatRole\w+\.Arn>$/);
  });
});

describe('the log of receipts of another stack', () => {
  test('the log of receipts of another stack is adopted instead of created', () => {
    for (const [type, ids] of [
      ['KMS::Key', /^(ReceiptKey|LogKey)/],
      ['KMS::Alias', /^(ReceiptKey|LogKey)/],
      ['S3::Bucket', /^ReceiptLog/],
      ['S3::BucketPolicy', /^ReceiptLog/],
    ] as const) {
      const idsIn = ({ resources }: Synthesis) => Object.keys(resources(`AWS::${type}`)).filter((id) => ids.test(id)).length;
      expect([type, idsIn(withReceipts) > 0, idsIn(adoptingReceipts)]).toEqual([type, true, 0]);
    }
    expect(environmentOf('sequence-receipts', adoptingReceipts)).toMatchObject({
      RECEIPT_KEY_ID: receiptLog.receiptKey,
      LOG_KEY_ID: receiptLog.logKey,
      LOG_BUCKET: receiptLog.receiptBucket,
    });
    expect(environmentOf('execute-intent', adoptingReceipts).RECEIPT_KEY_ID).toBe(receiptLog.receiptKey);
  });

  /** All statements of the functions' roles, with the parts of the log by their names. */
  const permissionsIn = (synthesis: Synthesis, parts: Record<string, string>) => {
    const describeArn = (arn: unknown) =>
      Object.entries(parts).reduce((text, [part, name]) => text.replace(part, name), arn === '*' ? '*' : flatten(arn));
    const roles = Object.entries(synthesis.resources('AWS::IAM::Role')).map(([id, { Properties }]) => ({
      id,
      documents: (Properties.Policies ?? []).map((policy: { PolicyDocument: object }) => policy.PolicyDocument),
    }));
    const policies = Object.entries(synthesis.resources('AWS::IAM::Policy')).map(([id, { Properties }]) => ({
      id,
      documents: [Properties.PolicyDocument],
    }));
    return [...roles, ...policies]
      .flatMap(({ id, documents }) =>
        documents.flatMap(({ Statement }: { Statement: Statement[] }) =>
          Statement.map(({ Effect, Action, Resource, Condition }) =>
            JSON.stringify([id, Effect, listed(Action).sort(), listed(Resource).map(describeArn).sort(), Condition]),
          ),
        ),
      )
      .sort();
  };

  test('the log of receipts of another stack is used with the permissions of a created one', () => {
    const created = permissionsIn(withReceipts, {
      '<ReceiptKey306FE255.Arn>': 'receipt key',
      '<LogKeyE83D0C1B.Arn>': 'log key',
      '<ReceiptLogD736B797.Arn>': 'log',
    });
    const adopted = permissionsIn(adoptingReceipts, {
      [receiptLog.receiptKey]: 'receipt key',
      [receiptLog.logKey]: 'log key',
      [`arn:<AWS::Partition>:s3:::${receiptLog.receiptBucket}`]: 'log',
    });
    expect(created.filter((text) => /"(receipt key|log key|log|log\/\*)"/.test(text)).length).toBeGreaterThan(5);
    expect(adopted).toEqual(created);
  });

  test.each([
    ['ReceiptKeyPolicy', 'ReceiptKey'],
    ['LogKeyPolicy', 'LogKey'],
  ])('the log of receipts of another stack needs the key policy in the output %s, which is that of a new key', (output, prefix) => {
    const { Statement } = JSON.parse(flatten(adoptingReceipts.template.Outputs[output]?.Value));
    const created = keyOf(prefix, withReceipts).KeyPolicy.Statement;
    const describe = ({ Action, Principal }: Statement & { Principal: { AWS: unknown } }) =>
      listed(Principal.AWS).map((role) => `${Action} ${typeof role === 'string' ? role : flatten(role)}`);
    expect(Statement.flatMap(describe).sort()).toEqual(created.flatMap(describe).sort());
    expect(Statement.length).toBeGreaterThan(1);
    expect(withReceipts.template.Outputs).not.toHaveProperty(output);
  });
});

describe('what outlives the stack', () => {
  const policiesOf = (type: string, settings: Record<string, unknown>) =>
    Object.entries(synthesize(settings).resources(`AWS::${type}`)).map(([id, { DeletionPolicy }]) => [
      id.replace(/[0-9A-F]{8}$/, ''),
      DeletionPolicy,
    ]);

  test('what outlives the stack includes the aliases of keys, so that KMS refuses a new key under the name of an old one', () => {
    expect(policiesOf('KMS::Alias', { receipts: 'keyed', signingKeys: '2027,first' })).toEqual([
      ['SigningKey2027Alias', 'RetainExceptOnCreate'],
      ['SigningKeyfirstAlias', 'RetainExceptOnCreate'],
      ['CallKeyfirstAlias', 'Delete'],
      ['GrantKeyAlias', 'Delete'],
      ['ReceiptKeyAlias', 'RetainExceptOnCreate'],
      ['LogKeyAlias', 'RetainExceptOnCreate'],
    ]);
  });

  test('what outlives the stack includes the policies of buckets, which refuse requests without TLS', () => {
    expect(policiesOf('S3::BucketPolicy', { receipts: 'keyed' })).toEqual([
      ['SnapshotsPolicy', 'RetainExceptOnCreate'],
      ['ReceiptLogPolicy', 'RetainExceptOnCreate'],
    ]);
  });

  test('what outlives the stack is nothing without retainData', () => {
    for (const type of ['KMS::Alias', 'S3::BucketPolicy']) {
      const policies = policiesOf(type, { receipts: 'keyed', retainData: false }).map(([, policy]) => policy);
      expect([...new Set(policies)]).toEqual(['Delete']);
    }
  });
});

describe('alarms', () => {
  /** The metric filters of a metric: value and pattern. */
  const valuesOf = (metric: string, synthesis?: Synthesis) =>
    all('Logs::MetricFilter', synthesis)
      .map(({ MetricTransformations: [transformation], FilterPattern }) => [transformation, FilterPattern])
      .filter(([{ MetricName }]) => MetricName === metric)
      .map(([{ MetricValue, DefaultValue }, pattern]) => [MetricValue, pattern, ...(DefaultValue === undefined ? [] : [DefaultValue])]);

  test('alarms notify a topic to which only alarms of this account may publish', () => {
    const topics = new Set(all('CloudWatch::Alarm').flatMap(({ AlarmActions, OKActions }) => [...AlarmActions, ...OKActions].map(flatten)));
    expect([...topics]).toEqual(['<AlarmsTopic3A2DFEBA>']);
    expect(standard.only('AWS::SNS::TopicPolicy').Properties.PolicyDocument.Statement).toContainEqual({
      Sid: expect.any(String),
      Effect: 'Allow',
      Action: 'sns:Publish',
      Principal: { Service: 'cloudwatch.amazonaws.com' },
      Resource: { Ref: 'AlarmsTopic3A2DFEBA' },
      Condition: { StringEquals: { 'aws:SourceAccount': { Ref: 'AWS::AccountId' } } },
    });
  });

  test('alarms count refusals from log lines that name the metric, so that no log needs a filter for them', () => {
    for (const { name } of functionRows) expect(environmentOf(name).METRIC_NAMESPACE).toBe('IntentGate');
    for (const made of [standard, everything, withCollection]) expect(valuesOf('Refusals', made)).toEqual([]);
    expect(environmentOf('execute-intent', local)).not.toHaveProperty('METRIC_NAMESPACE');
  });

  test('alarms count failures of the gate, not of upstreams, by no dimension that a caller chooses', () => {
    const dimensions = all('Logs::MetricFilter').flatMap(({ MetricTransformations }) => MetricTransformations[0].Dimensions ?? []);
    expect(dimensions).toEqual([]);
    expect(valuesOf('GatewayFailures')).toEqual([
      ['1', '{ ($.message = "access") && ($.status >= 500) && ($.refusal != "-") && ($.integration_status != "413") }'],
    ]);
    expect(valuesOf('IssueFailures', everything)).toEqual(
      Array.from({ length: 2 }, () => ['1', '{ ($.message = "answered") && ($.status >= 500) }']),
    );
    const counted = { Namespace: 'IntentGate', Threshold: 10, EvaluationPeriods: 2 };
    const ofCode = (Value: string) => ({ ...counted, MetricName: 'Refusals', Dimensions: [{ Name: 'code', Value }] });
    expect(alarmOf('ApiErrors')).toMatchObject(ofCode('INTERNAL_SERVER_ERROR'));
    expect(alarmOf('Unavailable')).toMatchObject(ofCode('SERVICE_UNAVAILABLE'));
    expect(alarmOf('GatewayErrors')).toMatchObject({ ...counted, MetricName: 'GatewayFailures' });
    for (const name of ['UsageErrors', 'DeferredErrors'])
      expect(alarmOf(name)).toMatchObject({ Namespace: 'AWS/Lambda', MetricName: 'Errors', Threshold: 2 });
  });

  test('alarms count the executions of each agent, and of each service if configured, from log lines', () => {
    const expected = {
      RuleState: 'ENABLED',
      Schema: { Name: 'CloudWatchLogRule', Version: 1 },
      LogGroupNames: ['executeintent', 'mcp', 'rundeferredcall'].map((name) => expect.stringContaining(name)),
      LogFormat: 'JSON',
      AggregateOn: 'Count',
    };
    const Filters = [
      { Match: '$.message', In: ['executed'] },
      { Match: '$.outcome', NotIn: ['FORBIDDEN'] },
    ];
    const rules = all('CloudWatch::InsightRule', everything).map(({ RuleBody, ...others }) => ({
      ...others,
      ...JSON.parse(flatten(RuleBody)),
    }));
    expect(rules).toEqual([
      { ...expected, RuleName: 'IntentGate-BusyAgent', Contribution: { Keys: ['$.agent_id'], Filters } },
      { ...expected, RuleName: 'IntentGate-BusyService', Contribution: { Keys: ['$.service_id'], Filters } },
    ]);
    const thresholds = (made: Synthesis) => ['BusyAgent', 'BusyService'].map((name) => alarmOf(name, made)?.Threshold);
    expect([everything, standard, little].map(thresholds)).toEqual([
      [20, 5_000],
      [300, undefined],
      [undefined, undefined],
    ]);
    expect(alarmOf('BusyAgent')).toMatchObject({
      Metrics: [{ Expression: `INSIGHT_RULE_METRIC('IntentGate-BusyAgent', MaxContributorValue)`, Period: 60, ReturnData: true }],
      ComparisonOperator: 'GreaterThanThreshold',
      EvaluationPeriods: 3,
      TreatMissingData: 'notBreaching',
    });
  });

  // Missing data moves an alarm to INSUFFICIENT_DATA, the state of a new alarm, so an alarm notifies only after a first run.
  const silence = { TreatMissingData: 'missing', InsufficientDataActions: [expect.anything()] };

  test('alarms do not fire during a first deployment, when there is no data yet, or because of a few slow searches', () => {
    for (const made of [standard, withCollection])
      expect(all('CloudWatch::Alarm', made).filter(({ TreatMissingData }) => TreatMissingData === 'breaching')).toEqual([]);
    expect(alarmOf('SlowSearch')).toMatchObject({ ExtendedStatistic: 'p99', EvaluateLowSampleCountPercentile: 'ignore' });
    expect(alarmOf('Unavailable')?.EvaluateLowSampleCountPercentile).toBeUndefined();
  });

  test('alarms fire if a scheduled function stops running', () => {
    expect(alarmOf('SnapshotAge')).toMatchObject({ ComparisonOperator: 'LessThanThreshold', Threshold: 1, Period: 10_800, ...silence });
    expect(valuesOf('SnapshotAgeRuns')).toEqual([['1', '{ $.message = "the snapshot of the search index is as new as it should be" }', 0]]);
  });

  test.each([
    ['ReceiptAge', 300, 'sequenced receipts'],
    ['UsageAge', 600, 'counted executions'],
  ])('alarms fire if work waits for too long or its function stops running: %s', (name, Threshold, message) => {
    const expected = { Namespace: 'IntentGate', MetricName: name, Statistic: 'Minimum', Period: 300, EvaluationPeriods: 1 };
    expect(alarmOf(name, withReceipts)).toMatchObject({ ...expected, ...silence, ComparisonOperator: 'GreaterThanThreshold', Threshold });
    expect(valuesOf(name, withReceipts)).toEqual([['$.oldest_seconds', `{ $.message = "${message}" }`]]);
  });

  test('alarms of a function exist only with it', () => {
    const without = synthesize({ receipts: 'off' });
    for (const name of ['ReceiptAge', 'ReceiptErrors']) expect([name, alarmOf(name, without)]).toEqual([name, undefined]);
    expect(valuesOf('ReceiptAge', without)).toEqual([]);
    expect(alarmOf('UsageAge', without)).toBeDefined();
    for (const name of ['FeedAge', 'FillAge']) expect([name, alarmOf(name)]).toEqual([name, undefined]);
    expect(alarmOf('SnapshotAge', withCollection)).toBeUndefined();
  });

  test('alarms add up the throttles of own functions only, at most ten, the limit of CloudWatch', () => {
    for (const made of [standard, everything]) {
      const { Metrics, MetricName } = alarmOf('Throttles', made) ?? {};
      expect(MetricName).toBeUndefined();
      const [{ Expression, ReturnData }, ...added] = Metrics;
      expect({ Expression, ReturnData }).toEqual({ Expression: 'SUM(FILL(METRICS(), 0))', ReturnData: true });
      expect(added.length).toBeLessThanOrEqual(10);
      expect(added).toEqual(
        ['search-intents', 'issue-pat', 'execute-intent', 'mcp', 'run-deferred-call'].map((name) => ({
          Id: expect.stringMatching(/^m\d$/),
          MetricStat: {
            Metric: {
              Namespace: 'AWS/Lambda',
              MetricName: 'Throttles',
              Dimensions: [{ Name: 'FunctionName', Value: { Ref: expect.stringMatching(new RegExp(`^${logicalPrefix(name)}Function`)) } }],
            },
            Period: 300,
            Stat: 'Sum',
          },
          ReturnData: false,
        })),
      );
    }
  });

  test('alarms fire if the feed of a search collection falls behind or is silent, or if its fill does not end', () => {
    expect(alarmOf('FeedAge', withCollection)).toMatchObject({
      MetricName: 'FeedAge',
      ComparisonOperator: 'GreaterThanThreshold',
      Threshold: 1_800,
      Period: 1_800,
      ...silence,
    });
    expect(alarmOf('FillAge', withCollection)).toMatchObject({ MetricName: 'FillAge', Threshold: 7_200, TreatMissingData: 'notBreaching' });
    expect(valuesOf('FeedAge', withCollection)).toEqual([
      ['$.behind_seconds', '{ $.message = "fed the search collection" }', 86_400],
      ['0', '{ $.message = "filled a part of the search collection" }'],
    ]);
    expect(valuesOf('FillAge', withCollection)).toEqual([['$.behind_seconds', '{ $.message = "filled a part of the search collection" }']]);
  });

  test('alarms fire before the reserved concurrency of a function is used up', () => {
    const reservedIn = (made: Synthesis) =>
      (['execute-intent', 'mcp', 'run-deferred-call', 'search-intents'] as const).map(
        (name) => functionOf(name, made).ReservedConcurrentExecutions,
      );
    expect([reservedIn(everything), reservedIn(standard)]).toEqual([
      [300, 100, 50, undefined],
      [undefined, undefined, undefined, undefined],
    ]);
    expect(environmentOf('mcp', everything).RESERVED_CONCURRENCY).toBe('100');
    const names = ['ExecuteConcurrency', 'McpConcurrency', 'DeferredConcurrency'];
    const thresholds = (made: Synthesis) => names.map((name) => alarmOf(name, made)?.Threshold);
    expect([thresholds(everything), thresholds(standard)]).toEqual([
      [240, 80, 40],
      [undefined, undefined, undefined],
    ]);
  });

  test('alarms have rows in the runbook', () => {
    const [, table = ''] = /^\| alarm \|.*\n(?:.*\n)((?:\|.*\n)+)/m.exec(readFileSync('docs/operations.md', 'utf8')) ?? [];
    const rows = [...table.matchAll(/^\| (.+?) \|/gm)].flatMap(([, cell = '']) => [...cell.matchAll(/`(\w+)`/g)].map(([, name]) => name));
    const alarms = [everything, withCollection].flatMap(({ resources }) => Object.entries(resources('AWS::CloudWatch::Alarm')));
    expect([...new Set(alarms.map(([id]) => id.replace(/^Alarms(\w+)[0-9A-F]{8}$/, '$1')))].sort()).toEqual(rows.sort());
    for (const [, { Properties }] of alarms) expect(Properties.AlarmDescription).toMatch(/ Runbook: docs\/operations\.md#runbook$/);
  });
});

test('the dashboard queries every log group, at most 50 at a time, the limit of CloudWatch', () => {
  const { widgets } = JSON.parse(flatten(standard.only('AWS::CloudWatch::Dashboard').Properties.DashboardBody));
  const queries: string[] = widgets.flatMap(({ properties }: { properties: { query?: string } }) => properties.query ?? []);
  const groups = queries.map((query) => query.match(/<\w+Logs\w+>/g) ?? []);
  expect(Math.max(...groups.map(({ length }) => length))).toBeLessThanOrEqual(50);
  for (const line of ['"answered" and code', 'level = ', 'platform.report'])
    expect(groups.filter((_, at) => queries[at]?.includes(line)).flat()).toHaveLength(functionRows.length);
});

describe('the setting gradualDeployment', () => {
  const gradual = { 'execute-intent': 'ExecuteRollout', 'issue-pat': 'IssueRollout' };
  const aliasIdOf = (name: string) =>
    Object.keys(everything.resources('AWS::Lambda::Alias')).find((id) => id.startsWith(logicalPrefix(name))) ?? '';

  test('the setting gradualDeployment publishes versions of two functions, which alarms roll back', () => {
    for (const type of ['Alias', 'Version']) expect(all(`Lambda::${type}`, everything)).toHaveLength(2);
    for (const [name, ownAlarm] of Object.entries(gradual)) {
      const alias = everything.resources('AWS::Lambda::Alias')[aliasIdOf(name)];
      const { DeploymentGroupName } = alias?.UpdatePolicy?.CodeDeployLambdaAliasUpdate ?? {};
      const group = everything.resources('AWS::CodeDeploy::DeploymentGroup')[DeploymentGroupName.Ref]?.Properties;
      expect(group).toMatchObject({
        DeploymentConfigName: 'CodeDeployDefault.LambdaCanary10Percent15Minutes',
        AutoRollbackConfiguration: { Enabled: true, Events: expect.arrayContaining(['DEPLOYMENT_STOP_ON_ALARM']) },
      });
      const alarms = [ownAlarm, 'ApiErrors', 'Unavailable', 'GatewayErrors', 'IssueFailures'];
      expect(group?.AlarmConfiguration.Alarms.map(({ Name }: { Name: unknown }) => flatten(Name))).toEqual(
        alarms.map((alarm) => expect.stringMatching(new RegExp(`^<Alarms${alarm}[0-9A-F]{8}>$`))),
      );
      // the alarm watches the new version before requests reach it
      expect(alias?.DependsOn).toContainEqual(expect.stringMatching(new RegExp(`^Alarms${ownAlarm}`)));
      const alarm = alarmOf(ownAlarm, everything);
      expect(alarm).toMatchObject({ MetricName: 'Errors', Threshold: 0, Period: 60, EvaluationPeriods: 1 });
      const version = new RegExp(`^<${logicalPrefix(name)}FunctionCurrentVersion\\w+\\.Version>$`);
      expect(alarm?.Dimensions).toContainEqual({ Name: 'ExecutedVersion', Value: expect.anything() });
      expect(alarm?.Dimensions.map(({ Value }: { Value: unknown }) => flatten(Value))).toContainEqual(expect.stringMatching(version));
    }
  });

  /** What the API and MCP of a deployment invoke, and what their roles allow, each as `<function>` or `<function>:alias`. */
  const callsOf = (made: Synthesis) => {
    const aliases = made.resources('AWS::Lambda::Alias');
    const nameOf = (arn: string) => {
      const alias = aliases[arn.slice(1, -1)];
      return alias ? `${flatten(alias.Properties.FunctionName).replace('>', '.Arn>')}:alias` : arn;
    };
    const role = named('IAM::Role', 'ApiInvoker', made)?.Properties.Policies[0].PolicyDocument.Statement;
    const ofMcp = named('IAM::Policy', 'mcpRole', made)?.Properties.PolicyDocument.Statement;
    const allowedBy = (statements: Statement[]) =>
      statements.flatMap(({ Action, Resource }) => (Action === 'lambda:InvokeFunction' ? listed(Resource).map(flatten) : []));
    const uris = [...listMethods(made).values()].flatMap((operation) => integrationOf(operation).uri ?? []);
    const issue = flatten(environmentOf('mcp', made).ISSUE_FUNCTION);
    return {
      api: {
        invokes: new Set(uris.map((uri) => nameOf(flatten(uri).replace(/^.*functions\/|\/invocations$/g, '')))),
        allowed: allowedBy(role),
      },
      mcp: { invokes: new Set([issue.endsWith('.Arn>') ? issue : nameOf(issue)]), allowed: allowedBy(ofMcp) },
    };
  };
  const off = standard;
  const on = synthesize({ gradualDeployment: true });
  const otherPolicy = synthesize({ gradualDeployment: true, policyFile: 'samples/policies/all-but-one.json' });
  const otherKeys = synthesize({ gradualDeployment: true, signingKeys: 'first,2027' });

  // CloudFormation changes roles first, while the old API still calls what it did, and the new one after that.
  test.each([
    ['when the setting is switched on', off, on],
    ['when the setting is switched off', on, off],
    ['when the policy changes', on, otherPolicy],
    ['when a key is added', on, otherKeys],
    ['when a key is removed', otherKeys, on],
    ['when both the policy changes and the setting is switched off', otherPolicy, off],
  ])('the API and MCP may invoke functions under their old and new names %s', (_, then, now) => {
    const names = (made: Synthesis) => Object.keys(made.resources('AWS::Lambda::Alias'));
    expect(names(then)).not.toEqual(names(now));
    for (const caller of ['api', 'mcp'] as const) {
      const { allowed } = callsOf(now)[caller];
      const patterns = new Set(allowed.map((arn) => arn.replace(/:\*$/, ':alias')));
      for (const made of [then, now]) {
        const invoked = [...callsOf(made)[caller].invokes].map((arn) =>
          caller === 'mcp' && !arn.includes('.') ? arn.replace('>', '.Arn>') : arn,
        );
        expect(invoked.filter((arn) => !patterns.has(arn))).toEqual([]);
      }
    }
  });

  test('the API and MCP may invoke aliases of these two functions only', () => {
    for (const [made, caller, names] of [
      [off, 'api', Object.keys(gradual)],
      [everything, 'api', Object.keys(gradual)],
      [everything, 'mcp', ['issue-pat']],
    ] as const) {
      const wild = callsOf(made)[caller].allowed.filter((arn) => arn.includes('*'));
      expect(wild.sort()).toEqual(
        names.map((name) => expect.stringMatching(new RegExp(`^<${logicalPrefix(name)}Function\\w+\\.Arn>:\\*$`))),
      );
    }
  });

  test('requests go to the aliases of the two functions, and to no version of the others', () => {
    const invoked = [...callsOf(everything).api.invokes].filter((arn) => arn.endsWith(':alias'));
    expect(invoked.sort()).toEqual(
      Object.keys(gradual).map((name) => expect.stringMatching(new RegExp(`^<${logicalPrefix(name)}Function`))),
    );
    expect(environmentOf('mcp', everything).ISSUE_FUNCTION).toEqual({ Ref: aliasIdOf('issue-pat') });
    expect(JSON.stringify(named('IAM::Role', 'mcpRole', everything))).not.toContain('lambda:InvokeFunction');
  });

  test('changes that invalidate PATs switch to another alias; other settings do not', () => {
    const nameWith = (settings: Record<string, unknown>, policy = '{}') => aliasNameOf(policy, parseSettings(settings));
    const usual = nameWith({});
    expect(nameWith({ patLifeSeconds: 600 })).toBe(usual);
    const others = [{ signingKeys: '2027' }, { publicBaseUrl: 'https://gate.example' }, { protocol: 'uim' }];
    expect(new Set([usual, nameWith({}, '[]'), ...others.map((settings) => nameWith(settings))]).size).toBe(2 + others.length);
  });
});

describe('the setting search: opensearch', () => {
  test('the setting search: opensearch deploys a collection that is fed every minute, and no snapshots', () => {
    expect(withCollection.only('AWS::OpenSearchServerless::Collection').Properties).toMatchObject({
      Type: 'SEARCH',
      StandbyReplicas: 'ENABLED',
    });
    expect(schedulesOf(withCollection)).toEqual(['countusage', 'feedsearchcollection'].map((name) => `${name} rate(1 minute) ENABLED`));
    expect(named('S3::Bucket', 'Snapshots', withCollection)).toBeUndefined();
    for (const name of ['search-intents', 'mcp', 'feed-search-collection']) {
      const variables = environmentOf(name, withCollection);
      expect(flatten(variables.SEARCH_COLLECTION)).toMatch(/^<SearchCollection\w+\.CollectionEndpoint>$/);
      expect(variables).not.toHaveProperty('SNAPSHOT_BUCKET');
    }
  });

  test('the setting search: opensearch lets search functions read, and the feeding function write', () => {
    const { Policy } = withCollection.only('AWS::OpenSearchServerless::AccessPolicy').Properties;
    const [readers, writers, ...others] = JSON.parse(flatten(Policy));
    expect(others).toEqual([]);
    expect(readers.Rules[0].Permission).toEqual(['aoss:DescribeIndex', 'aoss:ReadDocument']);
    expect(readers.Principal).toEqual(
      ['searchintents', 'mcp', 'getowndescription'].map((name) => expect.stringMatching(new RegExp(`^<${name}Role`))),
    );
    expect(writers.Rules[0].Permission).toContain('aoss:WriteDocument');
    expect(writers.Principal).toEqual([expect.stringMatching(/^<feedsearchcollectionRole/)]);
  });
});

test('gates have unique and stable names that AWS accepts', () => {
  const app = new App();
  const [orders, billing] = ['Orders', 'Billing'].map((name) => new Stack(app, name)) as [Stack, Stack];
  const names = [
    namesOf(orders, 'Gate'),
    namesOf(orders, 'Gate2'),
    namesOf(billing, 'Gate'),
    namesOf(new Construct(orders, 'Gate-A'), 'B'),
    namesOf(new Construct(orders, 'Gate'), 'A-B'),
    namesOf(new NestedStack(orders, 'Nested'), 'Gate'),
    namesOf(new NestedStack(billing, 'Nested'), 'Gate'),
    namesOf(new Stack(app, 'Another', { stackName: 'My-Aws-Cognito-Stack' }), 'Gate'),
  ];
  expect(new Set(names.map(({ name }) => name)).size).toBe(names.length);
  expect(new Set(names.map(({ slug }) => slug)).size).toBe(names.length);
  for (const { name, slug } of names)
    expect([name, slug]).toEqual([expect.stringMatching(/^[A-Za-z0-9-]{14,53}$/), expect.stringMatching(/^[0-9a-f]{12}$/)]);
  expect(names[0]?.name).toBe('Orders-Gate-136128643de0');
  expect(names.at(-1)?.name).toMatch(/^My-Aws-Cognito-Stack-Gate-/);
});
