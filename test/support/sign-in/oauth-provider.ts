import type { OAuthClientProvider, OAuthDiscoveryState, OAuthTokens } from '@modelcontextprotocol/client';

export const redirectUri = 'http://127.0.0.1:43117/callback';

/** What a host keeps for the official client: who it is itself, and nothing of the gate. */
export function openProvider(who: Pick<OAuthClientProvider, 'clientMetadataUrl' | 'clientInformation' | 'saveClientInformation'>) {
  let tokens: OAuthTokens | undefined;
  let discovered: OAuthDiscoveryState | undefined;
  let verifier = '';
  let address: URL | undefined;
  const provider: OAuthClientProvider = {
    ...who,
    saveDiscoveryState: (state) => {
      discovered = state;
    },
    discoveryState: () => discovered,
    redirectUrl: redirectUri,
    clientMetadata: { client_name: 'Test host', redirect_uris: [redirectUri], token_endpoint_auth_method: 'none' },
    state: () => 'state-of-the-host',
    tokens: () => tokens,
    saveTokens: (saved) => {
      tokens = saved;
    },
    redirectToAuthorization: (url) => {
      address = url;
    },
    saveCodeVerifier: (text) => {
      verifier = text;
    },
    codeVerifier: () => verifier,
  };
  return { provider, tokens: () => tokens, addressToOpen: () => address?.href ?? '' };
}
