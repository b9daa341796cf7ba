import { isIP } from 'node:net';
import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import * as z from 'zod';
import { isOnLocalNetwork } from '../functions/core/relay/addresses.ts';
import { targetOf } from '../functions/core/relay/target.ts';
import { isRedirectUri } from '../functions/core/sign-in/redirect-uri.ts';
import { namespace } from '../schemas/service.ts';
import { endpoints } from './endpoints.ts';

/** Command lines (`-c name=value`) give strings and cdk.json gives values: both are read. */
const flag = z.union([z.boolean(), z.enum(['true', 'false']).transform((text) => text === 'true')], 'must be true or false');

const wholeNumber = (minimum: number, maximum: number) => {
  const problem = `must be a whole number from ${minimum} to ${maximum}`;
  return z
    .union([z.number(), z.string().regex(/^\d+$/).transform(Number)], problem)
    .refine((value) => Number.isInteger(value) && value >= minimum && value <= maximum, problem);
};

/** A list in cdk.json, or a text with commas. */
const list = <T extends z.ZodType>(entry: T) =>
  z.preprocess((value) => (typeof value === 'string' ? value.split(',').map((part) => part.trim()) : value), z.array(entry));

/** An object in cdk.json, or its JSON text. */
const object = <T extends z.ZodType>(schema: T) =>
  z.preprocess((value) => {
    if (typeof value !== 'string') return value;
    try {
      return JSON.parse(value);
    } catch {
      return value;
    }
  }, schema);

const endpointNames = endpoints.map(({ name }) => name);

const retentionDays = Object.values(RetentionDays).filter((days) => typeof days === 'number' && days < 9_999);

/** 0 stops an endpoint. */
const throttle = z.strictObject({ requestsPerSecond: wholeNumber(0, 10_000), burst: wholeNumber(0, 5_000) });

const isHttpsOrigin = (text: string) => URL.canParse(text) && new URL(text).protocol === 'https:' && new URL(text).origin === text;

/** For rules between settings: they are checked whatever else is wrong, so that every mistake is reported at once. */
const always = (name: string) => ({ path: [name], when: () => true });

/** The stage of `npm start`, which needs no entry in cdk.json. */
const localStage = 'local';

/** Whether a text is a host name, or an address of a private network, spelt as URLs have it. */
function isLocalUpstream(text: string): boolean {
  const url = URL.parse(`http://${isIP(text) === 6 ? `[${text}]` : text}`);
  const isName = isIP(text) === 0 && /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/.test(text);
  return url !== null && targetOf(url).hostname === text && (isName || isOnLocalNetwork(text));
}

/** Whether an address is spelt in the one form that all its spellings stand for: PATs and policies name it. */
function isBaseUrl(text: string): boolean {
  const url = URL.parse(text);
  return (
    url !== null &&
    /^https?:$/.test(url.protocol) &&
    text === `${url.origin}${url.pathname.replace(/\/$/, '')}` &&
    !url.hostname.endsWith('.')
  );
}

/** Whether the address at which the gate is called, with either setting, is all of a host. */
const isRootOverHttps = (domainName: unknown, publicBaseUrl: unknown): boolean =>
  typeof domainName === 'string' || (typeof publicBaseUrl === 'string' && isHttpsOrigin(publicBaseUrl));

const tableName = z.string().regex(/^[a-zA-Z0-9_.-]{3,255}$/, 'must be the name of a DynamoDB table');

