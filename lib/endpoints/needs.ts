import type { RecordKind } from '../../functions/core/table/keys.ts';

export type TableOperation = 'get' | 'getAll' | 'query' | 'put' | 'update' | 'delete' | 'check';

/** Everything that a function may touch; its permissions and environment are derived from this. */
export interface Needs {
  table?: Partial<Record<RecordKind, readonly TableOperation[]>>;
  /** `sign`: with the newest key; `publicKey`: of every key */
  kms?: readonly ('sign' | 'publicKey')[];
  /** has the keys that sign calls: kms:GenerateMac with the key from which they follow */
  callKey?: true;
  /** opens outbound connections, to endpoints of intents or to public documents that callers name */
  egress?: 'intents' | 'documents';
  /** checks the addresses of intents without calling them */
  addressRules?: true;
  invokes?: readonly ('issue-pat' | 'search-intents' | 'run-deferred-call')[];
  /** gives receipts, puts them into their log, or reads the log; nothing if the setting `receipts` is `off` */
  receipts?: 'give' | 'log' | 'read';
  /** reads the account's concurrency quota and API Gateway's log role */
  accountLimits?: true;
  /** sends events about calls that wait for approval */
  announces?: true;
  policy?: true;
  /** has the file of the setting `tryPolicyFile` beside its bundle */
  triesPolicy?: true;
  /** the documents beside its bundle */
  documents?: 'openapi' | 'page' | 'console' | 'assets';
  /** has the word vectors beside its bundle */
  wordVectors?: true;
  /** the access to snapshots of the search index */
  snapshots?: 'read' | 'write';
  /** the access to the OpenSearch collection */
  collection?: 'read' | 'write';
  /**
   * Uses or sets the credentials of services, which are secrets whose names begin with one prefix.
   * `read`: secretsmanager:GetSecretValue on them; `write`: CreateSecret, PutSecretValue and DeleteSecret
   */
  credentials?: 'read' | 'write';
  /** recognises admins, although the endpoint is public */
  adminTokens?: true;
  /** lets people sign in for programs, or says so, with the setting `signIn` */
  signIn?: true;
  /** lets admins sign in, with the setting `adminSignIn` */
  adminSignIn?: true;
}

/** Needed to read the whole registry. */
export const wholeRegistry = { serviceName: ['query'], listEntry: ['query'], service: ['getAll'], intent: ['getAll'] } as const;

/** Needed to follow the registry's log. */
export const followed = { head: ['get'], log: ['query'] } as const;

/** Needed by every change, besides its records. */
export const changes = { head: ['get', 'getAll', 'update'], log: ['get', 'put'] } as const;

/** What a change of a service or intent takes, which keeps what the record said. */
export const recordChanges = { ...changes, versions: ['put'] } as const;
