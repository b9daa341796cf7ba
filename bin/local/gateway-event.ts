import type { IncomingMessage } from 'node:http';
import type { APIGatewayProxyEvent } from 'aws-lambda';
import type { Match, Resource } from './api-definition.ts';

/** @param domainName - the requested host and port */
export function readGatewayRequest(incoming: IncomingMessage, requestId: string, domainName: string) {
  // A proxy may send the absolute form of the target (RFC 9112 section 3.2.2).
  const target = (incoming.url ?? '/').replace(/^https?:\/\/[^/?]*/i, '');
  const questionMark = target.indexOf('?');
  const { rawHeaders } = incoming;
  return {
    method: incoming.method ?? 'GET',
    /** not percent-decoded, like the query */
    path: questionMark === -1 ? target : target.slice(0, questionMark),
    query: questionMark === -1 ? '' : target.slice(questionMark + 1),
    /** with names and order as sent */
    headers: rawHeaders.flatMap((name, at) => (at % 2 === 0 ? [[name, rawHeaders[at + 1] ?? ''] as [string, string]] : [])),
    requestId,
    domainName,
    sourceIp: incoming.socket.remoteAddress ?? '127.0.0.1',
    startedMs: Date.now(),
  };
}

/** The event of API Gateway's Lambda proxy integration: the query is decoded, path parameters are not. */
export function toProxyEvent(
  request: ReturnType<typeof readGatewayRequest>,
  { resource, pathParameters }: Match<Pick<Resource, 'path'>>,
  body: Buffer,
  isBinary = false,
): APIGatewayProxyEvent {
  const { method, path, query, headers, requestId, domainName, sourceIp, startedMs } = request;
  const values = groupByName(headers);
  const parameters = [...new URLSearchParams(query)];
  return {
    httpMethod: method,
    path,
    resource: resource.path,
    headers: Object.fromEntries(headers),
    multiValueHeaders: values,
    queryStringParameters: nullWhereEmpty(Object.fromEntries(parameters)),
    multiValueQueryStringParameters: nullWhereEmpty(groupByName(parameters)),
    pathParameters: nullWhereEmpty(pathParameters),
    stageVariables: null,
    ...encodeBody(body, isBinary),
    requestContext: {
      requestId,
      extendedRequestId: requestId,
      accountId: '000000000000',
      apiId: 'local',
      resourceId: 'local',
      resourcePath: resource.path,
      httpMethod: method,
      path,
      protocol: 'HTTP/1.1',
      stage: 'local',
      domainName,
      requestTimeEpoch: startedMs,
      authorizer: null,
      identity: { ...anonymous, sourceIp, userAgent: values['User-Agent']?.[0] ?? values['user-agent']?.[0] ?? null },
    },
  };
}

const anonymous = {
  accessKey: null,
  accountId: null,
  apiKey: null,
  apiKeyId: null,
  caller: null,
  clientCert: null,
  cognitoAuthenticationProvider: null,
  cognitoAuthenticationType: null,
  cognitoIdentityId: null,
  cognitoIdentityPoolId: null,
  principalOrgId: null,
  user: null,
  userArn: null,
};

const groupByName = (entries: readonly [string, string][]): Record<string, string[]> =>
  Object.fromEntries([...Map.groupBy(entries, ([name]) => name)].map(([name, group]) => [name, group.map(([, value]) => value)]));

const nullWhereEmpty = <T extends object>(record: T): T | null => (Object.keys(record).length === 0 ? null : record);

function encodeBody(body: Buffer, isBinary: boolean): { body: string | null; isBase64Encoded: boolean } {
  if (body.length === 0) return { body: null, isBase64Encoded: false };
  const text = body.toString('utf8');
  const isText = !isBinary && Buffer.from(text, 'utf8').equals(body);
  return { body: isText ? text : body.toString('base64'), isBase64Encoded: !isText };
}
