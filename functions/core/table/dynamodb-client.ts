import { DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import type { HttpRequest } from '@smithy/core/protocols';
import { retryMiddleware, retryMiddlewareOptions } from '@smithy/core/retry';
import { getSchemaSerdePlugin } from '@smithy/core/schema';
import { openSigner } from '../aws-signature.ts';
import { JsonProtocol } from '../json-protocol.ts';
import { serviceEndpoint } from '../signed-request.ts';

export interface LeanSettings extends Omit<DynamoDBClientConfig, 'endpoint' | 'region'> {
  /** default: `AWS_ENDPOINT_URL_DYNAMODB`, else the region's endpoint */
  endpoint?: string;
  region?: string;
  /** must read responses completely, as `jsonHttpHandler` does; the SDK's own handler returns a stream */
  requestHandler: NonNullable<DynamoDBClientConfig['requestHandler']>;
}

/**
 * Middleware that has no effect here (logging, recursion detection, the user agent), or that resolves for each request what never changes: the
 * endpoint and the signing scheme.
 */
const unusedMiddleware = [
  'loggerMiddleware',
  'recursionDetectionMiddleware',
  'getUserAgentMiddleware',
  'endpointV2Middleware',
  'httpAuthSchemeMiddleware',
  'httpSigningMiddleware',
  'hostHeaderMiddleware',
  'contentLengthMiddleware',
];

type Stack = Pick<DynamoDBClient['middlewareStack'], 'remove' | 'concat'>;

/** Removes middleware from a stack, and from the stacks that commands derive from it. */
function withoutUnusedMiddleware<T extends Stack>(stack: T): T {
  for (const name of unusedMiddleware) stack.remove(name);
  const { concat } = stack;
  stack.concat = ((added: never) => withoutUnusedMiddleware(concat(added))) as typeof concat;
  return stack;
}

interface SdkCall {
  request: HttpRequest;
}

/**
 * A client with only the middleware that its requests need: serialise, retry, sign each attempt, parse the response. Lambda's clock is accurate, so
 * clock skew is not corrected.
 */
export class LeanDynamoDBClient extends DynamoDBClient {
  constructor({ region = process.env.AWS_REGION ?? '', endpoint = serviceEndpoint('dynamodb', region), ...settings }: LeanSettings) {
    super({ ...settings, region, protocol: JsonProtocol as never });
    const { protocol, hostname, port, pathname: path } = new URL(endpoint);
    const target = { protocol, hostname, path, ...(port !== '' && { port: Number(port) }) };
    const signer = openSigner('dynamodb', this.config);
    const sign = (next: (call: SdkCall) => unknown) => async (call: SdkCall) => next({ ...call, request: await signer.sign(call.request) });
    const stack = withoutUnusedMiddleware(this.middlewareStack);
    // the serialisation middleware copies its configuration for each request, so it gets only what it uses
    stack.use(getSchemaSerdePlugin({ protocol: this.config.protocol, endpoint: async () => target } as never));
    stack.add(retryMiddleware(this.config) as never, retryMiddlewareOptions);
    stack.addRelativeTo(sign as never, { name: 'sign', relation: 'after', toMiddleware: 'retryMiddleware' });
  }
}

type Handler = (command: unknown) => Promise<{ output: unknown }>;

/** Members of a command that the SDK does not declare as public. */
interface Resolvable {
  clientCommand: { resolveMiddleware(...parts: unknown[]): Handler };
  resolveMiddleware(...parts: unknown[]): unknown;
}

/** Caches the resolved middleware of each kind of command, as `cacheMiddleware` does for non-document clients. */
export class LeanDocumentClient extends DynamoDBDocumentClient {
  readonly #handlers = new Map<unknown, Handler>();

  constructor(client: DynamoDBClient) {
    super(client, { marshallOptions: { removeUndefinedValues: true } });
  }

  override send = (async (command: Resolvable) => {
    const handler = this.#handlers.get(command.constructor) ?? this.#resolve(command);
    this.#handlers.set(command.constructor, handler);
    return (await handler(command.clientCommand)).output;
  }) as unknown as DynamoDBDocumentClient['send'];

  /** Extracts the reusable inner handler. The outer one, which the command resolves, works for this command only. */
  #resolve(command: Resolvable): Handler {
    const { clientCommand } = command;
    const resolve = clientCommand.resolveMiddleware.bind(clientCommand);
    let inner: Handler | undefined;
    clientCommand.resolveMiddleware = (...parts) => {
      inner = resolve(...parts);
      return inner;
    };
    command.resolveMiddleware(this.middlewareStack, this.config);
    if (!inner) throw new TypeError('the SDK resolves the middleware of its commands in another way');
    return inner;
  }
}
