/**
 * The environment variables of the functions: the only thing that synthesis and functions share.
 * `lib/` sets them by these names, each function's last lines read them.
 */
export const variables = {
  /** name of the DynamoDB table of what is registered */
  registryTable: 'REGISTRY_TABLE',
  /** name of the DynamoDB table of what agents cause to be written */
  activityTable: 'ACTIVITY_TABLE',
  /** version of the product */
  version: 'INTENT_GATE_VERSION',
  /** what replaces `proto` in member names and error references */
  protocol: 'PROTOCOL',
  /** the public address, if one is configured; a local stack has several, separated by commas */
  baseUrl: 'BASE_URL',
  /** origins whose pages may read answers, separated by commas; `*` for all */
  allowedOrigins: 'ALLOWED_ORIGINS',
  /** KMS key ids or ARNs separated by commas; the first signs, all verify */
  signingKeys: 'SIGNING_KEY_IDS',
  /** KMS key id or ARN of the key from which the keys follow that sign calls */
  callKey: 'CALL_KEY_ID',
  /** the most runs of this function at the same time, if that is reserved for it */
  reservedConcurrency: 'RESERVED_CONCURRENCY',
  /** life of a PAT in seconds */
  patLifeSeconds: 'PAT_LIFE_SECONDS',
  /** PATs that one key may be issued in an hour */
  issueLimitPerHour: 'ISSUE_LIMIT_PER_HOUR',
  /** billing of `pay` duties as JSON `{"method","id"}`, if configured */
  billing: 'BILLING',
  /** name of the function that issues PATs, or ARN of its alias, for the one that may not sign them itself */
  issueFunction: 'ISSUE_FUNCTION',
  /** name of the function that searches, for those that suggest intents */
  searchFunction: 'SEARCH_FUNCTION',
  /** name of the function that makes deferred calls */
  deferredFunction: 'DEFERRED_FUNCTION',
  /** how long a call may wait for approval, in seconds */
  approvalSeconds: 'APPROVAL_SECONDS',
  /** `true`: a signed policy must carry iat, exp, aud and jti */
  requireFreshSignature: 'REQUIRE_FRESH_SIGNATURE',
  /** `true`: every PAT is issued and used with a DPoP proof */
  requireProofOfPossession: 'REQUIRE_PROOF_OF_POSSESSION',
  /** `approved`: an admin approves each agent before its first PAT */
  agents: 'AGENTS',
  /** `shared`: several keys may use one agent_id */
  agentIds: 'AGENT_IDS',
  /** id of the Cognito user pool that issues admin tokens */
  userPool: 'USER_POOL_ID',
  /** ids of the app clients whose access tokens count, separated by commas */
  adminClients: 'ADMIN_CLIENT_IDS',
  /** scope that makes a machine client an admin */
  adminScope: 'ADMIN_SCOPE',
  /** where the user pool's sign-in pages are; only if people may sign in for programs */
  signInDomain: 'SIGN_IN_DOMAIN',
  /** id of the app client with which the gate asks the user pool who somebody is */
  signInClient: 'SIGN_IN_CLIENT_ID',
  /** redirect URIs of the client that is registered for programs without a description, separated by commas */
  signInRedirects: 'SIGN_IN_REDIRECT_URIS',
  /** how long people stay signed in, and programs may renew PATs in their name, in seconds */
  signInSeconds: 'SIGN_IN_SECONDS',
  /** id of the app client with which admins sign in on the console; only if they may */
  consoleClient: 'CONSOLE_CLIENT_ID',
  /** how long the log of changes is kept, in days */
  historyDays: 'HISTORY_DAYS',
  /** how many services, and how many intents, one namespace may hold */
  maxPerNamespace: 'MAX_PER_NAMESPACE',
  /** additional ports besides 443 at which intents may be called, separated by commas */
  egressPorts: 'EGRESS_PORTS',
  /** `true`: intents may be called at loopback addresses, over http (local stack only) */
  egressLoopback: 'EGRESS_ALLOW_LOOPBACK',
  /** hosts on the developer's own network that intents may call, separated by commas; in a local stack only */
  localUpstreams: 'EGRESS_LOCAL_UPSTREAMS',
  /** the only origins that may lead to private addresses, separated by commas */
  privateOrigins: 'EGRESS_PRIVATE_ORIGINS',
  /** prefix of the names of the services' secrets in Secrets Manager, for example `intent-gate/prod/services/` */
  credentialPrefix: 'CREDENTIAL_PREFIX',
  /** which executions get receipts: `keyed` or `all`; none if absent */
  receipts: 'RECEIPTS',
  /** KMS key id or ARN: certifies the keys that sign receipts */
  receiptKey: 'RECEIPT_KEY_ID',
  /** KMS key id or ARN: signs the checkpoints of the log */
  logKey: 'LOG_KEY_ID',
  /** bucket of the log */
  logBucket: 'LOG_BUCKET',
  /** bucket of search index snapshots */
  snapshotBucket: 'SNAPSHOT_BUCKET',
  /** endpoint of the OpenSearch Serverless collection that searches go to, if the deployment has one */
  searchCollection: 'SEARCH_COLLECTION',
} as const;

export type Variable = keyof typeof variables;

/**
 * Reads the variables of one function, all at once.
 * @throws TypeError naming every variable that is missing
 */
export function readEnvironment<R extends Variable, O extends Variable = never>(
  required: readonly R[],
  optional: readonly O[] = [],
  environment: NodeJS.ProcessEnv = process.env,
): Record<R, string> & Partial<Record<O, string>> {
  const missing = required.filter((name) => !environment[variables[name]]);
  if (missing.length > 0) throw new TypeError(`missing environment variables: ${missing.map((name) => variables[name]).join(', ')}`);
  const read = [...required, ...optional].flatMap((name) => {
    const value = environment[variables[name]];
    return value ? [[name, value]] : [];
  });
  return Object.fromEntries(read);
}

/** The parts of a comma-separated variable. */
export const splitList = (text = ''): string[] =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
