import QuickLRU from 'quick-lru';
import type { OAuthClient } from '../../schemas/connections/oauth-client.ts';
import type { StoredCredential } from '../../schemas/credential.ts';
import { type Credential, type Credentials, credentialsFromEnvironment } from '../core/credentials/credentials.ts';
import type { Around } from '../core/execution/around.ts';
import type { ResolvedCall } from '../core/execution/resolve.ts';
import { CallFailed } from '../core/relay/call-failure.ts';
import { carriesCredential } from '../core/relay/credential.ts';
import { ApiError } from '../core/runtime/api-error.ts';
import type { Key } from '../core/table/keys.ts';
import type { Item, Table } from '../core/table/table.ts';
import { clientIdentity, isConnected } from './client.ts';
import { type GrantItem, type Grants, openGrants, type Renewal } from './grants.ts';
import { IssuerFailure } from './issuer-failure.ts';
import { type Issuers, issuersFromEnvironment } from './issuers.ts';
import { connectionKeys, personGrantKeys } from './records.ts';
import { connectAgain, connectFirst, credentialChanged, noToken, personRequired } from './refusals.ts';
import { sealerFromEnvironment } from './seal.ts';

/** How long opened tokens are cached, in milliseconds. */
const cachedMs = 3_600_000;

/** How long the gate uses its own token if the issuer states no lifetime, in milliseconds. */
const assumedLifeMs = 3_600_000;

/** A token that the service refuses although it is younger than this, in milliseconds, is not renewed: a new one would be refused, too. */
const youngMs = 10_000;

export interface TokenParts {
  table: Pick<Table, 'get'>;
  credentials: Pick<Credentials, 'read'>;
  grants: Pick<Grants, 'open' | 'renew'>;
  issuers: Pick<Issuers, 'obtain' | 'refresh' | 'revoke'>;
  /** milliseconds since the epoch */
  now?: () => number;
}

/** A call that needs a token. */
export interface TokenRequest extends Pick<ResolvedCall, 'service' | 'baseUrl'> {
  /** the person's record, see {@link grantOf} */
  grant: Item | undefined;
  url: string;
  principal: string;
  stored: StoredCredential;
}

type CallToken = NonNullable<ResolvedCall['token']> & {
  /** what to say if the service has refused the token, and its renewal has ended the connection */
  refusal?: ApiError;
};

interface ClientCall extends TokenRequest {
  /** with its fixed values */
  credential: Credential;
  client: OAuthClient;
}

/** A token in use, and how to renew it. */
interface Token {
  item: GrantItem;
  values: Credential;
  renew: () => Promise<Token>;
}

