import type { UpstreamCall } from '../../functions/core/relay/build-request.ts';
import { openRelay, type Relay, type RelayOptions, type UpstreamAnswer } from '../../functions/core/relay/call.ts';

/** A relay that resolves every name to this machine, and has no credentials. */
export const openLocalRelay = (options: Partial<RelayOptions> = {}): Relay =>
  openRelay({
    rules: { ports: [443], allowLoopback: true, ownHosts: [] },
    resolve: async () => [{ address: '127.0.0.1', family: 4 }],
    credentials: { read: () => Promise.reject(new Error('no credential')) },
    ...options,
  });

/** A call of an agent. */
export const callOf = (url: string, more: Partial<UpstreamCall> = {}): UpstreamCall => ({
  request: { method: 'POST', url, contentType: 'application/json', body: '{"a":1}' },
  service: { service_id: 'service-1', service_url: 'https://api.world.example' },
  intentUid: 'world.example:get-country:v1',
  agentId: 'agent-1',
  account: 'thumbprint-1',
  requestId: 'request-1',
  executionId: 'execution-1',
  baseUrl: 'https://gate.example',
  deadlineMs: 5_000,
  ...more,
});

/** Calls an upstream, without anything that would have to be asked in between. */
export async function callUpstream(relay: Pick<Relay, 'connect'>, execution: UpstreamCall): Promise<UpstreamAnswer> {
  let outcome = await (await relay.connect(execution)).send();
  while ('giveUp' in outcome) outcome = await outcome.send();
  return outcome;
}
