import type { Relay, UpstreamAnswer } from '../../functions/core/relay/call.ts';
import type { UpstreamCall } from '../../functions/core/relay/request.ts';

/** Calls an upstream, without anything that would have to be asked in between. */
export const callUpstream = async (relay: Pick<Relay, 'connect'>, execution: UpstreamCall): Promise<UpstreamAnswer> =>
  (await relay.connect(execution)).send(async () => {});
