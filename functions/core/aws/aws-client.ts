import type { HttpRequest } from '@smithy/core/protocols';
import { ConfiguredRetryStrategy } from '@smithy/core/retry';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import { currentSignal } from '../runtime/invocation.ts';
import { closeStale, openAwsAgents } from './idle-connections.ts';

/** How to reach an AWS service; by default, as the function's environment says. */
export interface AwsAccess {
  endpoint?: string;
  region?: string;
  credentials?: { accessKeyId: string; secretAccessKey: string; sessionToken?: string };
}

const connectionTimeout = 500;

/**
 * The SDK's handler of requests. It closes stale connections first, and ends each request with its step (see {@link ../runtime/invocation.ts}).
 * A request fails if its connection is silent for `silenceMs`, also within its answer.
 */
export class StepHandler extends NodeHttpHandler {
  readonly #agents: ReturnType<typeof openAwsAgents>;

  constructor(silenceMs: number) {
    const agents = openAwsAgents({ maxSockets: 50 });
    super({ httpAgent: agents.plain, httpsAgent: agents.tls, connectionTimeout, socketTimeout: silenceMs });
    this.#agents = agents;
  }

  override handle(request: HttpRequest, options: Parameters<NodeHttpHandler['handle']>[1] = {}): ReturnType<NodeHttpHandler['handle']> {
    closeStale(request.protocol === 'https:' ? this.#agents.tls : this.#agents.plain);
    const abortSignal = options.abortSignal ?? currentSignal();
    return super.handle(request, abortSignal ? { ...options, abortSignal } : options);
  }
}

/** Waits before the next attempt: after throttling, the SDK's own, up to 1 and 2 seconds, would let one hot item block all environments. */
const backOff = (attempt: number): number => Math.random() * 50 * 2 ** attempt;

/** Options of every SDK client. @param silenceMs - see {@link StepHandler} */
export const awsClientSettings = (silenceMs: number, maxAttempts = 3) => ({
  retryStrategy: new ConfiguredRetryStrategy(maxAttempts, backOff),
  requestHandler: new StepHandler(silenceMs),
});
