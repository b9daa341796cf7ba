/**
 * The environment variables of the functions. `lib/` sets them; each function reads its own in its last lines.
 */
export const variables = {
  /** name of the DynamoDB table *Registry*: what admins register, and the log */
  registryTable: 'REGISTRY_TABLE',
  /** name of the DynamoDB table *Activity*: what agents cause to be written */
  activityTable: 'ACTIVITY_TABLE',
  /** version of the product */
  version: 'INTENT_GATE_VERSION',
  /** CloudWatch namespace in which refusals are counted; they are not if absent */
  metricNamespace: 'METRIC_NAMESPACE',
  /** name of the protocol: replaces `proto` in member names and error references */
  protocol: 'PROTOCOL',
  /** the public address, if one is configured; a local stack has several, separated by commas */
  baseUrl: 'BASE_URL',
  /** origins whose pages may read responses (CORS), separated by commas; `*` for all */
  allowedOrigins: 'ALLOWED_ORIGINS',
  /** KMS key ids or ARNs separated by commas; the first signs, all verify */
  signingKeys: 'SIGNING_KEY_IDS',
  /** reserved concurrency of this function, if it has one; of all functions together, for the guard of deployments */
  reservedConcurrency: 'RESERVED_CONCURRENCY',
  /** lifetime of a PAT, in seconds */
  patLifeSeconds: 'PAT_LIFE_SECONDS',
  /** maximum number of PATs issued to one key per hour */
  issueLimitPerHour: 'ISSUE_LIMIT_PER_HOUR',
  /** billing of `pay` duties as JSON `{"method","id"}`, if configured */
  billing: 'BILLING',
  /** `file`: the policy changes by deployment only */
  policySource: 'POLICY_SOURCE',
  /** `permitted`: callers see only intents that they may execute */
  catalogue: 'CATALOGUE',
  /** name of the function that issues PATs, or ARN of its alias, for the function that may not sign PATs itself */
  issueFunction: 'ISSUE_FUNCTION',
  /** name of the search function, for functions that suggest intents */
  searchFunction: 'SEARCH_FUNCTION',
  /** name of the function that makes deferred calls */
  deferredFunction: 'DEFERRED_FUNCTION',
  /** `true`: a signed policy must carry iat, exp, aud and jti */
  requireFreshSignature: 'REQUIRE_FRESH_SIGNATURE',
  /** `true`: issue and use of every PAT require a DPoP proof */
  requireProofOfPossession: 'REQUIRE_PROOF_OF_POSSESSION',
  /** `shared`: several keys may use one agent_id */
  agentIds: 'AGENT_IDS',
  /** id of the Cognito user pool that issues admin tokens */
  userPool: 'USER_POOL_ID',
  /** ids of the app clients whose access tokens are accepted, separated by commas */
  adminClients: 'ADMIN_CLIENT_IDS',
  /** scope that makes a machine client an admin */
  adminScope: 'ADMIN_SCOPE',
  /** address of the user pool's sign-in pages; only if people may sign in for programs */
  signInDomain: 'SIGN_IN_DOMAIN',
  /** id of the app client with which the gate signs people in for programs */
  signInClient: 'SIGN_IN_CLIENT_ID',
  /** redirect URIs of the shared client, for programs that publish no client document, separated by commas */
  signInRedirects: 'SIGN_IN_REDIRECT_URIS',
  /** how long people stay signed in and programs may renew PATs for them, in seconds */
  signInSeconds: 'SIGN_IN_SECONDS',
  /** id of the app client with which admins sign in on the console; only if they may */
  consoleClient: 'CONSOLE_CLIENT_ID',
  /** how long the log of changes is kept, in days */
  historyDays: 'HISTORY_DAYS',
  /** maximum number of services, and of intents, in one namespace */
  maxPerNamespace: 'MAX_PER_NAMESPACE',
  /** additional ports besides 443 at which intents may be called, separated by commas */
  egressPorts: 'EGRESS_PORTS',
  /** `true`: intents may be called at loopback addresses, over http (local stack only) */
  egressLoopback: 'EGRESS_ALLOW_LOOPBACK',
  /** hosts on the developer's own network that intents may call, separated by commas; in a local stack only */
  localUpstreams: 'EGRESS_LOCAL_UPSTREAMS',
  /** the only origins that may resolve to private addresses, separated by commas */
  privateOrigins: 'EGRESS_PRIVATE_ORIGINS',
  /** prefix of the names of service credentials in Secrets Manager, for example `intent-gate/prod/services/` */
  credentialPrefix: 'CREDENTIAL_PREFIX',
  /** name of the function that saves snapshots of the search index, for the one that makes bulk changes */
  snapshotFunction: 'SNAPSHOT_FUNCTION',
  /** bucket of search index snapshots */
  snapshotBucket: 'SNAPSHOT_BUCKET',
} as const;

export type Variable = keyof typeof variables;

/** A reader of the variables with these names. */
export const readerOf =
  <V extends string>(names: Readonly<Record<V, string>>) =>
  /** @throws TypeError naming every variable that is missing */
  <R extends V, O extends V = never>(
    required: readonly R[],
    optional: readonly O[] = [],
    environment: NodeJS.ProcessEnv = process.env,
  ): Record<R, string> & Partial<Record<O, string>> => {
    const missing = required.filter((name) => !environment[names[name]]);
    if (missing.length > 0) throw new TypeError(`missing environment variables: ${missing.map((name) => names[name]).join(', ')}`);
    const read = [...required, ...optional].flatMap((name) => {
      const value = environment[names[name]];
      return value ? [[name, value]] : [];
    });
    return Object.fromEntries(read);
  };

/** Reads the variables of one function. @throws TypeError naming every variable that is missing */
export const readEnvironment = readerOf(variables);

/** Whether callers see only intents that they may execute. */
export const isCatalogueHidden = (): boolean => readEnvironment([], ['catalogue']).catalogue === 'permitted';

/** The parts of a comma-separated variable. */
export const splitList = (text = ''): string[] =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
