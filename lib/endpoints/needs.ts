import type { RecordKind } from '../../functions/core/table/keys.ts';

/** What a function does to items of the table: the operations of `functions/core/table/table.ts`. */
export type TableOperation = 'get' | 'getAll' | 'query' | 'put' | 'update' | 'delete' | 'check';

/** Everything that a function may touch: its permissions and its environment are derived from it. */
export interface Needs {
  table?: Partial<Record<RecordKind, readonly TableOperation[]>>;
  /** `sign`: with the newest key; `publicKey`: of every key */
  kms?: readonly ('sign' | 'publicKey')[];
  /** opens outbound connections: to the endpoints of intents, or to documents at public addresses that callers name */
  egress?: 'intents' | 'documents';
  /** checks addresses at which intents will be called, without calling them */
  addressRules?: true;
  /** functions that it runs, by their names: for PATs, for intents, or for calls that are made later */
  invokes?: readonly ('issue-pat' | 'search-intents' | 'run-deferred-call')[];
  /** reads what the account allows: concurrent executions, and the role with which API Gateway writes logs */
  accountLimits?: true;
  /** tells the account's event bus of calls that wait for approval */
  announces?: true;
  /** has the policy file beside its bundle */
  policy?: true;
  /** has the OpenAPI document beside its bundle, or the page of `/docs`, or that of the console, or the files that both load */
  documents?: 'openapi' | 'page' | 'console' | 'assets';
  /** has the word vectors, by which search compares meanings, beside its bundle */
  wordVectors?: true;
  /** reads or writes the snapshots of the search index */
  snapshots?: 'read' | 'write';
  /** asks the OpenSearch collection, or writes to it */
  collection?: 'read' | 'write';
  /**
   * Uses or sets the credentials of services, which are secrets whose names begin with one prefix.
   * `read`: secretsmanager:GetSecretValue on them; `write`: CreateSecret, PutSecretValue and DeleteSecret
   */
  credentials?: 'read' | 'write';
  /** recognises admins, besides those endpoints that are for admins only */
  adminTokens?: true;
  /** lets people sign in for programs, or says that they may, if the setting `signIn` is made */
  signIn?: true;
  /** lets admins sign in, if the setting `adminSignIn` is made */
  adminSignIn?: true;
}

/** What reading the whole registry takes, as an index is built. */
export const wholeRegistry = { serviceName: ['query'], listEntry: ['query'], service: ['getAll'], intent: ['getAll'] } as const;

/** What following the log of the registry takes. */
export const followed = { head: ['get'], log: ['query'] } as const;

/** What a change takes besides what it changes. */
export const changes = { head: ['get', 'getAll', 'update'], log: ['get', 'put'] } as const;
