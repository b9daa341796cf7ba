import type { Relay, UpstreamAnswer } from '../../functions/core/relay/call.ts';
import type { UpstreamCall } from '../../functions/core/relay/request.ts';

/** Calls an upstream, without anything that would have to be asked in between. */
export async function callUpstream(relay: Pick<Relay, 'connect'>, execution: UpstreamCall): Promise<UpstreamAnswer> {
  let outcome = await (await relay.connect(execution)).send();
  while ('giveUp' in outcome) outcome = await outcome.send();
  return outcome;
}
