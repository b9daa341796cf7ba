import type { RecordKind } from '../../functions/core/table/keys.ts';

export type TableOperation = 'get' | 'getAll' | 'query' | 'put' | 'update' | 'delete' | 'writeAll' | 'check';

/** Everything that a function may access. Its permissions and environment are derived from this. Features add members (declaration merging). */
export interface Needs {
  table?: Partial<Record<RecordKind, readonly TableOperation[]>>;
  /** `sign`: with the newest key; `publicKey`: of every key */
  kms?: readonly ('sign' | 'publicKey')[];
  /** opens outbound connections, to endpoints of intents or to public documents that callers name */
  egress?: 'intents' | 'documents';
  /** checks the addresses of intents without calling them */
  addressRules?: true;
  invokes?: readonly ('issue-pat' | 'search-intents' | 'run-deferred-call' | 'snapshot-search-index')[];
  /** reads the account's concurrency quota and API Gateway's log role */
  accountLimits?: true;
  /** tells people what features check before a PAT is issued */
  issueChecks?: true;
  /** has the policy of the deployment beside its bundle, and reads the published one */
  policy?: true;
  /** has the word vectors beside its bundle */
  wordVectors?: true;
  /** access to snapshots of the search index */
  snapshots?: 'read' | 'write';
  /**
   * access to the credentials of services, which are secrets with a common name prefix.
   * `read`: secretsmanager:GetSecretValue; `write`: CreateSecret, PutSecretValue and DeleteSecret
   */
  credentials?: 'read' | 'write';
  /** recognises admins, although the endpoint is public */
  adminTokens?: true;
  /** shows intents, so that with the setting `catalogue: permitted` it needs {@link callerNeeds}, and access to these records */
  catalogue?: NonNullable<Needs['table']>;
}

/** Needed to find out what a caller sees. */
export const callerNeeds: Needs = {
  table: { publishedPolicy: ['getAll'], agent: ['getAll'], agentKey: ['getAll'] },
  kms: ['publicKey'],
  policy: true,
  adminTokens: true,
};

/** Needed to read the whole registry. */
export const wholeRegistry = { serviceName: ['query'], listEntry: ['query'], service: ['getAll'], intent: ['getAll'] } as const;

/** Needed to follow the registry's log. */
export const followed = { head: ['get'], log: ['query'] } as const;

/** Needed by every change, besides its records. */
export const changes = { head: ['get', 'getAll', 'update'], log: ['get', 'put'] } as const;

/** Needed to change a service or intent: a change also keeps the previous version of the record. */
export const recordChanges = { ...changes, versions: ['put'] } as const;

/** Needed to change which policies are in force or on trial. */
export const policyChanges = { ...changes, publishedPolicy: ['get', 'getAll', 'put'] } as const;
