// Written by "npm run props" from lib/settings/options.ts; a test compares the two.

/** The settings of a gate as properties of the construct. All are optional. */
export interface GateSettings {
  /** Name of this deployment; part of the stack name unless it is `production`. Default: `production`. */
  stage?: string;
  /** Name of the protocol: the prefix of members and error references. Default: `proto`. */
  protocol?: string;
  /** Search, policy, PAT issue and execution also have the paths of the protocol's guides. Default: `true`. */
  aliases?: boolean;
  /** Lets one deployment remove the key that signs PATs, or sign with a key that is not published yet; invalidates every PAT. Default: `false`. */
  voidPats?: boolean;
  /** `file`: the policy changes by deployment only, for teams whose policies pass through review. Default: `published`. */
  policySource?: 'published' | 'file';
  /** `permitted`: callers see only what the policy permits to them; for everybody else it does not exist. Default: `public`. */
  catalogue?: 'public' | 'permitted';
  /** The address that agents call, if it differs from those of the API and of `domainName`. */
  publicBaseUrl?: string;
  /** Domain name of the API, for which a certificate and DNS record are created; needs `hostedZone`. */
  domainName?: string;
  /** Lifetime of a PAT, in seconds. From 60 to 86400. Default: `3600`. */
  patLifeSeconds?: number;
  /** Maximum number of PATs issued to one agent key per hour. From 1 to 100000. Default: `60`. */
  issueLimitPerHour?: number;
  /** `{"method","id"}`: the `bil` claim of PATs under a policy with a `pay` duty. */
  billing?: { method: 'credit_card' | 'invoice' | 'wallet' | 'processor' | 'other'; id: string };
  /** Names of the PAT signing keys: the first signs, all verify. Default: `first`. */
  signingKeys?: string[];
  /** `bound`: an agent id belongs to the first key that presents it; `shared`: other keys may use it too. Default: `bound`. */
  agentIds?: 'bound' | 'shared';
  /** Admins sign in to `/console` with the user pool; needs `domainName` or `publicBaseUrl`, to which the user pool redirects. Default: `false`. */
  adminSignIn?: boolean;
  /** How long a call may wait for an approval that the policy requires, in seconds. From 60 to 43200. Default: `3600`. */
  approvalSeconds?: number;
  /** `{"url","secret"}`: a webhook that is told of waiting calls, and the name of its secret. */
  notify?: { url: string; secret: string };
  /** Search results and intents say how calls of the last day have fared. Default: `false`. */
  showHealth?: boolean;
  /** `approved`: an admin must approve an agent before its first PAT. Default: `open`. */
  agents?: 'open' | 'approved';
  /** People sign in with the user pool and accept the policy for hosts that only take an address; needs `domainName`, or a `publicBaseUrl` without a path. Default: `false`. */
  signIn?: boolean;
  /** Redirect URIs of hosts that use the client `intent-gate-public`; on 127.0.0.1, [::1] and localhost, a URI without a port allows every port. Default: `http://127.0.0.1/callback,http://127.0.0.1/oauth/callback,http://[::1]/callback,http://[::1]/oauth/callback,http://localhost/callback,http://localhost/oauth/callback`. */
  signInRedirectUris?: string[];
  /** How long people stay signed in and programs may renew PATs on their behalf, in seconds. From 60 to 2592000. Default: `43200`. */
  signInSeconds?: number;
  /** Name of the key from which the keys that sign calls are derived; a new name replaces all of them. Default: `first`. */
  callKey?: string;
  /** Search engine: `sqlite` in the function, or `opensearch`, an OpenSearch Serverless collection, for more than a few hundred thousand intents. Default: `sqlite`. */
  search?: 'sqlite' | 'opensearch';
  /** Which executions get a receipt: those with an `Idempotency-Key` (`keyed`), `all`, or none (`off`); needs two KMS keys, each with a monthly price. Switched off, it leaves them and the bucket, which only `adopt` takes up again. Default: `off`. */
  receipts?: 'off' | 'keyed' | 'all';
  /** A signed policy must have `iat`, `exp`, `aud` and `jti`, so that it is valid once and for this gate only; excludes agents that send bare signatures. Default: `false`. */
  requireFreshSignature?: boolean;
  /** Issue and use of every PAT require a DPoP proof. Default: `false`. */
  requireProofOfPossession?: boolean;
  /** Ports that intents may call. Default: `443`. */
  egressPorts?: number[];
  /** Origins of private APIs, such as https://orders.internal:8443: the only ones that may resolve to private addresses; needs `vpc`. */
  privateOrigins?: string[];
  /** Origins whose pages may call the API (CORS). */
  corsOrigins?: string[];
  /** Requests per second that each method accepts before it answers 429. From 1 to 10000. Default: `200`. */
  requestsPerSecond?: number;
  /** Burst of requests that each method accepts. From 1 to 5000. Default: `400`. */
  burst?: number;
  /** `{"<endpoint>": {"requestsPerSecond", "burst"}}` overrides both for single endpoints; those that serve whole documents accept 5 per second and a burst of 50 by default. */
  throttling?: Record<string, { requestsPerSecond: number; burst: number }>;
  /** Reserved (and maximum) concurrency of the three functions that wait for services, such as 300, 100 and a tenth of the quota for `run-deferred-call`, which makes background calls; 0 reserves none, which fits every quota. Slow calls to one origin may occupy about a fifth of it: at most 100; 50 without a reservation. Default: `{"execute-intent":0,"mcp":0,"run-deferred-call":0}`. */
  reservedConcurrency?: { [name in 'execute-intent' | 'mcp' | 'run-deferred-call']?: number };
  /** Memory in MB of the three functions that execute intents. They mostly wait, so more memory costs more and answers little faster; `mcp` has at least 1769 if `expectedIntents` is above 100000. From 256 to 10240. Default: `512`. */
  executionMemoryMb?: number;
  /** Expected number of intents in the registry; determines the memory and storage for the search index (`sqlite`). From 1 to 1000000. Default: `100000`. */
  expectedIntents?: number;
  /** Adds a web application firewall that limits the requests of each IP address. Default: `false`. */
  waf?: boolean;
  /** That limit, separately for PAT issue, search and MCP; ten times as many are allowed for all paths together. From 10 to 1000000. Default: `500`. */
  wafRequestsPerFiveMinutes?: number;
  /** E-mail address that alarms are sent to. */
  alarmEmail?: string;
  /** Raises an alarm when one agent executes more often than this in each of three consecutive minutes; 0: no alarm. From 0 to 1000000. Default: `300`. */
  alarmCallsPerAgent?: number;
  /** The same for the intents of one service, across all agents. From 0 to 1000000. Default: `0`. */
  alarmCallsPerService?: number;
  /** Admins must enter a one-time password in addition to their own; default `true` if data is retained. Fixed when the stack is created. */
  requireAdminMfa?: boolean;
  /** Creates a Cognito client with which machines get admin tokens; it has a secret and a monthly price. Default: `false`. */
  machineClient?: boolean;
  /** Namespaces that get their own machine client, which may change only their services and intents; needs `machineClient`. */
  machineNamespaces?: string[];
  /** Maximum number of services, and of intents including drafts, per namespace. From 1 to 1000000. Default: `20000`. */
  maxPerNamespace?: number;
  /** How long the log of registry changes is kept, in days. From 1 to 3650. Default: `400`. */
  historyDays?: number;
  /** X-Ray traces of the API and the functions. Default: `true`. */
  tracing?: boolean;
  /** How long logs are kept, in days. From 1 to 3653. Default: `30`. */
  logRetentionDays?: number;
  /** Protects the stack against deletion, and keeps its tables, keys and users if it is deleted nevertheless. Default: `true`. */
  retainData?: boolean;
  /** Omits protection against deletion, so that CloudFormation can roll back; `npm run deploy` sets this while it creates a stage. Default: `false`. */
  unprotected?: boolean;
  /** A KMS key of the stack, with a monthly price, encrypts tables, snapshots and logs instead of keys managed by AWS. Default: `false`. */
  customerManagedKey?: boolean;
  /** New code of `execute-intent` and `issue-pat` receives a tenth of the requests for 15 minutes, and is rolled back if an alarm fires. Default: `false`. */
  gradualDeployment?: boolean;
  /** `{"registryTable","activityTable","userPoolId","signingKeys":{"<name>":"<ARN>"},"receiptKey","logKey","receiptBucket"}`: resources left by a deleted stack, which this one adopts instead of creating new ones. */
  adopt?: { registryTable?: string; activityTable?: string; userPoolId?: string; signingKeys?: Record<string, string>; receiptKey?: string; logKey?: string; receiptBucket?: string };
  /** The stack sets the role with which API Gateway writes logs, for accounts and regions without one; the role is never deleted. Default: `false`. */
  manageApiLogRole?: boolean;
}
