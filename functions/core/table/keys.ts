import { createHash } from 'node:crypto';
import { splitIntentUid } from '../../../schemas/intent-uid.ts';
import { foldName } from '../../../schemas/text.ts';

export type TableName = 'registry' | 'activity';

export interface Partitions {
  table: TableName;
  /** begins the partition keys */
  prefix: string;
}

/** The kinds of the core's records. The search index is built from the registry table, to which only admins can cause writes. */
const ofCore = {
  service: { table: 'registry', prefix: 'SERVICE#' },
  serviceName: { table: 'registry', prefix: 'NAMES#' },
  intent: { table: 'registry', prefix: 'INTENT#' },
  listEntry: { table: 'registry', prefix: 'LIST#' },
  namespace: { table: 'registry', prefix: 'NAMESPACE#' },
  head: { table: 'registry', prefix: 'HEAD#' },
  log: { table: 'registry', prefix: 'LOG#' },
  versions: { table: 'registry', prefix: 'VERSIONS#' },
  publishedPolicy: { table: 'registry', prefix: 'POLICIES#' },
  snapshot: { table: 'registry', prefix: 'SNAPSHOT#' },
  earlierPolicy: { table: 'activity', prefix: 'POLICY#' },
  agent: { table: 'activity', prefix: 'AGENT#' },
  agentKey: { table: 'activity', prefix: 'KEY#' },
  agentList: { table: 'activity', prefix: 'AGENTS#' },
  limit: { table: 'activity', prefix: 'LIMIT#' },
  call: { table: 'activity', prefix: 'CALL#' },
  execution: { table: 'activity', prefix: 'EXECUTION#' },
  held: { table: 'activity', prefix: 'APPROVAL#' },
  callQueue: { table: 'activity', prefix: 'QUEUE#' },
  jti: { table: 'activity', prefix: 'JTI#' },
  slowCalls: { table: 'activity', prefix: 'SLOW#' },
  executed: { table: 'activity', prefix: 'USAGE#' },
} as const satisfies Record<string, Partitions>;

/** The kinds of features' records: each feature adds its own (declaration merging), beside {@link definePartitions}. */
// biome-ignore lint/suspicious/noEmptyInterface: it is filled by the features
export interface FeatureRecords {}

export type RecordKind = keyof typeof ofCore | keyof FeatureRecords;

/** Every kind of records that has been defined. */
export const partitions = {} as Record<RecordKind, Partitions>;

export interface Key {
  pk: string;
  sk: string;
}

const tables = new Map<string, TableName>();

/** Defines kinds of records. A feature calls it in the module that makes their keys, so that no key exists without its table. */
export function definePartitions<K extends RecordKind>(more: Record<K, Partitions>): (kind: K, rest: string, sk: string) => Key {
  Object.assign(partitions, more);
  for (const { prefix, table } of Object.values<Partitions>(more)) tables.set(prefix, table);
  return (kind, rest, sk) => ({ pk: more[kind].prefix + rest, sk });
}

export function tableOf(pk: string): TableName {
  const table = tables.get(pk.slice(0, pk.indexOf('#') + 1));
  if (!table) throw new TypeError('no table holds partitions of this kind');
  return table;
}

/** Longest sort key, in bytes of UTF-8. */
const maxSortKeyBytes = 1024;

/** Makes a sort key of a text. Replaces the end of a long text with a digest; folding may lengthen a text beyond the limit. */
export function toSortKey(text: string, prefixBytes = 0): string {
  if (Buffer.byteLength(text) + prefixBytes <= maxSortKeyBytes) return text;
  return `${text.slice(0, 200).toWellFormed()}#${createHash('sha256').update(text).digest('hex')}`;
}

export const toSlot = (ms: number): string => new Date(ms).toISOString().slice(0, 16);

/** Several, because DynamoDB serves one item at most 3,000 times a second. */
export const policyCopies = 8;

const key = definePartitions(ofCore);

export const keys = {
  service: (serviceId: string): Key => key('service', serviceId, 'SERVICE'),
  /** all names share one partition, so that services can be listed by name */
  serviceName: (serviceName: string): Key => key('serviceName', '', toSortKey(foldName(serviceName))),
  intent: (intentUid: string): Key => {
    const { namespace, slug, version } = splitIntentUid(intentUid);
    return key('intent', `${namespace}:${slug}`, version);
  },
  /** @param list - one of a service's, see `listNameOf` in `lists.ts` */
  listEntry: (list: string, intentUid: string): Key => key('listEntry', list, intentUid),
  namespace: (namespace: string): Key => key('namespace', namespace, 'NAMESPACE'),
  /** number of the newest log entry */
  head: (): Key => key('head', '', 'HEAD'),
  /** all entries share one partition, in order */
  log: (seq: number): Key => key('log', '', String(seq).padStart(12, '0')),
  versions: (seq: number): Key => key('versions', String(seq), 'VERSIONS'),
  earlierPolicy: (reference: string): Key => key('earlierPolicy', reference, 'POLICY'),
  /** which policy is in force; there are several equal copies, because every execution reads one */
  policyInForce: (copy: number = Math.floor(Math.random() * policyCopies)): Key => key('publishedPolicy', String(copy), 'IN FORCE'),
  publishedPolicy: (version: string): Key => key('publishedPolicy', version, 'POLICY'),
  /** lease of the run that saves a snapshot of the search index */
  snapshot: (): Key => key('snapshot', '', 'LEASE'),
  agent: (agentId: string): Key => key('agent', foldName(agentId), 'AGENT'),
  agentKey: (thumbprint: string): Key => key('agentKey', thumbprint, 'KEY'),
  agentListed: (state: string, agentId: string): Key => key('agentList', state, toSortKey(foldName(agentId))),
  idOfKey: (thumbprint: string, agentId: string): Key => key('agentKey', thumbprint, `AGENT#${toSortKey(foldName(agentId), 6)}`),
  limit: (owner: string, counter: string): Key => key('limit', owner, counter),
  /** @param caller - the holder's account */
  call: (caller: string, idempotencyKey: string): Key => key('call', caller, idempotencyKey),
  execution: (executionId: string): Key => key('execution', executionId, 'EXECUTION'),
  /** a part of a queue of calls */
  queuePart: (queue: 'held' | 'callQueue', part: number): Key => key(queue, String(part), 'CALLS'),
  jti: (issuer: string, jti: string): Key => key('jti', issuer, jti),
  slowCalls: (origin: string, functionName: string): Key => key('slowCalls', origin, `FUNCTION#${functionName}`),
  /**
   * An execution; all executions of an hour and shard share a partition
   * @param minuteMs - start of its minute
   */
  executed: (minuteMs: number, shard: number, executionId: string): Key => {
    const minute = toSlot(minuteMs);
    return key('executed', `${minute.slice(0, 13)}:00#${shard}`, `${minute}#${executionId}`);
  },
};
