import * as z from 'zod';
import { namespace } from '../../schemas/service.ts';
import { endpoints, executing } from '../endpoints.ts';
import { featureAdoption, featureSettings } from '../features.ts';
import { findOriginProblem, flag, isBaseUrl, isHttpsOrigin, isLocalUpstream, keyArn, list, object, wholeNumber } from './kinds.ts';

const endpointNames = endpoints.map(({ name }) => name);

/** Retention periods that CloudWatch Logs supports. */
const retentionDays = [1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653];

/** Limits of an endpoint; 0 disables it. */
const throttle = z.strictObject({ requestsPerSecond: wholeNumber(0, 10_000), burst: wholeNumber(0, 5_000) });

const tableName = z.string().regex(/^[a-zA-Z0-9_.-]{3,255}$/, 'must be the name of a DynamoDB table');

/** Ids of existing network resources, by prefix. */
const idOf = (prefix: string, kind: string) => z.string().regex(new RegExp(`^${prefix}-[0-9a-f]{8,17}$`), `must be the id of a ${kind}`);

const network = z.strictObject({
  vpcId: idOf('vpc', 'VPC').optional(),
  subnetIds: list(idOf('subnet', 'subnet')).refine((ids) => ids.length > 0, 'must name at least one subnet'),
  securityGroupIds: list(idOf('sg', 'security group'))
    .refine((ids) => ids.length > 0, 'must name at least one security group, or be left out')
    .optional(),
});

/** Resources left by a deleted stack. */
export const adoptedParts = z.strictObject({
  registryTable: tableName.optional(),
  activityTable: tableName.optional(),
  userPoolId: z
    .string()
    .regex(/^[a-z]{2}[a-z0-9-]+_[a-zA-Z0-9]+$/, 'must be the id of a Cognito user pool')
    .optional(),
  signingKeys: z.record(z.string(), keyArn).optional(),
  ...featureAdoption,
});

