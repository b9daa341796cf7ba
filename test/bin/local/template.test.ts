import { describe, expect, test } from '@jest/globals';
import { findResource, readApi } from '../../../bin/local/api-definition.ts';
import { readSchedules } from '../../../bin/local/schedules.ts';
import { readFunction, readTables, resolveText, type Template } from '../../../bin/local/template.ts';

const resource = (Type: string, Properties: Record<string, unknown>, Metadata: Record<string, unknown> = {}) => ({
  Type,
  Properties,
  Metadata,
});
const uri = (id: string) => ({
  'Fn::Join': [
    '',
    [
      'arn:',
      { Ref: 'AWS::Partition' },
      ':apigateway:',
      { Ref: 'AWS::Region' },
      ':lambda:path/2015-03-31/functions/',
      { 'Fn::GetAtt': [id, 'Arn'] },
      '/invocations',
    ],
  ],
});
const proxy = (functionId: string) => ({
  responses: {},
  'x-amazon-apigateway-integration': { type: 'aws_proxy', httpMethod: 'POST', uri: uri(functionId), credentials: 'arn:role' },
});

const template: Template = {
  Resources: {
    Rest: resource('AWS::ApiGateway::RestApi', {
      Body: {
        openapi: '3.0.1',
        paths: {
          '/items/{uid}': {
            get: proxy('ReadFunction'),
            'x-amazon-apigateway-any-method': {
              responses: { 405: { description: '', headers: { Allow: { schema: { type: 'string' } } } } },
              'x-amazon-apigateway-integration': {
                type: 'mock',
                requestTemplates: { 'application/json': '{"statusCode": 405}' },
                responses: {
                  default: {
                    statusCode: '405',
                    responseParameters: { 'method.response.header.Allow': "'GET'" },
                    responseTemplates: { 'application/json': '{"no":1}' },
                  },
                },
              },
            },
          },
          '/items/search': { get: proxy('SearchFunction') },
        },
        'x-amazon-apigateway-gateway-responses': {
          REQUEST_TOO_LARGE: {
            statusCode: '413',
            responseParameters: { 'gatewayresponse.header.X-Request-Id': 'context.requestId' },
            responseTemplates: { 'application/json': '{"id":"$context.requestId"}' },
          },
        },
      },
    }),
    ReadFunction: resource(
      'AWS::Lambda::Function',
      {
        Handler: 'index.handler',
        Timeout: 10,
        MemorySize: 512,
        Environment: { Variables: { TABLE_NAME: { Ref: 'Table' }, LIFE: 3600, DEBUG: false } },
      },
      { 'aws:asset:path': 'asset.1' },
    ),
    SearchFunction: resource('AWS::Lambda::Function', { Handler: 'index.handler' }, { 'aws:asset:path': 'asset.2' }),
    Table: resource('AWS::DynamoDB::GlobalTable', {
      BillingMode: 'PAY_PER_REQUEST',
      KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
      AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
      SSESpecification: { SSEEnabled: true },
    }),
  },
};

test.each([
  ['rate(1 minute)', 60_000],
  ['rate(15 minutes)', 900_000],
  ['rate(1 hour)', 3_600_000],
  ['rate(2 days)', 172_800_000],
])('readSchedules reads %s', (ScheduleExpression, everyMs) => {
  const rule = resource('AWS::Events::Rule', {
    ScheduleExpression,
    Targets: [{ Id: 'Target0', Arn: { 'Fn::GetAtt': ['ReadFunction', 'Arn'] } }],
  });
  expect(readSchedules({ Resources: { ...template.Resources, rule } })).toEqual([{ functionId: 'ReadFunction', everyMs }]);
});

