import { canonicalDigest } from '../../schemas/canonical.ts';
import type { OAuthClient } from '../../schemas/connections/oauth-client.ts';
import type { GrantItem } from './grants.ts';

/** Identifies what people agreed to: a grant is usable only while this stays the same. */
export const clientIdentity = ({ client_secret: _, ...client }: OAuthClient): string => canonicalDigest(client);

/** Whether a person's grant is of use to a client. */
export const isConnected = (item: GrantItem | undefined, client: OAuthClient, nowMs: number): boolean =>
  item?.sealed !== undefined && item.client === clientIdentity(client) && item.expires_at > nowMs / 1_000;
