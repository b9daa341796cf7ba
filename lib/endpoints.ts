import type { RecordKind } from '../functions/core/table/keys.ts';
import type { ErrorCode } from '../schemas/errors.ts';
import type { Addition, AnySettings, Declaration } from './declaration.ts';
import { background } from './endpoints/background.ts';
import { discovery } from './endpoints/discovery.ts';
import type { Authorizer, BackgroundFunction, EndpointGroup, EndpointRow, Tag } from './endpoints/endpoint.ts';
import { execution } from './endpoints/execution.ts';
import { intents } from './endpoints/intents.ts';
import { callerNeeds, type Needs } from './endpoints/needs.ts';
import { policyAndPats } from './endpoints/policy.ts';
import { services } from './endpoints/services.ts';
import { aboutThisGate } from './endpoints/this-gate.ts';
import { declarations } from './features.ts';

/** The tags of the OpenAPI document. */
export const tags: readonly Tag[] = [
  { name: 'Discovery', description: 'Find intents in plain words or by filters.' },
  { name: 'Policy', description: 'Read and sign the usage policy, and get a Policy Adherence Token (PAT).' },
  { name: 'Execution', description: 'Run an intent.' },
  { name: 'Services', description: 'Register services. For admins, except for reading.' },
  { name: 'Intents', description: 'Register the intents of a service. For admins, except for reading.' },
  { name: 'This gate', description: 'What the gate publishes about itself.' },
  ...declarations.flatMap(({ tags = [] }) => tags),
];

const ofCore: Record<string, EndpointGroup> = {
  Discovery: discovery,
  Policy: policyAndPats,
  Execution: execution,
  Services: services,
  Intents: intents,
  'This gate': aboutThisGate,
};

/** An endpoint, with one file in `functions/` and one Lambda function. */
export interface Endpoint extends EndpointRow {
  name: string;
  tag: string;
  success: NonNullable<EndpointRow['success']>;
  errors: readonly ErrorCode[];
  /** the setting that enables it */
  onlyWith?: string;
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
  otherAnswers,
  errors = [],
  neverErrors = [],
}: EndpointRow): ErrorCode[] {
  const when = (applies: boolean, ...codes: ErrorCode[]): ErrorCode[] => (applies ? codes : []);
  const [hasBody, hasPathParameter, hasDefault400] = [body !== undefined, path.includes('{'), otherAnswers?.[400] === undefined];
  return [
    ...when(hasDefault400 && (hasBody || query !== undefined || Boolean(requestHeaders?.includes('If-Match'))), 'INVALID_PARAMETER'),
    ...when(hasDefault400 && hasBody, 'UNSUPPORTED_MEDIA_TYPE'),
    ...when(credential !== 'none', 'UNAUTHORIZED', 'FORBIDDEN'),
    ...errors,
    ...when(hasPathParameter, 'NOT_FOUND'),
    ...when(credential === 'admin' && method !== 'GET' && (hasPathParameter || hasBody), 'CONFLICT'),
  ].filter((code) => !neverErrors.includes(code));
}

const union = <T>(...lists: (readonly T[] | undefined)[]): T[] => [...new Set(lists.flatMap((list) => list ?? []))];

/** The union of two sets of needs. For members other than tables and lists, the second set wins. */
function mergeNeeds(one: Needs, other: Needs): Needs {
  const kinds = union(...[one, other].map(({ table = {} }) => Object.keys(table) as RecordKind[]));
  return {
    ...one,
    ...other,
    ...(kinds.length > 0 && { table: Object.fromEntries(kinds.map((kind) => [kind, union(one.table?.[kind], other.table?.[kind])])) }),
    ...((one.kms || other.kms) && { kms: union(one.kms, other.kms) }),
    ...((one.invokes || other.invokes) && { invokes: union(one.invokes, other.invokes) }),
  };
}

const additionsTo = (name: string): readonly Addition[] => declarations.flatMap(({ additions }) => additions?.[name] ?? []);

/** The needs of a row with what features add to them. */
const needsWithAdditions = ({ needs }: { needs: Needs }, name: string): Needs =>
  additionsTo(name).reduce((whole, { needs: more = {} }) => mergeNeeds(whole, more), needs);

/** The policy in force is a record, unless none has been published. */
const withPolicy = (needs: Needs): Needs => (needs.policy ? mergeNeeds({ table: { publishedPolicy: ['get'] } }, needs) : needs);

/** A row with what features add to it. */
function extend(row: EndpointRow, name: string): EndpointRow {
  const parts: readonly Addition[] = [row, ...additionsTo(name)];
  const headers = union(...parts.map((part) => part.headers));
  const furtherPaths = union(...parts.map((part) => part.furtherPaths));
  return {
    ...row,
    description: parts.map(({ description = '' }) => description).join(''),
    needs: needsWithAdditions(row, name),
    ...(headers.length > 0 && { headers }),
    ...(furtherPaths.length > 0 && { furtherPaths }),
    otherAnswers: Object.assign({}, ...parts.map(({ otherAnswers }) => otherAnswers)),
  };
}

const owners: readonly Pick<Declaration, 'endpoints' | 'onlyWith'>[] = [{ endpoints: ofCore }, ...declarations];

const rows = tags.flatMap(({ name: tag }) =>
  owners.flatMap(({ endpoints: groups, onlyWith }) =>
    Object.entries(groups?.[tag] ?? {}).map(([name, row]) => ({ ...extend(row, name), ...(onlyWith && { onlyWith }), name, tag })),
  ),
);

