import type { RecordKind } from '../functions/core/table/keys.ts';
import type { ErrorCode } from '../schemas/errors.ts';

/** What a function does to items of the table: the operations of `functions/core/table/table.ts`. */
export type TableOperation = 'get' | 'getAll' | 'query' | 'put' | 'update' | 'delete' | 'check';

/** Everything that a function may touch: its permissions and its environment are derived from it. */
export interface Needs {
  table?: Partial<Record<RecordKind, readonly TableOperation[]>>;
  /** `sign`: with the newest key; `publicKey`: of every key */
  kms?: readonly ('sign' | 'publicKey')[];
  /** opens outbound connections to intents' own endpoints */
  egress?: true;
  /** checks addresses at which intents will be called, without calling them */
  addressRules?: true;
  /** functions that it asks, by their names: for PATs, or for intents */
  invokes?: readonly ('issue-pat' | 'search-intents')[];
  /** has the policy file beside its bundle */
  policy?: true;
  /** has the OpenAPI document beside its bundle, or the reference page, or the console, or the files that both pages load */
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

/** A row of the table of endpoints. */
interface Row {
  /** the file in `functions/`, and the name of the Lambda's construct */
  name: string;
  /** row of the specification's endpoint table (section 4.1); none for additional endpoints */
  row?: number;
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  path: string;
  /** a further path, at which the protocol's guides look for it; see {@link aliasOf} */
  alias?: string;
  /** further paths of the same function, which tells them apart; with `onlyWith`, there only if the setting of that name is made */
  further?: readonly { path: string; onlyWith?: 'signIn' }[];
  summary: string;
  credential: 'none' | 'pat' | 'admin';
  success: 200 | 201 | 204 | 302;
  /** refusals besides those that every endpoint has (404 for paths, 405, 500, 503) */
  errors: readonly ErrorCode[];
  /** is there only if the setting of this name is made */
  onlyWith?: 'signIn';
  /** endpoints whose actions it runs in its own process: it needs what they need, besides its own */
  runs?: readonly string[];
  needs: Needs;
  /** what it needs instead if the setting `search` is `opensearch` */
  needsWithCollection?: Needs;
  /** longest run in seconds; API Gateway gives up after 29 */
  timeoutSeconds: number;
  memoryMb: number;
}

const admin = { credential: 'admin', timeoutSeconds: 10, memoryMb: 512 } as const;
const open = { credential: 'none', timeoutSeconds: 10, memoryMb: 512 } as const;

const forSignIn = { ...open, onlyWith: 'signIn' } as const;

/** What reading the whole registry takes, as an index is built. */
const wholeRegistry = { serviceName: ['query'], listEntry: ['query'], service: ['getAll'], intent: ['getAll'] } as const;

/** What following the log of the registry takes. */
const followed = { head: ['get'], log: ['query'] } as const;

/** What a change takes besides what it changes. */
const changes = { head: ['get', 'getAll', 'update'], log: ['get', 'put'] } as const;

/** What changing intents takes. */
const intentChanges = {
  ...changes,
  service: ['get', 'getAll', 'update', 'check'],
  intent: ['getAll', 'put', 'delete'],
  listEntry: ['put', 'delete'],
  namespace: ['getAll', 'update'],
} as const;

const rows = [
  {
    ...open,
    name: 'search-intents',
    row: 1,
    method: 'GET',
    path: '/api/intents/search',
    alias: '/{protocol}/intents/search',
    summary: 'Find intents by question, words and filters',
    success: 200,
    errors: ['INVALID_PARAMETER'],
    needs: { table: { ...wholeRegistry, ...followed }, snapshots: 'read', policy: true, wordVectors: true },
    needsWithCollection: { collection: 'read', policy: true },
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
    errors: ['INVALID_PARAMETER', 'UNAUTHORIZED', 'FORBIDDEN', 'NOT_FOUND'],
    needs: { table: { intent: ['getAll'], service: ['get', 'getAll'] }, invokes: ['search-intents'], adminTokens: true, policy: true },
  },
  {
    name: 'execute-intent',
    row: 3,
    method: 'POST',
    path: '/api/intents/execute',
    alias: '/{protocol}/execute',
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
    needs: {
      table: {
        intent: ['getAll', 'query'],
        service: ['get', 'getAll'],
        agent: ['getAll'],
        agentKey: ['getAll'],
        limit: ['get', 'put', 'update'],
        call: ['get', 'put', 'update', 'delete'],
        jti: ['put'],
        policy: ['get'],
        stats: ['update'],
      },
      kms: ['publicKey'],
      egress: true,
      credentials: 'read',
      invokes: ['search-intents'],
      policy: true,
    },
    timeoutSeconds: 29,
    memoryMb: 1024,
  },
  {
    ...open,
    name: 'get-policy',
    row: 4,
    method: 'GET',
    path: '/api/policy',
    alias: '/{protocol}-policy.json',
    summary: 'Read the usage policy',
    success: 200,
    errors: ['INVALID_PARAMETER'],
    needs: { policy: true },
  },
  {
    ...open,
    name: 'issue-pat',
    row: 5,
    method: 'POST',
    path: '/api/pat/issue',
    alias: '/pat/issue',
    summary: 'Get a Policy Adherence Token for the signed policy',
    success: 200,
    errors: ['INVALID_PARAMETER', 'UNSUPPORTED_MEDIA_TYPE', 'INVALID_SIGNATURE', 'POLICY_REJECTED', 'TOO_MANY_REQUESTS'],
    needs: {
      table: {
        agent: ['getAll', 'put', 'update', 'delete', 'check'],
        agentKey: ['getAll', 'put', 'update', 'delete', 'check'],
        agentList: ['get', 'getAll', 'put', 'update', 'delete'],
        limit: ['get', 'put', 'update'],
        jti: ['put'],
        policy: ['get', 'put'],
      },
      kms: ['sign', 'publicKey'],
      policy: true,
    },
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
    needs: { table: { ...changes, serviceName: ['getAll', 'put'], service: ['put'], namespace: ['getAll', 'update'] } },
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
    needs: {
      table: {
        ...changes,
        serviceName: ['getAll', 'put', 'delete'],
        service: ['getAll', 'put'],
        listEntry: ['query'],
        namespace: ['getAll', 'update'],
      },
    },
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
    needs: {
      table: {
        ...changes,
        serviceName: ['delete'],
        service: ['getAll', 'delete'],
        listEntry: ['query', 'delete'],
        intent: ['delete'],
        namespace: ['getAll', 'update'],
      },
      credentials: 'write',
    },
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
    needs: { table: { service: ['get'] }, adminTokens: true },
  },
  {
    ...open,
    name: 'list-service-intents',
    row: 10,
    method: 'GET',
    path: '/api/services/{service_id}/intents',
    summary: "List a service's intents",
    success: 200,
    errors: ['INVALID_PARAMETER', 'UNAUTHORIZED', 'FORBIDDEN', 'NOT_FOUND'],
    needs: { table: { listEntry: ['query'], service: ['get'] }, adminTokens: true },
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
    needs: {
      table: intentChanges,
      addressRules: true,
    },
  },
  {
    ...admin,
    name: 'change-intents',
    method: 'POST',
    path: '/api/services/{service_id}/changes',
    summary: "Create, replace and delete up to 30 of a service's intents, all or none",
    success: 200,
    errors: ['INVALID_PARAMETER', 'UNSUPPORTED_MEDIA_TYPE', 'UNAUTHORIZED', 'FORBIDDEN', 'NOT_FOUND', 'CONFLICT'],
    needs: { table: intentChanges, addressRules: true },
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
    needs: {
      table: intentChanges,
      addressRules: true,
    },
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
    needs: {
      table: intentChanges,
    },
  },
  {
    ...open,
    name: 'list-services',
    method: 'GET',
    path: '/api/services',
    summary: 'List the services',
    success: 200,
    errors: ['INVALID_PARAMETER'],
    needs: { table: { serviceName: ['query'], service: ['getAll'] }, adminTokens: true },
  },
  {
    ...admin,
    name: 'list-agents',
    method: 'GET',
    path: '/api/agents',
    summary: 'List agents: active ones, those that wait for approval, or blocked ones',
    success: 200,
    errors: ['INVALID_PARAMETER', 'UNAUTHORIZED', 'FORBIDDEN'],
    needs: { table: { agent: ['getAll'], agentList: ['get', 'query'] } },
  },
  {
    ...admin,
    name: 'clear-waiting-agents',
    method: 'DELETE',
    path: '/api/agents',
    summary: 'Remove every request for approval',
    success: 204,
    errors: ['INVALID_PARAMETER', 'UNAUTHORIZED', 'FORBIDDEN'],
    needs: { table: { ...changes, agentList: ['getAll', 'query', 'update'] } },
  },
  {
    ...admin,
    name: 'get-agent',
    method: 'GET',
    path: '/api/agents/{agent_id}',
    summary: 'Read the key that an agent id is bound to, whether it is blocked, and what it has used of its limits',
    success: 200,
    errors: ['INVALID_PARAMETER', 'UNAUTHORIZED', 'FORBIDDEN', 'NOT_FOUND', 'CONFLICT'],
    needs: {
      table: { agent: ['get', 'getAll', 'query'], agentKey: ['query'], agentList: ['get', 'getAll'], limit: ['get'] },
      policy: true,
    },
  },
  {
    ...admin,
    name: 'revoke-agent',
    method: 'POST',
    path: '/api/agents/{agent_id}/revoke',
    summary: "Revoke an agent's PATs",
    success: 200,
    errors: ['INVALID_PARAMETER', 'UNAUTHORIZED', 'FORBIDDEN', 'NOT_FOUND', 'CONFLICT'],
    needs: { table: { ...changes, agent: ['getAll', 'update'], agentKey: ['query'], agentList: ['getAll'] } },
  },
  {
    ...admin,
    name: 'delete-agent',
    method: 'DELETE',
    path: '/api/agents/{agent_id}',
    summary: 'Free an agent id for another key',
    success: 204,
    errors: ['INVALID_PARAMETER', 'UNAUTHORIZED', 'FORBIDDEN', 'NOT_FOUND', 'CONFLICT'],
    needs: {
      table: {
        ...changes,
        agent: ['getAll', 'query', 'update', 'delete'],
        agentKey: ['getAll', 'query', 'update', 'delete'],
        agentList: ['get', 'getAll', 'delete'],
      },
    },
  },
  {
    ...admin,
    name: 'approve-agent',
    method: 'POST',
    path: '/api/agents/{agent_id}/approve',
    summary: 'Let an agent that waits for approval have PATs',
    success: 200,
    errors: ['INVALID_PARAMETER', 'UNSUPPORTED_MEDIA_TYPE', 'UNAUTHORIZED', 'FORBIDDEN', 'NOT_FOUND', 'CONFLICT'],
    needs: {
      table: {
        ...changes,
        agent: ['getAll', 'query', 'update', 'delete', 'check'],
        agentKey: ['query', 'put'],
        agentList: ['get', 'getAll', 'put', 'delete'],
      },
    },
  },
  {
    ...admin,
    name: 'block-agent',
    method: 'PUT',
    path: '/api/agents/{agent_id}/block',
    summary: 'Keep an agent out: its id and its key',
    success: 200,
    errors: ['INVALID_PARAMETER', 'UNSUPPORTED_MEDIA_TYPE', 'UNAUTHORIZED', 'FORBIDDEN', 'NOT_FOUND', 'CONFLICT'],
    needs: {
      table: {
        ...changes,
        agent: ['getAll', 'query', 'update', 'delete', 'check'],
        agentKey: ['query', 'put', 'update', 'delete'],
        agentList: ['get', 'getAll', 'put', 'delete'],
      },
    },
  },
  {
    ...admin,
    name: 'unblock-agent',
    method: 'DELETE',
    path: '/api/agents/{agent_id}/block',
    summary: 'Lift the block of an agent',
    success: 204,
    errors: ['INVALID_PARAMETER', 'UNAUTHORIZED', 'FORBIDDEN', 'NOT_FOUND', 'CONFLICT'],
    needs: {
      table: {
        ...changes,
        agent: ['getAll', 'update', 'delete'],
        agentKey: ['getAll', 'query', 'put', 'update', 'delete'],
        agentList: ['getAll', 'put', 'delete'],
      },
    },
  },
  {
    ...admin,
    name: 'put-service-credential',
    method: 'PUT',
    path: '/api/services/{service_id}/credential',
    summary: 'Set the credential that calls of a service carry, and get the key that they are signed with',
    success: 200,
    errors: ['INVALID_PARAMETER', 'UNSUPPORTED_MEDIA_TYPE', 'UNAUTHORIZED', 'FORBIDDEN', 'NOT_FOUND', 'CONFLICT'],
    needs: { table: { ...changes, service: ['get', 'getAll', 'put'] }, credentials: 'write', addressRules: true },
  },
  {
    ...admin,
    name: 'delete-service-credential',
    method: 'DELETE',
    path: '/api/services/{service_id}/credential',
    summary: 'Remove the credential of a service',
    success: 204,
    errors: ['UNAUTHORIZED', 'FORBIDDEN', 'NOT_FOUND', 'CONFLICT'],
    needs: { table: { ...changes, service: ['get', 'getAll', 'put'] }, credentials: 'write' },
  },
  {
    ...admin,
    name: 'list-changes',
    method: 'GET',
    path: '/api/changes',
    summary: 'Read who changed what',
    success: 200,
    errors: ['INVALID_PARAMETER', 'UNAUTHORIZED', 'FORBIDDEN'],
    needs: { table: { head: ['get'], log: ['query'] } },
  },
  {
    ...admin,
    name: 'get-stats',
    method: 'GET',
    path: '/api/stats',
    summary: 'Read how often intents were executed, and how their services did',
    success: 200,
    errors: ['INVALID_PARAMETER', 'UNAUTHORIZED', 'FORBIDDEN'],
    needs: { table: { stats: ['query'], service: ['getAll'] } },
  },
  {
    ...open,
    name: 'mcp',
    method: 'POST',
    path: '/mcp',
    further: [{ path: '/mcp/sign-in', onlyWith: 'signIn' }],
    summary: 'Search, read, accept the policy and execute over the Model Context Protocol',
    success: 200,
    errors: ['UNSUPPORTED_MEDIA_TYPE', 'FORBIDDEN'],
    runs: ['search-intents', 'get-intent', 'get-policy', 'execute-intent'],
    needs: { invokes: ['issue-pat'], signIn: true },
    timeoutSeconds: 29,
    memoryMb: 1024,
  },
  {
    ...open,
    name: 'get-service-description',
    method: 'GET',
    path: '/api/services/{service_id}/description',
    summary: 'Read what a service publishes for agents',
    success: 200,
    errors: ['INVALID_PARAMETER', 'NOT_FOUND'],
    needs: { table: { listEntry: ['query'], service: ['get'], intent: ['getAll'] }, kms: ['publicKey'] },
  },
  {
    ...open,
    name: 'get-own-description',
    method: 'GET',
    path: '/agents.json',
    summary: 'Read what this gate publishes for agents',
    success: 200,
    errors: ['INVALID_PARAMETER'],
    runs: ['search-intents'],
    needs: { kms: ['publicKey'], signIn: true },
    memoryMb: 1024,
  },
  {
    ...open,
    name: 'get-openapi',
    method: 'GET',
    path: '/openapi.json',
    summary: 'Read the OpenAPI document',
    success: 200,
    errors: [],
    needs: { documents: 'openapi' },
  },
  {
    ...open,
    name: 'get-docs',
    method: 'GET',
    path: '/docs',
    summary: 'Read and try the API in a browser',
    success: 200,
    errors: [],
    needs: { policy: true, documents: 'page' },
  },
  {
    ...open,
    name: 'get-docs-asset',
    method: 'GET',
    path: '/docs/{asset}',
    summary: 'Get a file that the reference page or the console loads',
    success: 200,
    errors: ['NOT_FOUND'],
    needs: { documents: 'assets' },
  },
  {
    ...open,
    name: 'get-root',
    method: 'GET',
    path: '/',
    summary: 'Go to the console, or for programs to the OpenAPI document',
    success: 302,
    errors: [],
    needs: {},
    memoryMb: 256,
  },
  {
    ...open,
    name: 'get-console',
    method: 'GET',
    path: '/console',
    summary: 'Find and run intents, and administer them, in a browser',
    success: 200,
    errors: [],
    needs: { documents: 'console', adminSignIn: true, signIn: true },
  },
  {
    ...open,
    name: 'get-api-catalog',
    method: 'GET',
    path: '/.well-known/api-catalog',
    further: [{ path: '/llms.txt' }],
    summary: 'Read where everything is that agents need',
    success: 200,
    errors: [],
    needs: { signIn: true },
    memoryMb: 256,
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
    summary: 'Whether the gate is up',
    success: 200,
    errors: [],
    needs: {},
    memoryMb: 256,
  },
  {
    ...forSignIn,
    name: 'get-protected-resource',
    method: 'GET',
    path: '/.well-known/oauth-protected-resource/mcp/sign-in',
    summary: 'Read how to get a token for MCP',
    success: 200,
    errors: [],
    needs: {},
    memoryMb: 256,
  },
  {
    ...forSignIn,
    name: 'get-authorization-server',
    method: 'GET',
    path: '/.well-known/oauth-authorization-server/oauth',
    further: [{ path: '/.well-known/oauth-authorization-server' }],
    summary: 'Read what sign-in supports',
    success: 200,
    errors: [],
    needs: {},
    memoryMb: 256,
  },
  {
    ...forSignIn,
    name: 'authorize',
    method: 'GET',
    path: '/oauth/authorize',
    summary: 'Sign in, and read the policy',
    success: 200,
    errors: [],
    needs: {
      table: { session: ['get', 'update', 'delete'], consent: ['get'], signInCode: ['put'] },
      egress: true,
      policy: true,
      signIn: true,
    },
  },
  {
    ...forSignIn,
    name: 'finish-sign-in',
    method: 'GET',
    path: '/oauth/signed-in',
    summary: 'Come back from the sign-in page of the user pool',
    success: 302,
    errors: [],
    needs: { table: { session: ['put'] }, signIn: true },
  },
  {
    ...forSignIn,
    name: 'accept-policy',
    method: 'POST',
    path: '/oauth/accept',
    summary: 'Accept the policy for a program',
    success: 200,
    errors: [],
    needs: {
      table: { session: ['get', 'update', 'delete'], consent: ['put'], signInCode: ['put'] },
      egress: true,
      policy: true,
      signIn: true,
    },
  },
  {
    ...forSignIn,
    name: 'issue-token',
    method: 'POST',
    path: '/oauth/token',
    further: [{ path: '/oauth/revoke' }],
    summary: 'Exchange a code, or renew',
    success: 200,
    errors: [],
    needs: {
      table: {
        signInCode: ['get'],
        refreshFamily: ['get', 'put', 'update', 'delete'],
        agent: ['getAll', 'put', 'update', 'delete', 'check'],
        agentKey: ['getAll', 'put', 'delete', 'check'],
        agentList: ['get', 'getAll', 'put', 'update', 'delete'],
        limit: ['get', 'put', 'update'],
        jti: ['put'],
        policy: ['put'],
      },
      kms: ['sign', 'publicKey'],
      policy: true,
      signIn: true,
    },
  },
  {
    ...forSignIn,
    name: 'register-client',
    method: 'POST',
    path: '/oauth/register',
    summary: 'Register a program on the machine of a person',
    success: 201,
    errors: [],
    needs: {},
    memoryMb: 256,
  },
] as const satisfies readonly Row[];

export type EndpointName = (typeof rows)[number]['name'];

type PlacesOf<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}` ? Name | PlacesOf<Rest> : never;

/** The variables in paths. */
export type PathVariable = PlacesOf<(typeof rows)[number]['path']>;

/** One endpoint: one row, one file in `functions/`, one Lambda. */
export interface Endpoint extends Row {
  name: EndpointName;
}

/** What two parts need together. Members that are neither tables nor lists are taken from the second part. */
function mergeNeeds(one: Needs, other: Needs): Needs {
  const kinds = new Set([...Object.keys(one.table ?? {}), ...Object.keys(other.table ?? {})] as RecordKind[]);
  const union = <T>(...lists: (readonly T[] | undefined)[]): T[] => [...new Set(lists.flatMap((list) => list ?? []))];
  return {
    ...one,
    ...other,
    ...(kinds.size > 0 && { table: Object.fromEntries([...kinds].map((kind) => [kind, union(one.table?.[kind], other.table?.[kind])])) }),
    ...((one.kms || other.kms) && { kms: union(one.kms, other.kms) }),
    ...((one.invokes || other.invokes) && { invokes: union(one.invokes, other.invokes) }),
  };
}

/** The needs of an endpoint that runs the actions of others: what it runs, it does not ask for. */
function needsOfAll(own: Needs, run: readonly EndpointName[]): Pick<Endpoint, 'needs' | 'needsWithCollection'> {
  const others: Row[] = rows.filter(({ name }) => run.includes(name));
  const merge = (needs: Needs[]): Needs => {
    const merged = needs.reduce(mergeNeeds, own);
    return { ...merged, ...(merged.invokes && { invokes: merged.invokes.filter((name) => !run.includes(name)) }) };
  };
  return {
    needs: merge(others.map(({ needs }) => needs)),
    needsWithCollection: merge(others.map(({ needs, needsWithCollection }) => needsWithCollection ?? needs)),
  };
}

/**
 * The table of endpoints. The API, the permissions, the local gateway's check, the OpenAPI document and the README's table
 * are derived from it or checked against it.
 */
export const endpoints: readonly Endpoint[] = rows.map((row) => ('runs' in row ? { ...row, ...needsOfAll(row.needs, row.runs) } : row));

/** The further path of an endpoint, unless an endpoint has that path: a protocol may be called `api`. */
export function aliasOf({ alias }: Pick<Endpoint, 'alias'>, protocol: string): string | undefined {
  const path = alias?.replace('{protocol}', protocol);
  return endpoints.some((other) => other.path === path) ? undefined : path;
}

/** Every path at which a deployment with these settings has an endpoint. */
export function pathsOf(
  endpoint: Endpoint,
  { aliases, protocol, signIn }: { aliases: boolean; protocol: string; signIn: boolean },
): string[] {
  const alias = aliases ? aliasOf(endpoint, protocol) : undefined;
  const further = (endpoint.further ?? []).filter(({ onlyWith }) => onlyWith === undefined || signIn);
  return [endpoint.path, ...(alias === undefined ? [] : [alias]), ...further.map(({ path }) => path)];
}

/** The endpoints that a deployment with these settings has. */
export const endpointsWith = (settings: { signIn: boolean }): readonly Endpoint[] =>
  endpoints.filter(({ onlyWith }) => onlyWith === undefined || settings[onlyWith]);

/** A function that no request runs. */
export interface BackgroundFunction {
  /** the file in `functions/`, and the name of the Lambda's construct */
  name: string;
  summary: string;
  /** runs on this schedule */
  everyMinutes?: number;
  /** runs after each deployment */
  afterDeployment?: true;
  /** CloudFormation runs it before it changes any other function, and goes on only if it agrees */
  guardsDeployment?: true;
  needs: Needs;
  timeoutSeconds: number;
  memoryMb: number;
}

const guardSigningKeys: BackgroundFunction = {
  name: 'guard-signing-keys',
  summary: 'Refuse a deployment that would make every PAT invalid by mistake',
  guardsDeployment: true,
  needs: {},
  timeoutSeconds: 10,
  memoryMb: 256,
};

export const backgroundFunctions: readonly BackgroundFunction[] = [
  guardSigningKeys,
  {
    name: 'snapshot-search-index',
    summary: 'Save the search index, so that a cold start need not rebuild it',
    everyMinutes: 5,
    afterDeployment: true,
    needs: { table: { ...wholeRegistry, ...followed }, snapshots: 'write', wordVectors: true },
    timeoutSeconds: 300,
    memoryMb: 1024,
  },
];

/** The same if the setting `search` is `opensearch`. */
export const backgroundWithCollection: readonly BackgroundFunction[] = [
  guardSigningKeys,
  {
    name: 'feed-search-collection',
    summary: 'Write what has changed in the registry to the search collection',
    everyMinutes: 1,
    needs: { table: { ...wholeRegistry, ...followed, feed: ['update'] }, collection: 'write' },
    timeoutSeconds: 300,
    memoryMb: 512,
  },
];
