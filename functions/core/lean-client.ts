import type { Client } from '@smithy/core/client';
import type { HttpRequest } from '@smithy/core/protocols';
import { type ConfiguredRetryStrategy, retryMiddleware, retryMiddlewareOptions } from '@smithy/core/retry';
import { getSchemaSerdePlugin } from '@smithy/core/schema';
import { openSigner } from './aws-signature.ts';

/**
 * Middleware of SDK clients that has no effect here (logging, recursion detection, the user agent), or that resolves for each request what never
 * changes: the endpoint and the signing scheme.
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

// biome-ignore lint/suspicious/noExplicitAny: the SDK declares functions for any client like this
type AnyClient = Client<any, any, any, any>;

interface SdkCall {
  request: HttpRequest;
}

type Handler = (call: SdkCall) => Promise<unknown>;

type Stack = AnyClient['middlewareStack'];

/** Removes middleware from a stack, and from the stacks that commands derive from it. */
function withoutUnusedMiddleware(stack: Stack): Stack {
  for (const name of unusedMiddleware) stack.remove(name);
  const { concat } = stack;
  stack.concat = (added) => withoutUnusedMiddleware(concat(added));
  return stack;
}

/**
 * The SDK's retry middleware, entered only once a first attempt has failed, because it creates an error and headers for each request. Its own first
 * attempt rethrows that failure.
 */
function retryAfterFailure(config: AnyClient['config']) {
  const retry = retryMiddleware(config) as unknown as (next: Handler, context: never) => Handler;
  let recordSuccess: (() => void) | undefined;
  const openRecord = async () => {
    const strategy: ConfiguredRetryStrategy = await config.retryStrategy();
    const token = await strategy.acquireInitialRetryToken('');
    return () => strategy.recordSuccess(token);
  };
  return (next: Handler, context: never): Handler =>
    async (call) => {
      let answer: unknown;
      try {
        answer = await next(call);
      } catch (error) {
        let isFirst = true;
        const resume: Handler = async (again) => {
          if (!isFirst) return next(again);
          isFirst = false;
          throw error;
        };
        return retry(resume, context)(call);
      }
      recordSuccess ??= await openRecord();
      recordSuccess();
      return answer;
    };
}

interface Service {
  /** name of the service in signatures */
  name: string;
  /** address of all requests */
  endpoint: string;
}

/**
 * Reduces an SDK client to the middleware that its requests need: serialise, retry, sign each attempt, parse the response. Lambda's clock is
 * accurate, so clock skew is not corrected.
 * @param client - its protocol must be `JsonProtocol`, which sets the headers that the removed middleware would add
 */
export function trimMiddleware<T extends AnyClient>(client: T, service: Service): T {
  const { protocol, hostname, port, pathname: path } = new URL(service.endpoint);
  const endpoint = { protocol, hostname, path, ...(port !== '' && { port: Number(port) }) };
  const signer = openSigner(service.name, client.config);
  const stack = withoutUnusedMiddleware(client.middlewareStack);
  // the serialisation middleware copies its configuration for each request, so it gets only what it uses
  stack.use(getSchemaSerdePlugin({ protocol: client.config.protocol, endpoint: async () => endpoint } as never));
  const sign = (next: Handler) => async (call: SdkCall) => next({ ...call, request: await signer.sign(call.request) });
  stack.add(retryAfterFailure(client.config) as never, retryMiddlewareOptions);
  stack.addRelativeTo(sign as never, { name: 'sign', relation: 'after', toMiddleware: 'retryMiddleware' });
  return client;
}
