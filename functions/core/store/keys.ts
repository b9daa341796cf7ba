import { splitIntentUid } from '../../../schemas/intent-uid.ts';
import { ulidTimeMs } from '../ulid.ts';
import type { Change } from './records.ts';

/** The primary key of an item. Every key string of the table is made here. */
export interface Key {
  pk: string;
  sk: string;
}

/** How a service name is compared: ignoring case, surrounding and repeated white space, and invisible characters. */
export const foldName = (name: string): string =>
  name
    .normalize('NFC')
    .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
    .trim()
    .replace(/\s+/g, ' ')
    .toUpperCase()
    .toLowerCase();

/** The partition of the changes of one day (UTC). */
export const changesOf = (timeMs: number): string => `CHANGES#${new Date(timeMs).toISOString().slice(0, 10)}`;

export const keys = {
  service: (serviceId: string): Key => ({ pk: `SERVICE#${serviceId}`, sk: 'SERVICE' }),
  serviceName: (serviceName: string): Key => ({ pk: `NAME#${foldName(serviceName)}`, sk: 'NAME' }),
  intent: (intentUid: string): Key => {
    const { namespace, slug, version } = splitIntentUid(intentUid);
    return { pk: `INTENT#${namespace}:${slug}`, sk: version };
  },
  member: (serviceId: string, intentUid: string): Key => ({ pk: `SERVICE#${serviceId}`, sk: `INTENT#${intentUid}` }),
  change: ({ rev, kind, id }: Change): Key => ({ pk: changesOf(ulidTimeMs(rev)), sk: `${rev}#${kind}#${id}` }),
  agent: (agentId: string): Key => ({ pk: `AGENT#${agentId}`, sk: 'AGENT' }),
  limit: (thumbprint: string, counter: string): Key => ({ pk: `LIMIT#${thumbprint}`, sk: counter }),
  call: (agentId: string, idempotencyKey: string): Key => ({ pk: `CALL#${agentId}`, sk: idempotencyKey }),
  /** a policy that PATs were issued under, to show what has changed since */
  policy: (reference: string): Key => ({ pk: `POLICY#${reference}`, sk: 'POLICY' }),
  /** how far the feed of a search collection has come */
  feed: (collection: string): Key => ({ pk: `FEED#${collection}`, sk: 'FEED' }),
  jti: (issuer: string, jti: string): Key => ({ pk: `JTI#${issuer}`, sk: jti }),
};

/** What every member pointer's sort key starts with. */
export const memberPrefix = 'INTENT#';
