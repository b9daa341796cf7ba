import {
  type AuthorizationServer,
  allowInsecureRequests,
  authorizationCodeGrantRequest,
  type Client,
  type ClientAuth,
  ClientSecretBasic,
  ClientSecretPost,
  calculatePKCECodeChallenge,
  clientCredentialsGrantRequest,
  customFetch,
  discoveryRequest,
  None,
  processDiscoveryResponse,
  refreshTokenGrantRequest,
  revocationRequest,
  validateAuthResponse,
} from 'oauth4webapi';
import QuickLRU from 'quick-lru';
import type { OAuthClient } from '../../schemas/connections/oauth-client.ts';
import { egressRulesFromEnvironment, isLoopbackHost } from '../core/relay/egress.ts';
import { openRedactor } from '../core/relay/redact.ts';
import { beyondInvocation } from '../core/runtime/invocation.ts';
import { issuerRules } from './check-client.ts';
import { clientIdentity } from './client.ts';
import { type Answer, readAnswer, toTokens } from './issuer-answer.ts';
import { IssuerFailure, wordsOf } from './issuer-failure.ts';
import { openTransport, type TransportOptions } from './issuer-transport.ts';
import type { IssuedTokens, Tokens } from './seal.ts';

/** How long metadata is cached, in milliseconds. */
const metadataMs = 3_600_000;

/** The same for the failure to read it: otherwise anybody who may open a page could have the gate ask an issuer again and again. */
const noMetadataMs = 5_000;

/** A person who is at the issuer. */
export interface Attempt {
  state: string;
  verifier: string;
  redirectUri: string;
}

