import { NodeHttpHandler, type NodeHttpHandlerOptions } from '@smithy/node-http-handler';
import { currentSignal } from './invocation.ts';

/** Sends the requests of an AWS client so that each is aborted with the step that it belongs to; see {@link ./invocation.ts}. */
class BoundedHttpHandler extends NodeHttpHandler {
  override handle(...[request, options]: Parameters<NodeHttpHandler['handle']>): ReturnType<NodeHttpHandler['handle']> {
    const abortSignal = currentSignal() ?? options?.abortSignal;
    return super.handle(request, { ...options, ...(abortSignal && { abortSignal }) });
  }
}

/** The configuration of all AWS clients: bounded waits, and a few attempts. */
export const awsClientSettings = (timeouts: Pick<NodeHttpHandlerOptions, 'requestTimeout' | 'socketTimeout'>) => ({
  maxAttempts: 3,
  requestHandler: new BoundedHttpHandler({ connectionTimeout: 500, throwOnRequestTimeout: true, ...timeouts }),
});
