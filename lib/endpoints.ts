import type { RecordKind } from '../functions/core/table/keys.ts';
import { longestRunSeconds } from '../schemas/deferred.ts';
import type { ErrorCode } from '../schemas/errors.ts';
import { agents } from './agents/endpoints.ts';
import { discovery } from './endpoints/discovery.ts';
import { type BackgroundFunction, type EndpointGroup, type EndpointRow, wholeProcessorMb } from './endpoints/endpoint.ts';
import { deferredCalling, execution } from './endpoints/execution.ts';
import { intents } from './endpoints/intents.ts';
import { followed, type Needs, wholeRegistry } from './endpoints/needs.ts';
import { policyAndPats } from './endpoints/policy.ts';
import { services } from './endpoints/services.ts';
import { aboutThisGate } from './endpoints/this-gate.ts';
import { features, type named } from './features.ts';
import { signIn } from './sign-in/endpoints.ts';

/** The tags of the OpenAPI document with their endpoints; `onlyWith` is the setting that enables them. */
export const tags: readonly { name: string; description: string; endpoints: EndpointGroup; onlyWith?: 'signIn' }[] = [
  { name: 'Discovery', description: 'Find intents in plain words or by filters.', endpoints: discovery },
  { name: 'Policy', description: 'Read and sign the usage policy, and get a Policy Adherence Token (PAT).', endpoints: policyAndPats },
  { name: 'Execution', description: 'Run an intent.', endpoints: execution },
  { name: 'Services', description: 'Register services. For admins, except for reading.', endpoints: services },
  { name: 'Intents', description: 'Register the intents of a service. For admins, except for reading.', endpoints: intents },
  { name: 'Agents', description: 'List, approve, block and revoke agents. For admins.', endpoints: agents },
  { name: 'This gate', description: 'What the gate publishes about itself.', endpoints: aboutThisGate },
  {
    name: 'Sign-in',
    description: 'For hosts without a key: people sign in and accept the policy in a browser (OAuth 2.1). Only with the setting `signIn`.',
    endpoints: signIn,
    onlyWith: 'signIn',
  },
];

type Merged<Union> = (Union extends unknown ? (member: Union) => void : never) extends (merged: infer All) => void ? All : never;

type GroupsOf<Feature> = Feature extends { endpoints: infer Tags } ? Tags[keyof Tags] : never;

type OfFeatures = [GroupsOf<(typeof named)[number]>] extends [never]
  ? Record<never, EndpointRow>
  : Merged<GroupsOf<(typeof named)[number]>>;

const rows = {
  ...agents,
  ...services,
  ...discovery,
  ...policyAndPats,
  ...execution,
  ...intents,
  ...aboutThisGate,
  ...signIn,
  ...(Object.assign({}, ...features.flatMap(({ endpoints: groups = {} }) => Object.values(groups))) as OfFeatures),
};

export type EndpointName = keyof typeof rows;

