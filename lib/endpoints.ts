import type { ErrorCode } from '../schemas/errors.ts';

/** What a function may touch in the table, by record kind (the rows of docs/table.md). `read` is get, batch get and query. */
export type TableNeed = 'read' | 'write' | 'delete' | 'scan';

/** One endpoint: one row, one file in `functions/`, one Lambda. */
export interface Endpoint {
  /** the file in `functions/`, and the name of the Lambda's construct */
  name: string;
  /** row of the specification's endpoint table (section 4.1); none for what is beyond the thirteen */
  row?: number;
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  path: string;
  summary: string;
  credential: 'none' | 'pat' | 'admin';
  success: 200 | 201 | 204;
  /** refusals besides those that every endpoint has (404 for paths, 405, 500, 503) */
  errors: ErrorCode[];
  needs: {
    table?: TableNeed[];
    /** `sign`: kms:Sign with the newest key; `publicKey`: kms:GetPublicKey with every key */
    kms?: ('sign' | 'publicKey')[];
    /** opens outbound connections to intents' own endpoints */
    egress?: true;
    /** checks addresses that intents will be called at, without calling them */
    addressRules?: true;
    /** has the policy file beside its bundle */
    policy?: true;
    /** reads (or writes) the search index snapshots */
    snapshots?: 'read' | 'write';
  };
  /** longest run in seconds; API Gateway gives up after 29 */
  timeoutSeconds: number;
  memoryMb: number;
}

const admin = { credential: 'admin', timeoutSeconds: 10, memoryMb: 512 } as const;
const open = { credential: 'none', timeoutSeconds: 10, memoryMb: 512 } as const;

/**
 * The table of endpoints. The API, the permissions, the local gateway's check, the OpenAPI document and the README's table
 * come from it or are checked against it.
 */