/** The settings of a deployment, read from the CDK app's context. All are optional. */
export const settingsObject = z.strictObject({
  stage: z
    .string()
    .regex(/^[a-z][a-z0-9-]{0,19}$/, 'must be 1 to 20 lower-case letters, digits and hyphens, a letter first')
    .refine(
      (text) => !/aws|amazon|cognito/.test(text),
      'must not contain aws, amazon or cognito, which Cognito refuses in the name of a domain',
    )
    .default('production')
    .describe('name of this deployment; part of the stack name unless it is `production`'),
  protocol: z
    .string()
    .regex(/^[a-z]{2,20}$/, 'must be 2 to 20 lower-case letters')
    .default('proto')
    .describe('name of the protocol: the prefix of members and error references'),
  aliases: flag
    .default(true)
    .describe(
      "search, policy, PAT issue and execution also have the paths of the [protocol's guides](agents.md#from-the-protocols-guides)",
    ),
  voidPats: flag
    .default(false)
    .describe('lets one deployment remove the key that signs PATs, or sign with a key that is not published yet; invalidates every PAT'),
  policyFile: z
    .string()
    .min(1)
    .default('policy.json')
    .describe('file with the usage policy, relative to the root of the project; in force until one is published'),
  policySource: z
    .enum(['published', 'file'])
    .default('published')
    .describe('`file`: the policy changes by deployment only, for teams whose policies pass through review'),
  catalogue: z
    .enum(['public', 'permitted'], 'must be public or permitted')
    .default('public')
    .describe(
      '`permitted`: callers see [only what the policy permits to them](search.md#who-sees-what); for everybody else it does not exist',
    ),
  publicBaseUrl: z
    .string()
    .refine(isBaseUrl, {
      error:
        'must be an http or https address, its host in lower case, without default port, dot after the host, query, fragment or slash at the end',
    })
    .optional()
    .describe('the address that agents call, if it differs from those of the API and of `domainName`'),
  domainName: z
    .string()
    .regex(/^([a-z0-9-]+\.)+[a-z]{2,}$/, 'must be a domain name in lower case')
    .optional()
    .describe('domain name of the API, for which a certificate and DNS record are created; needs `hostedZoneId` and `hostedZoneName`'),
  hostedZoneId: z
    .string()
    .regex(/^Z[A-Z0-9]+$/, 'must be the id of a Route 53 hosted zone')
    .optional()
    .describe('id of the hosted zone of `domainName`'),
  hostedZoneName: z.string().min(1).optional().describe('name of that hosted zone'),
  patLifeSeconds: wholeNumber(60, 86_400).default(3_600).describe('lifetime of a PAT, in seconds'),
  issueLimitPerHour: wholeNumber(1, 100_000).default(60).describe('maximum number of PATs issued to one agent key per hour'),
  billing: object(z.strictObject({ method: z.enum(['credit_card', 'invoice', 'wallet', 'processor', 'other']), id: z.string().min(1) }))
    .optional()
    .describe('`{"method","id"}`: the `bil` claim of PATs under a policy with a `pay` duty'),
  signingKeys: list(z.string().regex(/^[a-z0-9-]{1,40}$/, 'must be lower-case letters, digits and hyphens'))
    .refine((names) => names.length > 0 && new Set(names).size === names.length, 'must name at least one key, and none twice')
    .default(['first'])
    .describe('names of the PAT signing keys: the first signs, all verify'),
  agentIds: z
    .enum(['bound', 'shared'], 'must be bound or shared')
    .default('bound')
    .describe(
      '`bound`: an agent id belongs to the first key that presents it; `shared`: [other keys may use it too](authorisation.md#ids-and-keys)',
    ),
  ...featureSettings,
  requireFreshSignature: flag
    .default(false)
    .describe(
      'a signed policy must have `iat`, `exp`, `aud` and `jti`, so that it is valid once and for this gate only; excludes agents that send [bare signatures](authorisation.md#signing-it)',
    ),
  requireProofOfPossession: flag.default(false).describe('issue and use of every PAT require a DPoP proof'),
  egressPorts: list(wholeNumber(1, 65_535)).default([443]).describe('ports that intents may call'),
  allowLoopback: flag.default(false).describe('intents may call loopback addresses over http; only in the stage `local`'),
  localUpstreams: list(
    z.string().refine(isLocalUpstream, 'must be a host name of letters, digits, hyphens and dots, or an address of a private network'),
  )
    .default([])
    .describe(
      'hosts on your own network that intents may call, also over http and at any port: container names, or addresses such as 192.168.1.7; only in the stage `local`',
    ),
  privateOrigins: list(
    z.string().superRefine((text, context) => {
      const message = findOriginProblem(text);
      if (message) context.addIssue({ code: 'custom', message });
    }),
  )
    .default([])
    .describe(
      '[origins of private APIs](operations.md#private-apis), such as https://orders.internal:8443: the only ones that may resolve to private addresses; needs `vpc`',
    ),
  vpc: object(network)
    .optional()
    .describe(
      '`{"vpcId","subnetIds","securityGroupIds"}`: the [network](operations.md#private-apis) in which the functions that call intents run; without `securityGroupIds`, the stack creates a group in `vpcId`',
    ),
  corsOrigins: list(z.string().refine((text) => text === '*' || isHttpsOrigin(text), 'must be * or https://<host>'))
    .default([])
    .describe('origins whose pages may call the API (CORS)'),
  requestsPerSecond: wholeNumber(1, 10_000).default(200).describe('requests per second that each method accepts before it answers 429'),
  burst: wholeNumber(1, 5_000).default(400).describe('burst of requests that each method accepts'),
  throttling: object(z.partialRecord(z.enum(endpointNames), throttle))
    .default({})
    .describe(
      '`{"<endpoint>": {"requestsPerSecond", "burst"}}` overrides both for single endpoints; those that serve whole documents accept 5 per second and a burst of 50 by default',
    ),
  reservedConcurrency: object(z.partialRecord(z.enum(executing), wholeNumber(0, 100_000)))
    .default({})
    .transform((given): Record<string, number> => Object.assign(Object.fromEntries(executing.map((name) => [name, 0])), given))
    .describe(
      'reserved (and maximum) concurrency of the three functions that wait for services, such as 300, 100 and a tenth of the quota for `run-deferred-call`, which makes background calls; 0 reserves none, which fits every quota. Slow calls to one origin may occupy about a fifth of it: at most 100; 50 without a reservation',
    ),
  executionMemoryMb: wholeNumber(256, 10_240)
    .default(512)
    .describe(
      'memory in MB of the three functions that execute intents. They mostly wait, so more memory [costs more](cost.md#memory) and answers little faster; `mcp` has at least 1769 if `expectedIntents` is above 100000',
    ),
  expectedIntents: wholeNumber(1, 1_000_000)
    .default(100_000)
    .describe('expected number of intents in the registry; determines the memory and storage for the search index (`sqlite`)'),
  waf: flag.default(false).describe('adds a web application firewall that limits the requests of each IP address'),
  wafRequestsPerFiveMinutes: wholeNumber(10, 1_000_000)
    .default(500)
    .describe('that limit, separately for PAT issue, search and MCP; ten times as many are allowed for all paths together'),
  alarmEmail: z.email('must be an e-mail address').optional().describe('e-mail address that alarms are sent to'),
  alarmCallsPerAgent: wholeNumber(0, 1_000_000)
    .default(300)
    .describe('raises an alarm when one agent executes more often than this in each of three consecutive minutes; 0: no alarm'),
  alarmCallsPerService: wholeNumber(0, 1_000_000).default(0).describe('the same for the intents of one service, across all agents'),
  requireAdminMfa: flag
    .optional()
    .describe(
      'admins must enter a one-time password in addition to their own; default `true` if data is retained. Fixed when the stack is created',
    ),
  machineClient: flag
    .default(false)
    .describe('creates a Cognito client with which machines get admin tokens; it has a secret and a monthly price'),
  machineNamespaces: list(namespace)
    .default([])
    .describe('namespaces that get their own machine client, which may change only their services and intents; needs `machineClient`'),
  maxPerNamespace: wholeNumber(1, 1_000_000)
    .default(20_000)
    .describe('maximum number of services, and of intents including drafts, per namespace'),
  historyDays: wholeNumber(1, 3_650).default(400).describe('how long the log of registry changes is kept, in days'),
  tracing: flag.default(true).describe('X-Ray traces of the API and the functions'),
  logRetentionDays: wholeNumber(1, 3_653)
    .refine((days) => retentionDays.includes(days), `must be one of ${retentionDays.join(', ')}`)
    .default(30)
    .describe('how long logs are kept, in days'),
  retainData: flag
    .default(true)
    .describe('protects the stack against deletion, and keeps its tables, keys and users if it is deleted nevertheless'),
  unprotected: flag
    .default(false)
    .describe(
      'omits protection against deletion, so that CloudFormation can roll back; `npm run deploy` sets this while it creates a stage',
    ),
  customerManagedKey: flag
    .default(false)
    .describe('a KMS key of the stack, with a monthly price, encrypts tables, snapshots and logs instead of keys managed by AWS'),
  gradualDeployment: flag
    .default(false)
    .describe(
      'new code of `execute-intent` and `issue-pat` receives a tenth of the requests for 15 minutes, and is [rolled back](operations.md#gradual-deployment) if an alarm fires',
    ),
  tags: object(z.record(z.string().regex(/^(?!aws:)[\w .:/=+@-]{1,128}$/i, 'must be a tag key'), z.string().max(256)))
    .default({})
    .describe('`{"<key>": "<value>"}`: tags of the stack, which CloudFormation applies to its resources'),
  adopt: object(adoptedParts)
    .optional()
    .describe(
      `\`{"registryTable","activityTable","userPoolId","signingKeys":{"<name>":"<ARN>"}${Object.keys(featureAdoption)
        .map((name) => `,"${name}"`)
        .join('')}}\`: resources left by a deleted stack, which this one adopts instead of creating new ones`,
    ),
  manageApiLogRole: flag
    .default(false)
    .describe(
      'the stack sets the role with which API Gateway writes logs, for accounts and regions without one; the role is never deleted',
    ),
});