/** The needs of an endpoint that runs other endpoints' actions in its own function. */
function withNeedsOf(run: readonly { name: string; needs: Needs }[], own: Needs): Needs {
  const merged = run.map(({ needs }) => needs).reduce(mergeNeeds, own);
  return { ...merged, ...(merged.invokes && { invokes: merged.invokes.filter((name) => !run.some((one) => one.name === name)) }) };
}

const withCaller = (needs: Needs): Needs =>
  needs.catalogue ? mergeNeeds(mergeNeeds(callerNeeds, { table: needs.catalogue }), needs) : needs;

/**
 * @param needsOf - of endpoints, instead of those in their rows
 * @param isHidden - whether callers see only intents that they may execute
 */
function listEndpoints(needsOf: Readonly<Record<string, Needs>>, isHidden = false): Endpoint[] {
  const needsIn = ({ name, needs }: { name: string; needs: Needs }) => needsOf[name] ?? (isHidden ? withCaller(needs) : needs);
  const all = rows.map((row) => ({ ...row, needs: withPolicy(needsIn(row)) }));
  return all
    .map((row) => ({
      success: row.method === 'DELETE' ? (204 as const) : (200 as const),
      timeoutSeconds: 10,
      memoryMb: 512,
      ...row,
      ...(row.runs && {
        needs: withNeedsOf(
          all.filter(({ name }) => row.runs?.includes(name)),
          row.needs,
        ),
      }),
      errors: errorsOf(row),
    }))
    .sort(({ specRow: left = 99 }, { specRow: right = 99 }) => left - right);
}

/**
 * The table of endpoints: those of the specification in its order, then the others by tag. The API, permissions, the local gateway's checks, the OpenAPI
 * document and the table in docs/reference.md are derived from it or checked against it.
 */
export const endpoints: readonly Endpoint[] = listEndpoints({});

/** The background functions of a deployment with default values of the settings that choose an {@link alternatives alternative}. */
export const backgroundFunctions: readonly BackgroundFunction[] = [
  ...background,
  ...declarations.flatMap(({ background: own = [], onlyWith }) => own.map((row) => ({ ...row, ...(onlyWith && { onlyWith }) }))),
].map((row) => ({ ...row, needs: withPolicy(needsWithAdditions(row, row.name)) }));

/** What features do in place of functions of the core. */
export const alternatives = declarations.flatMap(({ alternative }) => alternative ?? []);

const alternativesWith = (settings: AnySettings) => alternatives.filter(({ setting, value }) => settings[setting] === value);

/** Whether another function does the work of this background function. */
export const isReplaced = (name: string, settings: AnySettings): boolean =>
  alternativesWith(settings).some(({ replaces }) => replaces.includes(name));

/** Without a value of the setting, as for documents of all that there can be, it is enabled. */
const isEnabled = ({ onlyWith }: { onlyWith?: string }, settings: AnySettings): boolean =>
  onlyWith === undefined || settings[onlyWith] !== false;

/** @param settings - those that enable endpoints do so unless they are `false` */
export function endpointsWith(settings: AnySettings): readonly Endpoint[] {
  const needsOf = alternativesWith(settings).map(({ needs }) => needs);
  const isHidden = settings.catalogue === 'permitted';
  const all = needsOf.length > 0 || isHidden ? listEndpoints(Object.assign({}, ...needsOf), isHidden) : endpoints;
  return all.filter((row) => isEnabled(row, settings));
}

export const backgroundWith = (settings: AnySettings): readonly BackgroundFunction[] =>
  [...backgroundFunctions, ...alternativesWith(settings).flatMap((alternative) => alternative.background)].filter(
    (row) => isEnabled(row, settings) && !isReplaced(row.name, settings) && (row.isUsed?.(settings) ?? true),
  );

/** The alias path, unless an endpoint has that path, as when the protocol is called `api`. */
function aliasOf({ alias }: Pick<Endpoint, 'alias'>, protocol: string): string | undefined {
  const path = alias?.replace('{protocol}', protocol);
  return endpoints.some((other) => other.path === path) ? undefined : path;
}

export function pathsOf(endpoint: Endpoint, settings: AnySettings & { aliases: boolean; protocol: string }): string[] {
  const alias = settings.aliases ? aliasOf(endpoint, settings.protocol) : undefined;
  const further = (endpoint.furtherPaths ?? []).filter((path) => isEnabled(path, settings));
  return [endpoint.path, ...(alias === undefined ? [] : [alias]), ...further.map(({ path }) => path)];
}

/** A path of an endpoint. */
export interface Route extends Endpoint {
  mainPath: string;
  /** of this path */
  authorizer: Authorizer | undefined;
}

export const routesWith = (settings: Parameters<typeof pathsOf>[1]): readonly Route[] =>
  endpointsWith(settings).flatMap((endpoint) =>
    pathsOf(endpoint, settings).map((path) => ({
      ...endpoint,
      path,
      mainPath: endpoint.path,
      authorizer: endpoint.furtherPaths?.find((one) => one.path === path)?.authorizer,
    })),
  );

export const hasFunction = ({ constant, redirects }: Endpoint): boolean => constant === undefined && redirects === undefined;

/** The names of all functions of any deployment. */
export const functionNames = (): string[] => [
  ...endpoints.filter(hasFunction).map(({ name }) => name),
  ...[...backgroundFunctions, ...alternatives.flatMap((alternative) => alternative.background)].map(({ name }) => name),
];

/** The functions that execute intents. */
export const executing: readonly string[] = [...endpoints, ...backgroundFunctions]
  .flatMap(({ name, executionAlarms }) => (executionAlarms ? [name] : []))
  .sort();
