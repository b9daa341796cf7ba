import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import * as z from 'zod';
import { type Admission, addressesOf, openAdmission, type Refused } from './admission.ts';
import { type ApiDefinition, findResource, type StaticAnswer } from './api-definition.ts';
import { compress } from './compression.ts';
import type { openFunctions } from './functions.ts';
import { readGatewayRequest, toProxyEvent } from './gateway-event.ts';
import { close, listen, readBody } from './http.ts';
import { LambdaThrottled, LambdaTimeout } from './lambda.ts';

/** Limits of API Gateway. */
const maxHeaderBytes = 10_240;
const maxBodyBytes = 10 * 1024 * 1024;
const integrationTimeoutMs = 29_000;

export interface Api extends Pick<ReturnType<typeof openFunctions>, 'invoke'> {
  definition: ApiDefinition;
  /** origins whose pages may call the API (CORS), or `*` for all; default: only the gateway's own */
  allowedOrigins?: readonly string[];
}

export interface Answered {
  method: string;
  /** not percent-decoded, without the query */
  path: string;
  status: number;
  durationMs: number;
}

export interface GatewayOptions {
  host?: string;
  /** 0: any free port */
  port?: number;
  /** further hosts, possibly with a port */
  allowHosts?: readonly string[];
  /** requests that arrive before it resolves wait for it */
  api: Promise<Api>;
  onAnswered?(answered: Answered): void;
}

export type RunningGateway = Awaited<ReturnType<typeof startGateway>>;

interface Answer {
  status: number;
  headers: Record<string, string | string[]>;
  body: string | Buffer;
}

/**
 * Serves a REST API as API Gateway does, without the stage in the path. Only certain hosts are served, to prevent DNS rebinding.
 * @throws Node's error, such as EADDRINUSE, if it cannot listen
 */
