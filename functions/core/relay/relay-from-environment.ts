import { credentialsFromEnvironment } from '../credentials/credentials.ts';
import { openRelay, type Relay, type RelayOptions } from './call.ts';
import { callKeysFromEnvironment } from './call-keys.ts';
import { egressRulesFromEnvironment } from './egress.ts';

/** What calls the endpoints of intents in a deployment. */
export const relayFromEnvironment = (more: Pick<RelayOptions, 'maxDeadlineMs'> = {}): Relay =>
  openRelay({
    rules: egressRulesFromEnvironment(),
    credentials: credentialsFromEnvironment(),
    callKeys: callKeysFromEnvironment(),
    ...more,
  });
