import { NodeHttpHandler, type NodeHttpHandlerOptions } from '@smithy/node-http-handler';
import { currentSignal } from './invocation.ts';

/** Sends the requests of an AWS client so that each ends with the step that it belongs to; see {@link ./invocation.ts}. */
class BoundedHttpHandler extends NodeHttpHandler {
  override handle(...[request, options]: Parameters<NodeHttpHandler['handle']>): ReturnType<NodeHttpHandler['handle']> {
    const abortSignal = currentSignal() ?? options?.abortSignal;
    return super.handle(request, { ...options, ...(abortSignal && { abortSignal }) });
  }
}

type Timeouts = Pick<NodeHttpHandlerOptions, 'requestTimeout' | 'socketTimeout'>;

/** Sends requests with bounded waits; half a second to connect. */
export const boundedHttpHandler = (timeouts: Timeouts): NodeHttpHandler =>
  new BoundedHttpHandler({ connectionTimeout: 500, throwOnRequestTimeout: true, ...timeouts });

/** What all AWS clients are configured with: bounded waits, and three attempts. */
export const awsClientSettings = (timeouts: Timeouts) => ({ maxAttempts: 3, requestHandler: boundedHttpHandler(timeouts) });
