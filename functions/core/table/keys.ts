import { createHash } from 'node:crypto';
import { splitIntentUid } from '../../../schemas/intent-uid.ts';
import { foldName } from '../../../schemas/text.ts';

/** The two tables: what admins register, and what agents cause to be written. */
export type TableName = 'registry' | 'activity';

/**
 * The kinds of records: the table that holds them, and what their partition keys begin with. Nothing that anybody may cause to be
 * written without an admin's token stands beside what the search index is built from.
 */
export const partitions = {
  service: { table: 'registry', prefix: 'SERVICE#' },
  serviceName: { table: 'registry', prefix: 'NAMES#' },
  intent: { table: 'registry', prefix: 'INTENT#' },
  listEntry: { table: 'registry', prefix: 'LIST#' },
  namespace: { table: 'registry', prefix: 'NAMESPACE#' },
  head: { table: 'registry', prefix: 'HEAD#' },
  log: { table: 'registry', prefix: 'LOG#' },
  feed: { table: 'registry', prefix: 'FEED#' },
  policy: { table: 'activity', prefix: 'POLICY#' },
  agent: { table: 'activity', prefix: 'AGENT#' },
  agentKey: { table: 'activity', prefix: 'KEY#' },
  agentList: { table: 'activity', prefix: 'AGENTS#' },
  limit: { table: 'activity', prefix: 'LIMIT#' },
  call: { table: 'activity', prefix: 'CALL#' },
  jti: { table: 'activity', prefix: 'JTI#' },
  stats: { table: 'activity', prefix: 'STATS#' },
  session: { table: 'activity', prefix: 'SESSION#' },
  consent: { table: 'activity', prefix: 'CONSENT#' },
  signInCode: { table: 'activity', prefix: 'CODE#' },
  refreshFamily: { table: 'activity', prefix: 'REFRESH#' },
} as const satisfies Record<string, { table: TableName; prefix: string }>;

export type RecordKind = keyof typeof partitions;

/** The primary key of an item. Every key string of the tables is made here. */
export interface Key {
  pk: string;
  sk: string;
}

const tables = new Map<string, TableName>(Object.values(partitions).map(({ prefix, table }) => [prefix, table]));

/** @throws TypeError if no kind of record has such partition keys */
export function tableOf(pk: string): TableName {
  const table = tables.get(pk.slice(0, pk.indexOf('#') + 1));
  if (!table) throw new TypeError('no table holds partitions of this kind');
  return table;
}

/** Longest sort key, in bytes of UTF-8. */
const maxSortKeyBytes = 1024;

/** A text as a sort key. One that is too long (some letters grow when they are folded) ends in its digest instead. */
function toSortKey(text: string, prefixBytes = 0): string {
  if (Buffer.byteLength(text) + prefixBytes <= maxSortKeyBytes) return text;
  return `${text.slice(0, 200).toWellFormed()}#${createHash('sha256').update(text).digest('hex')}`;
}

const key = (kind: RecordKind, rest: string, sk: string): Key => ({ pk: partitions[kind].prefix + rest, sk });

export const keys = {
  service: (serviceId: string): Key => key('service', serviceId, 'SERVICE'),
  /** all names stand in one partition, in the order of services by name */
  serviceName: (serviceName: string): Key => key('serviceName', '', toSortKey(foldName(serviceName))),
  intent: (intentUid: string): Key => {
    const { namespace, slug, version } = splitIntentUid(intentUid);
    return key('intent', `${namespace}:${slug}`, version);
  },
  /** @param list - one of a service's, see `listOf` in `lists.ts` */
  listEntry: (list: string, intentUid: string): Key => key('listEntry', list, intentUid),
  /** how much stands in a namespace */
  namespace: (namespace: string): Key => key('namespace', namespace, 'NAMESPACE'),
  /** how far the registry has come */
  head: (): Key => key('head', '', 'HEAD'),
  /** an entry of the log; all stand in one partition, in their order */
  log: (seq: number): Key => key('log', '', String(seq).padStart(12, '0')),
  /** a policy that PATs were issued under, to show what has changed since */
  policy: (reference: string): Key => key('policy', reference, 'POLICY'),
  /** how far the feed of a search collection has come */
  feed: (collection: string): Key => key('feed', collection, 'FEED'),
  agent: (agentId: string): Key => key('agent', foldName(agentId), 'AGENT'),
  /** what holds for the key of an agent, whatever agent_id it presents */
  agentKey: (thumbprint: string): Key => key('agentKey', thumbprint, 'KEY'),
  /** an entry in the list of the agents of one state */
  agentListed: (state: string, agentId: string): Key => key('agentList', state, toSortKey(foldName(agentId))),
  /** an agent_id that a key has, to find the agents of a key */
  idOfKey: (thumbprint: string, agentId: string): Key => key('agentKey', thumbprint, `AGENT#${toSortKey(foldName(agentId), 6)}`),
  /** an agent_id and a key that wait for approval */
  waiting: (agentId: string, thumbprint: string): Key => key('agent', foldName(agentId), `WAITS#${thumbprint}`),
  /** who has a place in the queue of those who wait for approval */
  waitingPlace: (place: number): Key => key('agentList', 'pending', String(place).padStart(4, '0')),
  /** how many agents have asked for approval: the next one's place follows from it */
  waitingAgents: (): Key => key('agentList', '', 'WAITING'),
  limit: (thumbprint: string, counter: string): Key => key('limit', thumbprint, counter),
  /** @param caller - the thumbprint of the agent's key, or what stands for a person with a client */
  call: (caller: string, idempotencyKey: string): Key => key('call', caller, idempotencyKey),
  jti: (issuer: string, jti: string): Key => key('jti', issuer, jti),
  /**
   * What was counted of a service in one slot: the hours of a day (UTC) stand in one partition, and the days of a month
   * @param slotMs - beginning of the hour or day
   */
  stats: (period: 'day' | 'month', slotMs: number, serviceId: string): Key => {
    const from = new Date(slotMs).toISOString();
    return key('stats', `${period}#${from.slice(0, period === 'day' ? 10 : 7)}`, `${from}#${serviceId}`);
  },
  /** @param digest - of the secret in the person's cookie */
  session: (digest: string): Key => key('session', digest, 'SESSION'),
  /** the policy that a person has accepted for a client */
  consent: (person: string, clientId: string): Key => key('consent', person, toSortKey(clientId)),
  /** @param digest - of an authorization code */
  signInCode: (digest: string): Key => key('signInCode', digest, 'CODE'),
  /** @param digest - of the family's id */
  refreshFamily: (digest: string): Key => key('refreshFamily', digest, 'REFRESH'),
};