/** Returns a function that obtains the token of a call: that of the gate itself or, with the record that the execution has read, of the person for whom the agent acts. */
export function openTokens({ table, credentials, grants, issuers, now = Date.now }: TokenParts) {
  const opened = new QuickLRU<string, Credential>({ maxSize: 2_000, maxAge: cachedMs });
  const ofGate = new QuickLRU<string, GrantItem>({ maxSize: 1_000 });

  /** What a call carries with the tokens of a record; undefined if they cannot be opened. */
  async function valuesOf(key: Key, item: GrantItem, { credential, stored }: ClientCall): Promise<Credential | undefined> {
    const id = JSON.stringify([key, item.consent, item.client, item.rev, stored.version]);
    const known = opened.get(id);
    if (known) return known;
    const tokens = await grants.open(key, item);
    if (!tokens) return undefined;
    const { headers, query, origins } = credential;
    const values = { headers: { ...headers, Authorization: `Bearer ${tokens.access}` }, query, origins };
    opened.set(id, values);
    return values;
  }

  const renewalOf = ({ service, client, baseUrl }: ClientCall, key: Key): Pick<Renewal, 'key' | 'serviceId' | 'discard'> => ({
    key,
    serviceId: service.service_id,
    discard: (tokens) => issuers.revoke(client, tokens, baseUrl),
  });

  async function tokenOfGate(call: ClientCall): Promise<Token> {
    const { service, client, stored, baseUrl } = call;
    const key = connectionKeys.ofService(service.service_id);
    const id = `${service.service_id} ${stored.version}`;
    const request = () => issuers.obtain(client, baseUrl);
    const renewal = { ...renewalOf(call, key), client: stored.version, isRepeatable: true, request };
    const isFresh = (item: GrantItem | undefined): item is GrantItem =>
      item?.sealed !== undefined && item.client === stored.version && (item.until ?? (item.issued ?? 0) + assumedLifeMs) > now();

    async function use(item: GrantItem | undefined): Promise<Token | undefined> {
      const values = item?.client === stored.version ? await valuesOf(key, item, call) : undefined;
      if (!item || !values) return undefined;
      ofGate.set(id, item);
      return { item, values, renew: () => renew(item) };
    }

    async function renew(seen: GrantItem | undefined): Promise<Token> {
      const token = await use(await grants.renew(renewal, seen));
      if (!token) throw credentialChanged();
      return token;
    }

    const cached = ofGate.get(id);
    const found = isFresh(cached) ? cached : await table.get<GrantItem>(key);
    return (isFresh(found) ? await use(found) : undefined) ?? renew(found);
  }

  async function tokenOfPerson(call: ClientCall): Promise<Token> {
    const { service, client, principal, baseUrl } = call;
    const { service_id: serviceId } = service;
    const [key] = personGrantKeys(serviceId, principal);
    if (!key) throw personRequired();
    const renewal: Renewal = {
      ...renewalOf(call, key),
      client: clientIdentity(client),
      isRepeatable: false,
      request: async (tokens) => {
        if (tokens?.refresh === undefined) throw new IssuerFailure('refused', noRefreshToken);
        return issuers.refresh(client, tokens.refresh, baseUrl);
      },
    };

    async function use(item: GrantItem | undefined, refuse = connectFirst): Promise<Token> {
      const values = item && isConnected(item, client, now()) ? await valuesOf(key as Key, item, call) : undefined;
      if (!item || !values) throw refuse(serviceId, baseUrl, item?.failure);
      return { item, values, renew: () => renew(item, connectAgain) };
    }

    async function renew(seen: GrantItem, refuse = connectFirst): Promise<Token> {
      try {
        return await use(await grants.renew(renewal, seen), refuse);
      } catch (error) {
        const needsConsent = error instanceof IssuerFailure && (error.outcome === 'unknown' || error.words.error === 'invalid_grant');
        throw needsConsent ? refuse(serviceId, baseUrl, error.words) : error;
      }
    }

    const item = call.grant as GrantItem | undefined;
    const hasExpired = item?.until !== undefined && item.until <= now();
    return hasExpired && isConnected(item, client, now()) ? renew(item) : use(item);
  }

  async function readClient(request: TokenRequest): Promise<ClientCall> {
    const { service, stored, url } = request;
    try {
      const credential = await credentials.read(service.service_id, stored);
      const { oauth: client, origins } = credential;
      if (client && origins.includes(new URL(url).origin)) return { ...request, credential, client };
      throw new TypeError('the record of the service and the secret differ');
    } catch (error) {
      throw new CallFailed('no_credential', error);
    }
  }

  /** @throws ApiError whose `details.outcome` is `not_sent` */
  return async (request: TokenRequest): Promise<CallToken> => {
    const { service, stored, baseUrl } = request;
    try {
      const { item, values, renew } = await (stored.oauth?.grant === 'person' ? tokenOfPerson : tokenOfGate)(await readClient(request));
      const token: CallToken = {
        ...values,
        ...(item.consent !== undefined && { consent: item.consent }),
        renew: async () => {
          if (now() - (item.issued ?? 0) < youngMs) return undefined;
          // if this fails, the 401 stands, with which the upstream has not acted
          const renewed = await renew().catch((error: unknown) => {
            if (error instanceof ApiError && error.details.reason === 'connect') token.refusal = error;
          });
          // with another consent the person may be somebody else to the service
          if (!renewed || renewed.item.consent !== item.consent) return undefined;
          token.next = renewed.values;
          return token.next;
        },
        recheck(again) {
          if (stored.oauth?.grant !== 'person') return;
          const found = grantOf(again) as GrantItem | undefined;
          if (!isConnected(found, stored.oauth, now()) || found?.consent !== item.consent)
            throw connectFirst(service.service_id, baseUrl, found?.failure);
        },
      };
      return token;
    } catch (error) {
      throw error instanceof IssuerFailure ? noToken(error.words, error) : error;
    }
  };
}

const noRefreshToken = { error: 'invalid_grant', description: 'There is no refresh token.' };

/** The person's record among those that an execution reads with its intent. */
const grantOf = ({ related: [, grant] = [] }: Pick<ResolvedCall, 'related'>) => grant;

/** Obtains the token of a call before it is attempted, if the call's credential is an OAuth client. */
export const aroundWith =
  (obtain: ReturnType<typeof openTokens>): Around =>
  async ({ holder }, call, attempt) => {
    const { service, baseUrl, upstreamRequest } = call;
    const { url } = upstreamRequest;
    const stored = service.credential;
    if (!stored?.oauth || !carriesCredential(service, new URL(url).origin)) return attempt();
    const token = await obtain({ service, grant: grantOf(call), baseUrl, url, stored, principal: holder.principal });
    call.token = token;
    const attempted = await attempt();
    const { result } = attempted;
    const isRefused = result instanceof ApiError && result.details.upstream_status === 401;
    return isRefused && token.refusal ? { ...attempted, mayHaveActed: false, result: token.refusal } : attempted;
  };

export function tokensFromEnvironment(table: Table): Around {
  const grants = openGrants(table, sealerFromEnvironment());
  return aroundWith(openTokens({ table, grants, credentials: credentialsFromEnvironment(), issuers: issuersFromEnvironment() }));
}
