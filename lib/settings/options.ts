import * as z from 'zod';
import { isRedirectUri } from '../../functions/core/sign-in/redirect-uri.ts';
import { namespace } from '../../schemas/service.ts';
import { endpoints } from '../endpoints.ts';
import { findOriginProblem, flag, isBaseUrl, isHttpsOrigin, isLocalUpstream, list, object, wholeNumber } from './kinds.ts';

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
  signingKeys: z
    .record(
      z.string(),
      z.string().regex(/^arn:aws[a-z-]*:kms:[a-z0-9-]+:\d{12}:key\/[a-zA-Z0-9-]+$/, 'must be the ARN of a KMS key, not of an alias'),
    )
    .optional(),
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
    .describe(
      'lets one deployment take away the key that signs PATs, or sign with one that is not published yet: every PAT becomes invalid',
    ),
  policyFile: z.string().min(1).default('policy.json').describe('the usage policy, from the root of the project'),
  tryPolicyFile: z
    .string()
    .min(1)
    .optional()
    .describe('a second policy, which is [tried on every execution](policy.md#trying-a-policy) and enforced on none'),
  publicBaseUrl: z
    .string()
    .refine(isBaseUrl, {
      error:
        'must be an http or https address, its host in lower case, without default port, dot after the host, query, fragment or slash at the end',
    })
    .optional()
    .describe('the address that agents call, if it is not that of the API or of `domainName`'),
  domainName: z
    .string()
    .regex(/^([a-z0-9-]+\.)+[a-z]{2,}$/, 'must be a domain name in lower case')
    .optional()
    .describe('domain name that the API gets, with certificate and DNS record; needs `hostedZoneId` and `hostedZoneName`'),
  hostedZoneId: z
    .string()
    .regex(/^Z[A-Z0-9]+$/, 'must be the id of a Route 53 hosted zone')
    .optional()
    .describe('id of the hosted zone of `domainName`'),
  hostedZoneName: z.string().min(1).optional().describe('name of that hosted zone'),
  patLifeSeconds: wholeNumber(60, 86_400).default(3_600).describe('life of a PAT in seconds'),
  issueLimitPerHour: wholeNumber(1, 100_000).default(60).describe('PATs that one agent key may be issued in an hour'),
  billing: object(z.strictObject({ method: z.enum(['credit_card', 'invoice', 'wallet', 'processor', 'other']), id: z.string().min(1) }))
    .optional()
    .describe('`{"method","id"}`: the `bil` claim of PATs under a policy with a `pay` duty'),
  signingKeys: list(z.string().regex(/^[a-z0-9-]{1,40}$/, 'must be lower-case letters, digits and hyphens'))
    .refine((names) => names.length > 0 && new Set(names).size === names.length, 'must name at least one key, and none twice')
    .default(['first'])
    .describe('names of the PAT signing keys: the first signs, all verify'),
  callKey: z
    .string()
    .regex(/^[a-z0-9-]{1,40}$/, 'must be lower-case letters, digits and hyphens')
    .default('first')
    .describe('name of the key from which those follow that [sign calls](calls.md#signatures); another name replaces all of them at once'),
  agents: z
    .enum(['open', 'approved'], 'must be open or approved')
    .default('open')
    .describe('`approved`: an agent gets its first PAT once an admin has approved it'),
  agentIds: z
    .enum(['bound', 'shared'], 'must be bound or shared')
    .default('bound')
    .describe(
      '`bound`: an agent id belongs to the first key that presents it; `shared`: [other keys may use it too](authorisation.md#ids-and-keys)',
    ),
  approvalSeconds: wholeNumber(60, 12 * 3_600)
    .default(3_600)
    .describe('how long a call may wait for the approval that the policy demands, in seconds'),
  receipts: z
    .enum(['off', 'keyed', 'all'], 'must be off, keyed or all')
    .default('keyed')
    .describe(
      'which executions get a [receipt](receipts.md): those with an `Idempotency-Key`, all, or none; takes two KMS keys, at a monthly price each',
    ),
  requireFreshSignature: flag
    .default(false)
    .describe(
      'a signed policy must carry `iat`, `exp`, `aud` and `jti`, so that it counts for this gate alone, and once; keeps out agents that [sign bare](authorisation.md#signing-it)',
    ),
  requireProofOfPossession: flag.default(false).describe('every PAT is issued and used with a DPoP proof'),
  signIn: flag
    .default(false)
    .describe(
      'people sign in with the user pool, and accept the policy for [hosts that take an address only](mcp.md#signing-in); needs `domainName`, or a `publicBaseUrl` without a path',
    ),
  adminSignIn: flag
    .default(false)
    .describe(
      'admins sign in with the user pool on the page `/console`; needs `domainName` or `publicBaseUrl`, to which the user pool leads back',
    ),
  signInRedirectUris: list(z.string().refine(isRedirectUri, 'must be an https address, or http on 127.0.0.1, [::1] or localhost'))
    .default(['127.0.0.1', '[::1]', 'localhost'].flatMap((host) => [`http://${host}/callback`, `http://${host}/oauth/callback`]))
    .describe(
      'where hosts get their answer that use `intent-gate-public`; on 127.0.0.1, [::1] and localhost, at any port if none is given',
    ),
  signInSeconds: wholeNumber(60, 30 * 86_400)
    .default(12 * 3_600)
    .describe('how long people stay signed in, and how long programs may renew PATs in their name, in seconds'),
  egressPorts: list(wholeNumber(1, 65_535)).default([443]).describe('ports at which intents may be called'),
  allowLoopback: flag.default(false).describe('intents may be called at loopback addresses over http; only in the stage `local`'),
  localUpstreams: list(
    z.string().refine(isLocalUpstream, 'must be a host name of letters, digits, hyphens and dots, or an address of a private network'),
  )
    .default([])
    .describe(
      'hosts on your own network that intents may call, over http, too, and at any port: names of containers, or addresses such as 192.168.1.7; only in the stage `local`',
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
    .describe('origins whose pages may call the API'),
  requestsPerSecond: wholeNumber(1, 10_000).default(200).describe('requests a second that each method accepts before it answers 429'),
  burst: wholeNumber(1, 5_000).default(400).describe('requests that each method accepts at once'),
  throttling: object(z.partialRecord(z.enum(endpointNames), throttle))
    .default({})
    .describe(
      '`{"<endpoint>": {"requestsPerSecond", "burst"}}` for endpoints that differ; those that serve a whole document accept 5 a second and 50 at once unless they are named',
    ),
  reservedConcurrency: object(z.partialRecord(z.enum(['execute-intent', 'mcp']), wholeNumber(0, 100_000)))
    .default({})
    .transform((given) => ({ 'execute-intent': 0, mcp: 0, ...given }))
    .describe(
      'concurrent runs reserved for, and at most taken by, the two functions that wait for services, such as 300 and 100; 0 reserves none, which fits every quota. Slow calls to one origin take at most about a fifth of it: 100 at most, 50 without a reservation',
    ),
  search: z
    .enum(['sqlite', 'opensearch'], 'must be sqlite or opensearch')
    .default('sqlite')
    .describe(
      'search engine: `sqlite` in the function, or an OpenSearch Serverless collection for registries past a few hundred thousand intents',
    ),
  expectedIntents: wholeNumber(1, 1_000_000)
    .default(100_000)
    .describe('how many intents the registry will hold: decides the room that functions have for the search index (`sqlite`)'),
  waf: flag.default(false).describe('a web application firewall that limits the requests of each address'),
  wafRequestsPerFiveMinutes: wholeNumber(10, 1_000_000)
    .default(500)
    .describe('that limit, for each of PAT issue, search and MCP; all paths together may have ten times as many'),
  alarmEmail: z.email('must be an e-mail address').optional().describe('where alarms are sent'),
  alarmCallsPerAgent: wholeNumber(0, 1_000_000)
    .default(300)
    .describe('an alarm when one agent executes more often than this in each of three minutes; 0: no alarm'),
  alarmCallsPerService: wholeNumber(0, 1_000_000)
    .default(0)
    .describe('the same for the intents of one service, whichever agents execute them'),
  requireAdminMfa: flag
    .optional()
    .describe(
      'admins sign in with a one-time password in addition to their own; `true` if data is retained. Decided when the stack is created',
    ),
  machineClient: flag
    .default(false)
    .describe('a Cognito client with which machines get admin tokens, for those who need one: it has a secret and a monthly price'),
  machineNamespaces: list(namespace)
    .default([])
    .describe('namespaces that get a machine client of their own, which may change only what belongs to them; needs `machineClient`'),
  maxPerNamespace: wholeNumber(1, 1_000_000)
    .default(20_000)
    .describe('how many services, and how many intents with their drafts, one namespace may hold'),
  historyDays: wholeNumber(1, 3_650).default(400).describe('how long the log of changes by admins is kept, in days'),
  tracing: flag.default(true).describe('X-Ray traces of the API and the functions'),
  logRetentionDays: wholeNumber(1, 3_653)
    .refine((days) => retentionDays.includes(days), `must be one of ${retentionDays.join(', ')}`)
    .default(30)
    .describe('how long logs are kept, in days'),
  retainData: flag
    .default(true)
    .describe('protect the stack against deletion, and keep its table, keys and users if it is deleted nevertheless'),
  unprotected: flag
    .default(false)
    .describe(
      'leaves out protection against deletion, so that CloudFormation can roll back; `npm run deploy` sets it while it creates a stage',
    ),
  customerManagedKey: flag
    .default(false)
    .describe('a KMS key of this stack, at a monthly price, encrypts tables, snapshots and logs in place of keys that AWS manages'),
  gradualDeployment: flag
    .default(false)
    .describe(
      'new code of `execute-intent` and `issue-pat` gets a tenth of their requests for 15 minutes, and is [rolled back](operations.md#gradual-deployment) if an alarm fires',
    ),
  tags: object(z.record(z.string().regex(/^(?!aws:)[\w .:/=+@-]{1,128}$/i, 'must be a tag key'), z.string().max(256)))
    .default({})
    .describe('`{"<key>": "<value>"}`: tags of the stack, which CloudFormation passes on to its resources'),
  adopt: object(adoptedParts)
    .optional()
    .describe(
      '`{"registryTable","activityTable","userPoolId","signingKeys":{"<name>":"<ARN>"}}`: what a deleted stack left, which this one takes over instead of creating its own',
    ),
  manageApiLogRole: flag
    .default(false)
    .describe('the stack sets the role with which API Gateway writes logs, for an account and region that have none; it is never deleted'),
});
