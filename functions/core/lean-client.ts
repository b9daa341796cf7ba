import type { Client } from '@smithy/core/client';
import type { HttpRequest } from '@smithy/core/protocols';
import { type ConfiguredRetryStrategy, retryMiddleware, retryMiddlewareOptions } from '@smithy/core/retry';
import { getSchemaSerdePlugin } from '@smithy/core/schema';
import { openSigner } from './aws-signature.ts';

/**
 * Steps of the SDK's clients that have no effect here (requests are not logged, AWS calls no functions, nobody reads the user agent), or that decide
 * at each request what never changes: the endpoint and the way to sign.
 */
const unusedSteps = [
  'loggerMiddleware',
  'recursionDetectionMiddleware',
  'getUserAgentMiddleware',
  'endpointV2Middleware',
  'httpAuthSchemeMiddleware',
  'httpSigningMiddleware',
  'hostHeaderMiddleware',
  'contentLengthMiddleware',
];

// biome-ignore lint/suspicious/noExplicitAny: as the SDK declares what takes every client
type AnyClient = Client<any, any, any, any>;

interface SdkCall {
  request: HttpRequest;
}

type Handler = (call: SdkCall) => Promise<unknown>;

type Stack = AnyClient['middlewareStack'];

/** Removes steps from a stack, and from those that commands make of it by adding their own steps. */
function withoutUnusedSteps(stack: Stack): Stack {
  for (const step of unusedSteps) stack.remove(step);
  const { concat } = stack;
  stack.concat = (added) => withoutUnusedSteps(concat(added));
  return stack;
}

/**
 * The SDK's step that retries, entered only by requests whose first attempt has failed, because it makes an error and headers for each request. It
 * takes that failure for the one of its own first attempt.
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
  /** as in signatures */
  name: string;
  /** of all requests */
  endpoint: string;
}

/**
 * Leaves one of the SDK's clients only the steps that its requests need: write the request, retry, sign each attempt, read the answer. The clock of
 * Lambda is right, so that no signature has to correct it.
 * @param client - one whose protocol is `JsonProtocol`, which writes the headers that other steps would add
 */
export function lighten<T extends AnyClient>(client: T, service: Service): T {
  const { protocol, hostname, port, pathname: path } = new URL(service.endpoint);
  const endpoint = { protocol, hostname, path, ...(port !== '' && { port: Number(port) }) };
  const signer = openSigner(service.name, client.config);
  const stack = withoutUnusedSteps(client.middlewareStack);
  // the steps that write and read copy their configuration at each request, so they are given only what they use
  stack.use(getSchemaSerdePlugin({ protocol: client.config.protocol, endpoint: async () => endpoint } as never));
  const sign = (next: Handler) => async (call: SdkCall) => next({ ...call, request: await signer.sign(call.request) });
  stack.add(retryAfterFailure(client.config) as never, retryMiddlewareOptions);
  stack.addRelativeTo(sign as never, { name: 'sign', relation: 'after', toMiddleware: 'retryMiddleware' });
  return client;
}
