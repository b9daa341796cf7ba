import { createHmac, randomBytes } from 'node:crypto';
import type { OAuthClient } from '../../schemas/connections/oauth-client.ts';
import { personOf } from '../core/pat/holder.ts';
import { newUlid } from '../core/runtime/ulid.ts';
import { keys } from '../core/table/keys.ts';
import type { Item, Table } from '../core/table/table.ts';
import type { Session } from '../sign-in/session.ts';
import { digestOf } from '../sign-in/sign-ins.ts';
import { clientIdentity } from './client.ts';
import type { Failure, GrantItem } from './grants.ts';
import type { Attempt } from './issuers.ts';
import { connectionKeys } from './records.ts';
import type { IssuedTokens } from './seal.ts';

/** How long a person may be at the issuer, in seconds. */
const connectingSeconds = 600;

interface ConnectingItem extends Item {
  service_id: string;
  /** digest of the session's secret */
  session: string;
  client: string;
  expires_at: number;
}

/** Where issuers send people back to. Each service has its own, so that one issuer's answer is never taken for another's (RFC 9700 section 4.4). */
export const redirectUriOf = (serviceId: string, baseUrl: string): string => `${baseUrl}/connect/${serviceId}/callback`;

/** The verifier (RFC 7636) depends on the session's secret, so that it need not be stored. */
const attemptOf = (state: string, { secret }: Session, serviceId: string, baseUrl: string): Attempt => ({
  state,
  verifier: createHmac('sha256', secret).update(`connect ${state}`).digest('base64url'),
  redirectUri: redirectUriOf(serviceId, baseUrl),
});

/** The connections of people to services. */
export function openConnections(table: Pick<Table, 'get' | 'put' | 'delete' | 'query' | 'transact'>) {
  return {
    /** Records that a person is being sent to the issuer. */
    async begin(session: Session, serviceId: string, client: OAuthClient, baseUrl: string): Promise<Attempt> {
      const state = randomBytes(32).toString('base64url');
      const expires_at = Math.floor(Date.now() / 1_000) + connectingSeconds;
      const item = { service_id: serviceId, session: digestOf(session.secret), client: clientIdentity(client), expires_at };
      await table.put({ ...connectionKeys.connecting(digestOf(state)), ...item });
      return attemptOf(state, session, serviceId, baseUrl);
    },

    /** Takes up an attempt, once. @returns undefined unless this session began it for this client, within ten minutes */
    async takeUp(state: string, session: Session, serviceId: string, client: OAuthClient, baseUrl: string): Promise<Attempt | undefined> {
      const key = connectionKeys.connecting(digestOf(state));
      const item = await table.get<ConnectingItem>(key);
      const isOwn = item?.session === digestOf(session.secret) && item.service_id === serviceId && item.client === clientIdentity(client);
      if (!isOwn || item.expires_at <= Date.now() / 1_000) return undefined;
      return (await table.delete(key, { when: [['exists', 'pk']] })) ? attemptOf(state, session, serviceId, baseUrl) : undefined;
    },

    /**
     * Keeps a person's grant, in place of an earlier one.
     * @param tokens - sealed
     * @returns false if the person is blocked
     */
    async keep(
      { subject, userName }: Session['person'],
      serviceId: string,
      client: OAuthClient,
      tokens: Pick<GrantItem, 'sealed' | 'issued' | 'until' | 'expires_at'>,
      { scopes = client.scopes ?? [] }: Pick<IssuedTokens, 'scopes'>,
    ): Promise<boolean> {
      const [person, identity] = [personOf(subject), clientIdentity(client)];
      const grant = { ...tokens, client: identity, consent: newUlid(), rev: 1, user_name: userName, scopes, connected_at: Date.now() };
      const { expires_at } = tokens;
      const written = await table.transact([
        { put: { ...connectionKeys.ofPerson(person, serviceId), ...grant } },
        { put: { ...connectionKeys.listed(serviceId, person), client: identity, expires_at } },
        { check: keys.agentKey(person), when: [['absent', 'blocked_by']] },
      ]);
      return written === true;
    },

    find: (subject: string, serviceId: string): Promise<GrantItem | undefined> =>
      table.get<GrantItem>(connectionKeys.ofPerson(personOf(subject), serviceId)),

    /** The connections of a person, with the ids of their services. */
    async list(subject: string): Promise<[serviceId: string, item: GrantItem][]> {
      const { items } = await table.query<GrantItem & { sk: string }>(connectionKeys.ofPerson(personOf(subject), '').pk);
      return items.map((item) => [item.sk, item]);
    },

    async end(subject: string, serviceId: string): Promise<void> {
      const person = personOf(subject);
      await table.transact([{ delete: connectionKeys.ofPerson(person, serviceId) }, { delete: connectionKeys.listed(serviceId, person) }]);
    },

    /** How many people are connected to a service as this client. */
    async count(serviceId: string, client: OAuthClient): Promise<number> {
      let [count, start] = [0, undefined as Parameters<Table['query']>[1]];
      for (;;) {
        const range = ['begins', 'PERSON#'] as const;
        const { items, lastKey } = await table.query<GrantItem>(connectionKeys.ofService(serviceId).pk, { ...start, range });
        count += items.filter((item) => item.client === clientIdentity(client)).length;
        if (!lastKey) return count;
        start = { start: lastKey };
      }
    },

    /** The gate's own token for a service, and the last failure. */
    ofService: (serviceId: string): Promise<GrantItem | undefined> => table.get<GrantItem>(connectionKeys.ofService(serviceId)),
  };
}

export type Connections = ReturnType<typeof openConnections>;

/** A failure as it is shown. */
export const describeFailure = ({ at, error, description }: Failure) => ({
  at: new Date(at).toISOString(),
  ...(error !== undefined && { error }),
  ...(description !== undefined && { description }),
});