export const endpoints: readonly Endpoint[] = [
  {
    ...open,
    name: 'search-intents',
    row: 1,
    method: 'GET',
    path: '/api/intents/search',
    summary: 'Find intents by question, words and filters',
    success: 200,
    errors: ['INVALID_PARAMETER'],
    needs: { table: ['read', 'scan'], snapshots: 'read' },
    memoryMb: 1024,
  },
  {
    ...open,
    name: 'get-intent',
    row: 2,
    method: 'GET',
    path: '/api/intents/{intent_uid}',
    summary: 'Read one intent',
    success: 200,
    errors: ['INVALID_PARAMETER', 'NOT_FOUND'],
    needs: { table: ['read'] },
  },
  {
    name: 'execute-intent',
    row: 3,
    method: 'POST',
    path: '/api/intents/execute',
    summary: 'Run an intent with a PAT',
    credential: 'pat',
    success: 200,
    errors: [
      'INVALID_PARAMETER',
      'UNSUPPORTED_MEDIA_TYPE',
      'UNAUTHORIZED',
      'FORBIDDEN',
      'NOT_FOUND',
      'CONFLICT',
      'VERSION_CONFLICT',
      'INTENT_DEPRECATED',
      'TOO_MANY_REQUESTS',
      'INTENT_EXECUTION_FAILED',
      'INTENT_NOT_SUPPORTED',
      'GATEWAY_TIMEOUT',
    ],
    needs: { table: ['read', 'write'], kms: ['publicKey'], egress: true, policy: true },
    timeoutSeconds: 29,
    memoryMb: 1024,
  },
  {
    ...open,
    name: 'get-policy',
    row: 4,
    method: 'GET',
    path: '/api/policy',
    summary: 'Read the usage policy',
    success: 200,
    errors: [],
    needs: { policy: true },
  },
  {
    ...open,
    name: 'issue-pat',
    row: 5,
    method: 'POST',
    path: '/api/pat/issue',
    summary: 'Get a Policy Adherence Token for the signed policy',
    success: 200,
    errors: ['INVALID_PARAMETER', 'UNSUPPORTED_MEDIA_TYPE', 'INVALID_SIGNATURE', 'POLICY_REJECTED', 'TOO_MANY_REQUESTS'],
    needs: { table: ['read', 'write'], kms: ['sign', 'publicKey'], policy: true },
  },
  {
    ...admin,
    name: 'create-service',
    row: 6,
    method: 'POST',
    path: '/api/services',
    summary: 'Register a service',
    success: 201,
    errors: ['INVALID_PARAMETER', 'UNSUPPORTED_MEDIA_TYPE', 'UNAUTHORIZED', 'FORBIDDEN', 'CONFLICT'],
    needs: { table: ['read', 'write', 'delete'] },
  },
  {
    ...admin,
    name: 'update-service',
    row: 7,
    method: 'PUT',
    path: '/api/services/{service_id}',
    summary: 'Replace a service',
    success: 200,
    errors: ['INVALID_PARAMETER', 'UNSUPPORTED_MEDIA_TYPE', 'UNAUTHORIZED', 'FORBIDDEN', 'NOT_FOUND', 'CONFLICT'],
    needs: { table: ['read', 'write', 'delete'] },
  },
  {
    ...admin,
    name: 'delete-service',
    row: 8,
    method: 'DELETE',
    path: '/api/services/{service_id}',
    summary: 'Delete a service and its intents',
    success: 204,
    errors: ['UNAUTHORIZED', 'FORBIDDEN', 'NOT_FOUND', 'CONFLICT'],
    needs: { table: ['read', 'write', 'delete'] },
    timeoutSeconds: 29,
  },
  {
    ...open,
    name: 'get-service',
    row: 9,
    method: 'GET',
    path: '/api/services/{service_id}',
    summary: 'Read a service',
    success: 200,
    errors: ['NOT_FOUND'],
    needs: { table: ['read'] },
  },
  {
    ...open,
    name: 'list-service-intents',
    row: 10,
    method: 'GET',
    path: '/api/services/{service_id}/intents',
    summary: "List a service's intents",
    success: 200,
    errors: ['INVALID_PARAMETER', 'NOT_FOUND'],
    needs: { table: ['read'] },
  },
  {
    ...admin,
    name: 'create-intent',
    row: 11,
    method: 'POST',
    path: '/api/services/{service_id}/intents',
    summary: 'Create an intent',
    success: 201,
    errors: ['INVALID_PARAMETER', 'UNSUPPORTED_MEDIA_TYPE', 'UNAUTHORIZED', 'FORBIDDEN', 'NOT_FOUND', 'CONFLICT'],
    needs: { table: ['read', 'write', 'delete'], addressRules: true },
  },
  {
    ...admin,
    name: 'update-intent',
    row: 12,
    method: 'PUT',
    path: '/api/intents/{intent_uid}',
    summary: 'Replace an intent (its intent_id is its intent_uid)',
    success: 200,
    errors: ['INVALID_PARAMETER', 'UNSUPPORTED_MEDIA_TYPE', 'UNAUTHORIZED', 'FORBIDDEN', 'NOT_FOUND', 'CONFLICT'],
    needs: { table: ['read', 'write'], addressRules: true },
  },
  {
    ...admin,
    name: 'delete-intent',
    row: 13,
    method: 'DELETE',
    path: '/api/intents/{intent_uid}',
    summary: 'Delete an intent',
    success: 204,
    errors: ['UNAUTHORIZED', 'FORBIDDEN', 'NOT_FOUND', 'CONFLICT'],
    needs: { table: ['read', 'write', 'delete'] },
  },
  {
    ...open,
    name: 'get-jwks',
    method: 'GET',
    path: '/.well-known/jwks.json',
    summary: 'Read the public keys that verify PATs',
    success: 200,
    errors: [],
    needs: { kms: ['publicKey'] },
  },
  {
    ...open,
    name: 'get-health',
    method: 'GET',
    path: '/health',
    summary: 'Whether the service is up',
    success: 200,
    errors: [],
    needs: {},
    memoryMb: 256,
  },
];