/** The issuers of tokens. Each function throws IssuerFailure. */
export function openIssuers(options: TransportOptions) {
  const transport = openTransport(options);
  const known = new QuickLRU<string, Promise<AuthorizationServer>>({ maxSize: 200, maxAge: metadataMs });
  /** used as long as it cannot be read again */
  const lastRead = new QuickLRU<string, AuthorizationServer>({ maxSize: 200 });
  /** endpoints and clients, where the secret has to be sent in the body although the issuer did not say so */
  const posting = new Set<string>();

  const optionsFor = (baseUrl: string) => ({ [customFetch]: transport(baseUrl), [allowInsecureRequests]: true });

  async function discover(issuer: string, baseUrl: string): Promise<AuthorizationServer> {
    const url = new URL(issuer);
    let failure: unknown;
    for (const algorithm of ['oauth2', 'oidc'] as const) {
      try {
        return await processDiscoveryResponse(url, await discoveryRequest(url, { ...optionsFor(baseUrl), algorithm }));
      } catch (error) {
        failure = error;
      }
    }
    const words = failure instanceof IssuerFailure ? failure.words : { description: 'The metadata of the issuer cannot be read.' };
    throw new IssuerFailure('unsent', { ...words, cause: failure });
  }

  async function metadataOf(
    { issuer, token_endpoint, authorization_endpoint }: OAuthClient,
    baseUrl: string,
  ): Promise<AuthorizationServer> {
    if (token_endpoint !== undefined)
      return {
        issuer: issuer ?? new URL(token_endpoint).origin,
        token_endpoint,
        ...(authorization_endpoint && { authorization_endpoint }),
      };
    const id = String(issuer);
    const found = known.get(id);
    if (found !== undefined) return found;
    const reading: Promise<AuthorizationServer> = beyondInvocation(() => discover(id, baseUrl)).then(
      (read) => {
        lastRead.set(id, read);
        return read;
      },
      (error) => {
        known.set(id, reading, { maxAge: noMetadataMs });
        const last = lastRead.get(id);
        if (last === undefined) throw error;
        return last;
      },
    );
    known.set(id, reading);
    return reading;
  }

  /** The ways in which a client can authenticate (RFC 6749 section 2.3.1), the best first. */
  function authenticationsOf(client: OAuthClient, offered: readonly string[] | undefined, isReversed: boolean): ClientAuth[] {
    const { client_secret: secret } = client;
    if (secret === undefined) return [None()];
    const all = { client_secret_basic: ClientSecretBasic(secret), client_secret_post: ClientSecretPost(secret) };
    const named = Object.entries(all).filter(([name]) => offered?.includes(name) ?? true);
    const usable = (named.length > 0 ? named : Object.entries(all)).map(([, authenticate]) => authenticate);
    return isReversed ? usable.reverse() : usable;
  }

  /** Sends a request, and again in each other way to authenticate, until the issuer accepts one. */
  async function ask(
    client: OAuthClient,
    endpoint: 'token' | 'revocation',
    offered: readonly string[] | undefined,
    send: (client: Client, authenticate: ClientAuth) => Promise<Response>,
  ): Promise<{ status: number; answer: Answer | undefined }> {
    const name = `${endpoint} ${clientIdentity(client)}`;
    const isReversed = posting.has(name);
    const authentications = authenticationsOf(client, offered, isReversed);
    for (const [at, authenticate] of authentications.entries()) {
      const response = await send({ client_id: client.client_id }, authenticate).catch(asUnsent);
      const answer = await readAnswer(response);
      const isUnauthenticated = response.status === 401 || answer?.error === 'invalid_client';
      if (isUnauthenticated && at < authentications.length - 1) continue;
      // only a success shows that the other way is the right one
      if (at > 0 && response.ok && answer?.error === undefined) {
        if (isReversed) posting.delete(name);
        else posting.add(name);
      }
      return { status: response.status, answer };
    }
    throw new TypeError('a client has no way to authenticate');
  }

  /**
   * Requests tokens.
   * @param secrets - that the issuer may repeat in its words
   */
  async function request(
    client: OAuthClient,
    baseUrl: string,
    secrets: readonly (string | undefined)[],
    send: (...parts: [AuthorizationServer, Client, ClientAuth, ReturnType<typeof optionsFor>]) => Promise<Response>,
  ): Promise<IssuedTokens> {
    const server = await metadataOf(client, baseUrl);
    const { client_id, client_secret } = client;
    const hide = hiding([client_secret, client_secret && formEncoded(client_secret), ...secrets]);
    const { status, answer } = await ask(client, 'token', server.token_endpoint_auth_methods_supported, (oauthClient, authenticate) =>
      send(server, oauthClient, authenticate, optionsFor(baseUrl)),
    );
    return toTokens(server, { client_id }, status, answer, hide);
  }

  const targets = ({ audience, resource }: OAuthClient) => ({ ...(audience && { audience }), ...(resource && { resource }) });
  const scopeOf = ({ scopes = [] }: OAuthClient) => ({ ...(scopes.length > 0 && { scope: scopes.join(' ') }) });

  const refresh = (client: OAuthClient, refreshToken: string, baseUrl: string): Promise<IssuedTokens> =>
    request(client, baseUrl, [refreshToken], (server, oauthClient, authenticate, own) =>
      refreshTokenGrantRequest(server, oauthClient, authenticate, refreshToken, { ...own, additionalParameters: targets(client) }),
    );

  return {
    metadataOf,
    refresh,

    /** Client credentials, RFC 6749 section 4.4. */
    obtain: (client: OAuthClient, baseUrl: string): Promise<IssuedTokens> =>
      request(client, baseUrl, [], (server, oauthClient, authenticate, own) =>
        clientCredentialsGrantRequest(server, oauthClient, authenticate, { ...targets(client), ...scopeOf(client) }, own),
      ),

    /** The address at which a person agrees (RFC 6749 section 4.1.1, RFC 7636 section 4.3). */
    async addressFor(client: OAuthClient, { state, verifier, redirectUri }: Attempt, baseUrl: string): Promise<string> {
      const { authorization_endpoint: endpoint = '' } = await metadataOf(client, baseUrl);
      const url = URL.parse(endpoint);
      if (!url || !(url.protocol === 'https:' || (url.protocol === 'http:' && isLoopbackHost(url.hostname))))
        throw new IssuerFailure('unsent', { description: 'The metadata of the issuer names no authorization endpoint.' });
      const parameters = {
        response_type: 'code',
        client_id: client.client_id,
        redirect_uri: redirectUri,
        ...scopeOf(client),
        ...targets(client),
        state,
        code_challenge: await calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      };
      for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
      return url.href;
    },

    /**
     * Exchanges the code of a callback (RFC 6749 section 4.1.3). Checks `state`, and `iss` if the issuer is known (RFC 9207).
     * @param callback - parameters of the callback
     */
    async exchange(client: OAuthClient, attempt: Attempt, callback: URLSearchParams, baseUrl: string): Promise<IssuedTokens> {
      const { state, verifier, redirectUri } = attempt;
      const server = await metadataOf(client, baseUrl);
      const parameters = new URLSearchParams(callback);
      if (client.issuer === undefined) parameters.delete('iss');
      let checked: URLSearchParams;
      try {
        checked = validateAuthResponse(server, { client_id: client.client_id }, parameters, state);
        if (!checked.get('code')) throw new TypeError('the answer has no code');
      } catch (cause) {
        const words = wordsOf(Object.fromEntries(parameters));
        const isOther = { description: 'The answer does not come from the issuer of this service, or is incomplete.' };
        throw new IssuerFailure('refused', { ...(words.error === undefined || !hasIssuer(server, parameters) ? isOther : words), cause });
      }
      const code = checked.get('code');
      return request(client, baseUrl, [String(code), verifier], (found, oauthClient, authenticate, own) =>
        authorizationCodeGrantRequest(found, oauthClient, authenticate, checked, redirectUri, verifier, {
          ...own,
          additionalParameters: targets(client),
        }),
      );
    },

    /**
     * Checks whether the issuer knows the client, with a refresh token that does not exist: an issuer authenticates the client first.
     * @throws IssuerFailure if it does not, or cannot be reached
     */
    async check(client: OAuthClient, baseUrl: string): Promise<void> {
      try {
        await refresh(client, 'this-refresh-token-does-not-exist', baseUrl);
      } catch (error) {
        const isKnown = error instanceof IssuerFailure && error.outcome === 'refused';
        if (!isKnown || ['invalid_client', 'unauthorized_client', undefined].includes(error.words.error)) throw error;
      }
    },

    /** Revokes tokens (RFC 7009), if the issuer offers that. Revoking a refresh token revokes its access tokens, too. */
    async revoke(client: OAuthClient, { access, refresh: refreshToken }: Tokens, baseUrl: string): Promise<void> {
      const server = await metadataOf(client, baseUrl);
      if (server.revocation_endpoint === undefined) return;
      const hint = refreshToken === undefined ? 'access_token' : 'refresh_token';
      const own = { ...optionsFor(baseUrl), additionalParameters: { token_type_hint: hint } };
      const offered = server.revocation_endpoint_auth_methods_supported ?? server.token_endpoint_auth_methods_supported;
      const { status } = await ask(client, 'revocation', offered, (oauthClient, authenticate) =>
        revocationRequest(server, oauthClient, authenticate, refreshToken ?? access, own),
      );
      if (status >= 400) throw new IssuerFailure('refused', { description: `The issuer answered with status ${status}.` });
    },
  };
}

export type Issuers = ReturnType<typeof openIssuers>;

/** Fails before anything is sent if the metadata has no usable address. */
function asUnsent(cause: unknown): never {
  if (cause instanceof IssuerFailure) throw cause;
  throw new IssuerFailure('unsent', { description: 'The metadata of the issuer names no token endpoint.', cause });
}

const hasIssuer = ({ issuer }: AuthorizationServer, parameters: URLSearchParams): boolean =>
  !parameters.has('iss') || parameters.get('iss') === issuer;

/** As in Basic (RFC 6749 section 2.3.1). */
const formEncoded = (text: string): string =>
  encodeURIComponent(text).replace(/[-_.!~*'()]|%20/g, (one) => (one === '%20' ? '+' : `%${one.charCodeAt(0).toString(16).toUpperCase()}`));

const hiding = (secrets: readonly (string | undefined)[]): ((text: string) => string) => {
  const headers = Object.fromEntries(secrets.flatMap((secret, at) => (secret === undefined ? [] : [[String(at), secret]])));
  return openRedactor({ headers, query: {}, origins: [] }).hide;
};

export const issuersFromEnvironment = (): Issuers => openIssuers({ rules: issuerRules(egressRulesFromEnvironment()) });