/** What a stack has left that was deleted. */
const adoptedParts = z.strictObject({
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

/** The settings of a deployment: context of the CDK app, by these names. All are optional. */
const settingsObject = z.strictObject({
  stage: z
    .string()
    .regex(/^[a-z][a-z0-9-]{0,19}$/, 'must be 1 to 20 lower-case letters, digits and hyphens, a letter first')
    .refine(
      (text) => !/aws|amazon|cognito/.test(text),
      'must not hold aws, amazon or cognito, which Cognito refuses in the name of a domain',
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
    .transform((given) => ({ 'execute-intent': 300, mcp: 100, ...given }))
    .describe('concurrent runs reserved for, and at most taken by, the two functions that wait for services; 0 reserves none'),
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
    .refine((days) => days in RetentionDays, `must be one of ${retentionDays.join(', ')}`)
    .default(30)
    .describe('how long logs are kept, in days'),
  retainData: flag
    .default(true)
    .describe('protect the stack against deletion, and keep its table, keys and users if it is deleted nevertheless'),
  adopt: object(adoptedParts)
    .optional()
    .describe(
      '`{"registryTable","activityTable","userPoolId","signingKeys":{"<name>":"<ARN>"}}`: what a deleted stack left, which this one takes over instead of creating its own',
    ),
  manageApiLogRole: flag
    .default(false)
    .describe('the stack sets the role with which API Gateway writes logs, for an account and region that have none; it is never deleted'),
});

/** What the rules for what is taken over compare, whatever else is wrong. */
const comparable = z.object({ adopt: adoptedParts, signingKeys: z.array(z.string()) });

/** Rules for what is taken over, besides those of its parts. */
function refineAdoption(
  { adopt, signingKeys, retainData, requireAdminMfa }: z.infer<typeof settingsObject>,
  context: z.RefinementCtx,
): void {
  if (adopt === undefined) return;
  const refuse = (path: string[], message: string) => context.addIssue({ code: 'custom', path: ['adopt', ...path], message });
  const { registryTable, activityTable, userPoolId, signingKeys: keys = {} } = adopt;
  const arns = Object.values(keys);
  if (!registryTable && !activityTable && !userPoolId && arns.length === 0) refuse([], 'must name what to take over, or be left out');
  if (!registryTable !== !activityTable) refuse([], 'needs registryTable and activityTable, or neither');
  if (registryTable && registryTable === activityTable) refuse(['activityTable'], 'must be another table than registryTable');
  for (const name of Object.keys(keys)) {
    if (!signingKeys.includes(name)) refuse(['signingKeys', name], `must also be in the setting signingKeys (${signingKeys.join(', ')})`);
  }
  if (new Set(arns).size < arns.length) refuse(['signingKeys'], 'must name no key twice');
  if (!retainData) refuse([], 'needs retainData: what is taken over is not deleted with the stack');
  if (userPoolId && requireAdminMfa !== undefined) {
    context.addIssue({
      code: 'custom',
      path: ['requireAdminMfa'],
      message: 'must be left out: the user pool in adopt.userPoolId has its own setting',
    });
  }
}

const settingsSchema = settingsObject
  .refine(({ stage, allowLoopback }) => !allowLoopback || stage === localStage, {
    ...always('allowLoopback'),
    error: 'is for local development: set stage to local, or leave it out',
  })
  .refine(({ stage, localUpstreams }) => !Array.isArray(localUpstreams) || localUpstreams.length === 0 || stage === localStage, {
    ...always('localUpstreams'),
    error: 'is for local development: set stage to local, or leave it out',
  })
  .refine(({ egressPorts }) => !Array.isArray(egressPorts) || egressPorts.includes(443), {
    ...always('egressPorts'),
    error: 'must include 443',
  })
  .refine(({ domainName, hostedZoneId, hostedZoneName }) => new Set([!domainName, !hostedZoneId, !hostedZoneName]).size === 1, {
    ...always('domainName'),
    error: 'needs hostedZoneId and hostedZoneName, and they need it',
  })
  .refine(({ domainName, publicBaseUrl }) => !domainName || !publicBaseUrl, {
    ...always('publicBaseUrl'),
    error: 'must be left out if domainName is given',
  })
  .refine(
    ({ machineNamespaces, machineClient }) => !Array.isArray(machineNamespaces) || machineNamespaces.length === 0 || machineClient === true,
    {
      ...always('machineNamespaces'),
      error: 'needs machineClient',
    },
  )
  .refine(({ signIn, stage, domainName, publicBaseUrl }) => !signIn || stage === localStage || isRootOverHttps(domainName, publicBaseUrl), {
    ...always('signIn'),
    error:
      'needs domainName, or a publicBaseUrl that begins with https:// and has no path: clients look for its description at the root of a host',
  })
  .refine(
    ({ adminSignIn, stage, domainName, publicBaseUrl }) =>
      !adminSignIn || stage === localStage || domainName !== undefined || publicBaseUrl !== undefined,
    { ...always('adminSignIn'), error: 'needs domainName or publicBaseUrl: the user pool leads admins back there' },
  )
  .refine(({ signIn, requireProofOfPossession }) => !signIn || !requireProofOfPossession, {
    ...always('signIn'),
    error: 'must be left out with requireProofOfPossession: who signs in has no key',
  })
  .superRefine(refineAdoption, { when: ({ value }) => comparable.safeParse(value).success })
  .transform(({ domainName, hostedZoneId = '', hostedZoneName = '', ...given }) => ({
    ...given,
    requireAdminMfa: given.requireAdminMfa ?? given.retainData,
    ...(domainName && {
      publicBaseUrl: `https://${domainName}`,
      domain: { name: domainName, zone: { hostedZoneId, zoneName: hostedZoneName } },
    }),
  }));

export type Settings = z.infer<typeof settingsSchema>;

/** The settings for people: names, defaults and what they mean, in Markdown. */
export const describeSettings = (): { name: string; fallback: string; meaning: string }[] =>
  Object.entries(settingsObject.shape).map(([name, schema]) => {
    const fallback: unknown = schema.safeParse(undefined).data;
    const isEmpty = fallback === undefined || (typeof fallback === 'object' && fallback !== null && Object.keys(fallback).length === 0);
    return {
      name,
      fallback: isEmpty ? '' : `\`${typeof fallback === 'object' && !Array.isArray(fallback) ? JSON.stringify(fallback) : fallback}\``,
      meaning: schema.description ?? '',
    };
  });

/** What is wrong with the settings or the policy: shown without a stack trace. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';
}

/**
 * Checks settings.
 * @param known - mistakes that have been found already
 * @throws SettingsError naming every mistake and its place at once
 */
export function parseSettings(given: Record<string, unknown>, known: readonly string[] = []): Settings {
  const result = settingsSchema.safeParse(given);
  if (result.success && known.length === 0) return result.data;
  const found = (result.error?.issues ?? []).flatMap((issue) =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.map((name) => `${[...issue.path, name].join('.')}: is not a setting`)
      : [`${issue.path.join('.')}: ${issue.message}`],
  );
  throw new SettingsError(`The settings are not valid:\n${[...known, ...found].map((mistake) => `  ${mistake}`).join('\n')}`);
}

const stagesSchema = z.record(z.string(), z.record(z.string(), z.unknown()));

/**
 * The settings in the app's context: those of the stage that `stage` names, from `stages`, and over them what the context says by itself,
 * as `-c name=value` does. Other keys belong to other tools, which write them into `cdk.context.json` or `~/.cdk.json`, and are left alone.
 * @throws SettingsError naming every mistake and its place at once
 */
export function readSettings(context: Record<string, unknown>): Settings {
  const names = Object.keys(settingsObject.shape);
  const own = Object.fromEntries(Object.entries(context).filter(([name]) => names.includes(name)));
  const mistakes = Object.keys(context).flatMap((name) => {
    const meant = names.find((setting) => setting !== name && setting.toLowerCase() === name.toLowerCase());
    return meant === undefined ? [] : [`${name}: is spelt ${meant}`];
  });
  const stages = stagesSchema.safeParse(context.stages ?? {});
  if (!stages.success) mistakes.push('stages: must be an object that has an object of settings for each stage');
  const listed = stages.data ?? {};
  const { stage = 'production' } = own;
  if (Object.keys(listed).length > 0 && stage !== localStage && !Object.hasOwn(listed, String(stage))) {
    mistakes.push(`stage: must be one of the stages in cdk.json (${Object.keys(listed).join(', ')}); give it an entry there`);
  }
  return parseSettings({ ...listed[String(stage)], stage, ...own }, mistakes);
}

/** The decisions of a synthesis that are hard to undo, in a line for people. */
export const describeDecisions = ({ stage, retainData, signingKeys, adopt }: Settings): string =>
  `Stage ${stage}: ${
    retainData
      ? 'the stack is protected against deletion, and keeps its table, keys and users'
      : 'deleting the stack DELETES its table, keys and users (retainData is false)'
  }. PATs are signed with the key "${signingKeys[0]}".${adopt ? ` Taken over, not created: ${describeAdoption(adopt)}.` : ''}`;

const describeAdoption = ({ registryTable, activityTable, userPoolId, signingKeys = {} }: NonNullable<Settings['adopt']>): string =>
  [
    ...(registryTable ? [`the tables ${registryTable} and ${activityTable}`] : []),
    ...(userPoolId ? [`the user pool ${userPoolId}`] : []),
    ...Object.entries(signingKeys).map(([name, arn]) => `the key "${name}" (${arn})`),
  ].join(', ');

/** Which settings a stage has that differ from the defaults, in words. */
export function describeChanges({ stage, ...settings }: Settings): string {
  const { stage: _, ...defaults } = parseSettings({});
  const changed = Object.entries(settings).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(Reflect.get(defaults, name)));
  const texts = changed.map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`);
  return `stage ${stage} with ${texts.length > 0 ? texts.join(', ') : 'the default settings'}`;
}