export async function startGateway({ host, port, allowHosts = [], api, onAnswered = () => {} }: GatewayOptions) {
  const server = createServer({ maxHeaderSize: 4 * maxHeaderBytes, keepAliveTimeout: 60_000, requireHostHeader: false });
  let admit = openAdmission([]);

  const respond = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const startedMs = performance.now();
    const requestId = randomUUID();
    const served = await api;
    const answer = await answerRequest(served, incoming, requestId, admit);
    // for HEAD, functions do not report the length that the content would have
    const hasNoBody = answer.status === 204 || answer.status === 304 || incoming.method === 'HEAD';
    const accepted = String(incoming.headers['accept-encoding'] ?? '');
    const { status, headers, body } = hasNoBody ? answer : await compress(answer, accepted, served.definition.minimumCompressionBytes);
    const length = hasNoBody ? {} : { 'Content-Length': Buffer.byteLength(body) };
    outgoing.writeHead(status, { ...headers, ...length, 'x-amzn-RequestId': requestId }).end(body);
    const [path = ''] = (incoming.url ?? '').split('?', 1);
    onAnswered({ method: incoming.method ?? '', path, status, durationMs: performance.now() - startedMs });
  };

  /** Answers input that is not HTTP, or has more headers than Node accepts. */
  const refuseGarbage = async (code: string | undefined, socket: Socket): Promise<void> => {
    const { definition } = await api;
    const { status, headers, body } = gatewayAnswer(
      definition,
      'DEFAULT_4XX',
      { requestId: randomUUID() },
      code === 'HPE_HEADER_OVERFLOW' ? 431 : 400,
    );
    const fields = { ...headers, 'Content-Length': Buffer.byteLength(body), Connection: 'close' };
    const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`);
  };

  server.on('request', (incoming, outgoing) => {
    respond(incoming, outgoing).catch((error) => {
      if (!incoming.errored) console.error(error);
      incoming.socket.destroy();
    });
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (socket.writable && error.code !== 'ECONNRESET') refuseGarbage(error.code, socket).catch(() => socket.destroy());
    else socket.destroy();
  });

  const listeningPort = await listen(server, host, port);
  const baseUrls = addressesOf(host, listeningPort, allowHosts);
  admit = openAdmission(baseUrls);
  return { port: listeningPort, baseUrls, stop: () => close(server) };
}

async function answerRequest(
  { definition, invoke, allowedOrigins = [] }: Api,
  incoming: IncomingMessage,
  requestId: string,
  admit: Admission,
): Promise<Answer> {
  const admitted = admit(incoming, allowedOrigins);
  const domainName = typeof admitted === 'string' ? admitted : '';
  const refuse = (type: string, status?: number) => gatewayAnswer(definition, type, { requestId, domainName }, status);
  if (typeof admitted !== 'string') return explain(refuse(admitted.type, admitted.status), admitted);
  const request = readGatewayRequest(incoming, requestId, admitted);
  const body = await readBody(incoming, maxBodyBytes);
  const headerBytes = request.headers.reduce((bytes, [name, value]) => bytes + name.length + value.length, (incoming.url ?? '').length);
  if (headerBytes > maxHeaderBytes) return refuse('DEFAULT_4XX', 431);
  const match = findResource(definition.resources, request.path);
  if (!match) return refuse('MISSING_AUTHENTICATION_TOKEN');
  const integration = match.resource.methods.get(request.method) ?? match.resource.methods.get('ANY');
  if (!integration) return refuse('MISSING_AUTHENTICATION_TOKEN');
  const { identityHeader } = integration;
  if (identityHeader !== undefined && !incoming.headers[identityHeader]) return refuse('UNAUTHORIZED');
  if (!body) return refuse('REQUEST_TOO_LARGE');
  if (integration.kind === 'mock') {
    const [mediaType = ''] = (incoming.headers['content-type'] ?? 'application/json').split(';');
    const isTaken = integration.mediaTypes.includes(mediaType.trim().toLowerCase());
    return isTaken
      ? fillAnswer(overrideHeader(integration.answer, incoming), { requestId, domainName: admitted })
      : refuse('UNSUPPORTED_MEDIA_TYPE');
  }
  try {
    const result = await withTimeout(invoke(integration.functionId, toProxyEvent(request, match, body, definition.isBinary)));
    return toAnswer(proxyResult.parse(JSON.parse(result ?? 'null')));
  } catch (error) {
    if (error instanceof LambdaThrottled) return refuse('THROTTLED');
    // API Gateway would also report a function's own timeout as a bad response; the real reason is more useful.
    return error instanceof LambdaTimeout ? refuse('INTEGRATION_TIMEOUT') : refuse('DEFAULT_5XX', 502);
  }
}

interface Context {
  requestId: string;
  domainName?: string;
}

/** Default statuses of gateway responses without a configured status. */
const ownStatus: Record<string, number> = {
  DEFAULT_5XX: 500,
  INTEGRATION_TIMEOUT: 504,
  MISSING_AUTHENTICATION_TOKEN: 403,
  REQUEST_TOO_LARGE: 413,
  THROTTLED: 429,
  UNAUTHORIZED: 401,
  UNSUPPORTED_MEDIA_TYPE: 415,
};

function gatewayAnswer({ gatewayAnswers }: ApiDefinition, type: string, context: Context, status = ownStatus[type] ?? 400): Answer {
  const answer = gatewayAnswers.get(type) ?? gatewayAnswers.get(status < 500 ? 'DEFAULT_4XX' : 'DEFAULT_5XX');
  return fillAnswer({ headers: {}, body: '{}', ...answer, status: answer?.status ?? status }, context);
}

/** Adds details to a gateway response. The rest of the request is not read. */
function explain(answer: Answer, { status, message, reason }: Refused): Answer {
  const { error } = JSON.parse(String(answer.body)) as { error?: { details?: object } };
  const details = { ...error?.details, ...(reason !== undefined && { reason }) };
  return {
    status,
    headers: { ...answer.headers, Connection: 'close' },
    body: JSON.stringify({ error: { ...error, message, details } }),
  };
}

/** A mapping template that replaces a header of the response if a header of the request contains a text. */
const override =
  /^#if\(\$input\.params\(\)\.header\.get\("([\w-]+)"\)\.contains\("([^"]*)"\).*\)#set\(\$context\.responseOverride\.header\.([\w-]+) = "([^"]*)"\)#end$/;

/** Applies the only directives in the templates of static responses: this one, and that of preflights, which names the allowed origins. */
function overrideHeader(answer: StaticAnswer, { headers }: IncomingMessage): StaticAnswer {
  const origins = [...answer.body.matchAll(/\$origin == "([^"]+)"/g)].map(([, origin]) => origin);
  if (origins.length > 0) {
    const isAllowed = origins.includes(headers.origin);
    return {
      ...answer,
      body: '',
      headers: { ...answer.headers, ...(isAllowed && { 'Access-Control-Allow-Origin': `'${headers.origin}'` }) },
    };
  }
  const [template, asked = '', text = '', name = '', value] = override.exec(answer.body) ?? [];
  if (template === undefined) return answer;
  const isReplaced = String(headers[asked]).includes(text);
  return { ...answer, body: '', headers: { ...answer.headers, ...(isReplaced && { [name]: `'${value}'` }) } };
}

function fillAnswer({ status = 200, headers, body }: StaticAnswer, { requestId, domainName = '' }: Context): Answer {
  const fill = (text: string) => text.replaceAll('$context.requestId', requestId).replaceAll('$context.domainName', domainName);
  const value = (expression: string) => (expression === 'context.requestId' ? requestId : fill(expression.replace(/^'(.*)'$/s, '$1')));
  const filled = Object.entries(headers).map(([name, expression]) => [name, value(expression)]);
  return {
    status,
    headers: { 'Content-Type': 'application/json', ...renameChallenge(Object.fromEntries(filled)) },
    body: fill(body),
  };
}

const headerValue = z.union([z.string(), z.number(), z.boolean()]).transform(String);

const proxyResult = z.object({
  statusCode: z.coerce.number().int().min(100).max(599),
  headers: z.record(z.string(), headerValue).nullish(),
  multiValueHeaders: z.record(z.string(), z.array(headerValue)).nullish(),
  body: z.string().nullish(),
  isBase64Encoded: z.boolean().default(false),
});

function toAnswer({ statusCode, headers, multiValueHeaders, body, isBase64Encoded }: z.output<typeof proxyResult>): Answer {
  const given = { ...headers, ...multiValueHeaders };
  const isTyped = !body || Object.keys(given).some((name) => name.toLowerCase() === 'content-type');
  return {
    status: statusCode,
    headers: renameChallenge({ ...(!isTyped && { 'Content-Type': 'application/json' }), ...given }),
    // Strings stay strings, because Node writes them together with the headers, but bytes separately.
    body: isBase64Encoded ? Buffer.from(body ?? '', 'base64') : (body ?? ''),
  };
}

/** API Gateway renames WWW-Authenticate headers from functions. Sends both names, so that clients of either work. */
function renameChallenge<T extends Answer['headers']>(headers: T): T {
  const [, challenge] = Object.entries(headers).find(([name]) => name.toLowerCase() === 'www-authenticate') ?? [];
  return challenge === undefined ? headers : { ...headers, 'x-amzn-Remapped-WWW-Authenticate': challenge };
}

function withTimeout<T>(work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new LambdaTimeout('no answer in time')), integrationTimeoutMs);
  return Promise.race([work, promise]).finally(() => clearTimeout(timer));
}