type PlacesOf<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}` ? Name | PlacesOf<Rest> : never;

export type PathVariable = PlacesOf<(typeof rows)[EndpointName]['path']>;

/** The row of a function with what the features add to it. */
function withAdditions<Row extends { needs: Needs; headers?: readonly string[] }>(row: Row, name: string): Row {
  const added = features.flatMap(({ additions }) => additions?.[name] ?? []);
  const headers = [row, ...added].flatMap(({ headers = [] }) => headers);
  return {
    ...row,
    needs: added.reduce((whole, { needs = {} }) => mergeNeeds(whole, needs), row.needs),
    ...(headers.length > 0 && { headers }),
  };
}

const groupOf = (tag: string, group: EndpointGroup): EndpointGroup =>
  Object.assign({}, group, ...features.map(({ endpoints: groups }) => groups?.[tag]));

/** An endpoint, with one file in `functions/` and one Lambda function. */
export interface Endpoint extends EndpointRow {
  name: EndpointName;
  tag: string;
  success: NonNullable<EndpointRow['success']>;
  errors: readonly ErrorCode[];
  /** the setting that enables it */
  onlyWith?: 'signIn';
  timeoutSeconds: number;
  memoryMb: number;
}

/** The endpoint's listed errors and those implied by its other members. */
function errorsOf({
  method,
  path,
  credential,
  query,
  body,
  requestHeaders,
  others,
  errors = [],
  neverErrors = [],
}: EndpointRow): ErrorCode[] {
  const when = (applies: boolean, ...codes: ErrorCode[]): ErrorCode[] => (applies ? codes : []);
  const [hasBody, hasPathParameter, hasDefault400] = [body !== undefined, path.includes('{'), others?.[400] === undefined];
  return [
    ...when(hasDefault400 && (hasBody || query !== undefined || Boolean(requestHeaders?.includes('If-Match'))), 'INVALID_PARAMETER'),
    ...when(hasDefault400 && hasBody, 'UNSUPPORTED_MEDIA_TYPE'),
    ...when(credential !== 'none', 'UNAUTHORIZED', 'FORBIDDEN'),
    ...errors,
    ...when(hasPathParameter, 'NOT_FOUND'),
    ...when(credential === 'admin' && method !== 'GET' && (hasPathParameter || hasBody), 'CONFLICT'),
  ].filter((code) => !neverErrors.includes(code));
}

/** The union of two sets of needs. For members other than tables and lists, the second set wins. */
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

/** The needs of an endpoint that runs other endpoints' actions in its own function. */
function needsOfAll(own: Needs, run: readonly string[]): Pick<Endpoint, 'needs' | 'needsWithCollection'> {
  const others = Object.entries<EndpointRow>(rows).flatMap(([name, row]) => (run.includes(name) ? [withAdditions(row, name)] : []));
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
 * The table of endpoints: those of the specification in its order, then the others by tag. The API, permissions, the local gateway's checks, the OpenAPI
 * document and the table in docs/reference.md are derived from it or checked against it.
 */
export const endpoints: readonly Endpoint[] = tags
  .flatMap(({ name: tag, endpoints: group, onlyWith }) =>
    Object.entries(groupOf(tag, group))
      .map(([name, row]) => [name, withAdditions(row, name)] as const)
      .map(([name, row]) => ({
        success: 200 as const,
        timeoutSeconds: 10,
        memoryMb: 512,
        ...row,
        ...(row.runs && needsOfAll(row.needs, row.runs)),
        ...(onlyWith && { onlyWith }),
        errors: errorsOf(row),
        name: name as EndpointName,
        tag,
      })),
  )
  .sort(({ row: left = 99 }, { row: right = 99 }) => left - right);

/** The alias path, unless an endpoint has that path, as when the protocol is called `api`. */
function aliasOf({ alias }: Pick<Endpoint, 'alias'>, protocol: string): string | undefined {
  const path = alias?.replace('{protocol}', protocol);
  return endpoints.some((other) => other.path === path) ? undefined : path;
}

export function pathsOf(
  endpoint: Endpoint,
  { aliases, protocol, signIn }: { aliases: boolean; protocol: string; signIn: boolean },
): string[] {
  const alias = aliases ? aliasOf(endpoint, protocol) : undefined;
  const further = (endpoint.further ?? []).filter(({ onlyWith }) => onlyWith === undefined || signIn);
  return [endpoint.path, ...(alias === undefined ? [] : [alias]), ...further.map(({ path }) => path)];
}

export const endpointsWith = (settings: { signIn: boolean }): readonly Endpoint[] =>
  endpoints.filter(({ onlyWith }) => onlyWith === undefined || settings[onlyWith]);

export const hasFunction = ({ constant, redirects }: Endpoint): boolean => constant === undefined && redirects === undefined;

/** The functions that execute intents; a setting determines their memory, and each logs a line per execution. */
export const executing = ['execute-intent', 'mcp', 'run-deferred-call'] as const;

/** The authorizer of the address for hosts that sign people in. */
export const tokenAuthorizer = 'admit-token';

const ofCore: readonly BackgroundFunction[] = [
  {
    name: 'guard-signing-keys',
    summary: 'Refuse a deployment that would fail in this account, or invalidate every PAT by mistake',
    needs: { accountLimits: true },
    timeoutSeconds: 10,
    memoryMb: 256,
  },
  {
    name: 'run-deferred-call',
    summary: 'Make a deferred call',
    isStarted: 'once',
    needs: deferredCalling,
    timeoutSeconds: longestRunSeconds,
    memoryMb: 512,
  },
  {
    name: 'count-usage',
    summary: 'Count executions from the log',
    logLines: { message: 'executed', of: executing },
    everyMinutes: 1,
    isQuiet: true,
    needs: { table: { usage: ['query', 'put', 'update', 'delete', 'writeAll'], stats: ['query', 'put', 'delete'] } },
    timeoutSeconds: 300,
    memoryMb: wholeProcessorMb,
  },
  {
    name: tokenAuthorizer,
    summary: 'Let requests with a token pass to /mcp/sign-in',
    onlyWith: 'signIn',
    isQuiet: true,
    needs: {},
    timeoutSeconds: 10,
    memoryMb: 128,
  },
];

const always = [...ofCore, ...features.flatMap(({ background = [] }) => background)].map((row) => withAdditions(row, row.name));

export const backgroundFunctions: readonly BackgroundFunction[] = [
  ...always,
  {
    name: 'snapshot-search-index',
    summary: 'Save a snapshot of the search index for cold starts',
    isStarted: true,
    everyMinutes: 5,
    afterDeployment: true,
    needs: { table: { ...wholeRegistry, ...followed, snapshot: ['get', 'update'] }, snapshots: 'write', wordVectors: true },
    timeoutSeconds: 300,
    memoryMb: wholeProcessorMb,
  },
];

export const backgroundWithCollection: readonly BackgroundFunction[] = [
  ...always,
  {
    name: 'feed-search-collection',
    summary: 'Write registry changes to the search collection',
    everyMinutes: 1,
    needs: { table: { ...wholeRegistry, ...followed, feed: ['update'] }, collection: 'write' },
    timeoutSeconds: 300,
    memoryMb: 512,
  },
];

/** The names of all functions of any deployment. */
export const functionNames = (): string[] => [
  ...new Set([...endpoints.filter(hasFunction), ...backgroundFunctions, ...backgroundWithCollection].map(({ name }) => name)),
];