describe('resolveText', () => {
  const values = { Table: { Ref: 'local', Arn: 'arn:table' } };

  test.each([
    ['a literal', 'plain', 'plain'],
    ['a number', 3600, '3600'],
    ['a boolean', false, 'false'],
    ['Ref', { Ref: 'Table' }, 'local'],
    ['Ref to a pseudo parameter', { Ref: 'AWS::Region' }, 'eu-west-1'],
    ['Fn::GetAtt', { 'Fn::GetAtt': ['Table', 'Arn'] }, 'arn:table'],
    ['Fn::GetAtt with a dot', { 'Fn::GetAtt': 'Table.Arn' }, 'arn:table'],
    ['Fn::Join', { 'Fn::Join': [',', [{ Ref: 'Table' }, 'b', { 'Fn::Join': ['-', ['c', 'd']] }]] }, 'local,b,c-d'],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the syntax of Fn::Sub
    ['Fn::Sub', { 'Fn::Sub': '${Table}/${Table.Arn}/${AWS::Partition}/${!Literal}' }, 'local/arn:table/aws/${Literal}'],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the syntax of Fn::Sub
    ['Fn::Sub with names of its own', { 'Fn::Sub': ['${a}${Table}', { a: { Ref: 'Table' } }] }, 'locallocal'],
  ])('%s', (_, value, text) => {
    expect(resolveText(value, values)).toBe(text);
  });

  test.each([
    ['an unknown resource', { Ref: 'Other' }, 'the local stack has no Ref of Other'],
    ['an unknown attribute', { 'Fn::GetAtt': ['Table', 'StreamArn'] }, 'the local stack has no StreamArn of Table'],
    ['an unknown intrinsic', { 'Fn::ImportValue': 'x' }, 'the local stack does not know Fn::ImportValue in the template'],
    ['nothing', null, 'the local stack does not know this kind of value in the template'],
  ])('refuses %s', (_, value, message) => {
    expect(() => resolveText(value, values)).toThrow(new TypeError(message));
  });
});

test('readFunction reads what a Lambda needs to run', () => {
  expect(readFunction(template, 'ReadFunction', '/out', { Table: { Ref: 'local' } })).toEqual({
    name: 'ReadFunction',
    folder: '/out/asset.1',
    handler: 'index.handler',
    environment: { TABLE_NAME: 'local', LIFE: '3600', DEBUG: 'false' },
    timeoutMs: 10_000,
    memoryMb: 512,
  });
});

test('readTables reads keys, and leaves out what dynalite does not support', () => {
  expect(readTables(template)).toEqual([
    {
      TableName: 'Table',
      BillingMode: 'PAY_PER_REQUEST',
      KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
      AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
    },
  ]);
});

describe('readApi', () => {
  const { resources: api, gatewayAnswers } = readApi(template);

  test.each([
    ['/items/search', '/items/search', {}, { GET: { kind: 'lambda', functionId: 'SearchFunction' } }],
    [
      '/items/a%2Fb',
      '/items/{uid}',
      { uid: 'a%2Fb' },
      {
        GET: { kind: 'lambda', functionId: 'ReadFunction' },
        ANY: { kind: 'mock', answer: { status: 405, headers: { Allow: "'GET'" }, body: '{"no":1}' }, mediaTypes: ['application/json'] },
      },
    ],
  ])('finds %s', (path, pattern, pathParameters, methods) => {
    const match = findResource(api, path);
    expect(match).toMatchObject({ resource: { path: pattern }, pathParameters });
    expect(Object.fromEntries(match?.resource.methods ?? [])).toEqual(methods);
  });

  test.each(['/', '', '/items', '/items/', '/items/a/b', '/items/search/b', '//items/a', '/other', '/constructor'])(
    'finds nothing at %j',
    (path) => {
      expect(findResource(api, path)).toBeUndefined();
    },
  );

  test('reads what the gateway answers itself', () => {
    expect(Object.fromEntries(gatewayAnswers)).toEqual({
      REQUEST_TOO_LARGE: { status: 413, headers: { 'X-Request-Id': 'context.requestId' }, body: '{"id":"$context.requestId"}' },
    });
  });
});
