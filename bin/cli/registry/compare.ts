import { originOf } from '../../../functions/core/relay/url-template.ts';
import type { FullIntent, IntentInput } from '../../../schemas/intent.ts';
import type { Service, ServiceInput } from '../../../schemas/service.ts';
import type { Api } from '../api.ts';
import type { RegistryContext } from '../context.ts';
import { CliFailure } from '../failure.ts';
import { callOf, pathCallOf } from './calls.ts';
import { withProgress } from './concurrently.ts';
import { type Difference, findDifferences } from './differences.ts';
import { combineIntent, combineService } from './document-rule.ts';
import { normalizeIntent, normalizeService } from './normal-form.ts';
import { type Found, findIntent, findService, findServiceByName, listAllIntents } from './read.ts';

/** How a service and its intents should be. */
export interface Wanted {
  service: ServiceInput;
  intents: readonly IntentInput[];
  /** the service that is meant, whatever its name; its own record is then left as it is */
  into?: Service | undefined;
  /** whether it is what a document states, and what that leaves out stays; a registry file states everything */
  isOfDocument?: boolean;
  /** whether the name of the service is one that was asked for, in place of the document's */
  isNamed?: boolean;
}

/** What it takes to bring a record into the wanted state. */
export interface Change<T> {
  kind: 'create' | 'update' | 'same';
  input: T;
  /** for an update, with the entity tag of what was compared */
  differences: Difference[];
  etag?: string;
}

/** What it takes to bring a service into the wanted state. */
export interface ServiceChanges {
  name: string;
  /** undefined if the service is to be created */
  serviceId: string | undefined;
  service: Change<ServiceInput>;
  /** those to be created or updated */
  intents: Change<IntentInput>[];
  unchanged: number;
  /** uids of intents that the service has and that are not wanted */
  extra: string[];
  /** the entity tags of the intents that the service has, by their uids */
  tags: ReadonlyMap<string, string>;
  /** uids that are wanted, but that another service has */
  foreign: string[];
  /** what is not as wanted and stays, because a document does not decide it */
  kept: Kept;
  /** origins to which wanted intents lead, other than that of the service's address */
  otherOrigins: string[];
}

/** Members that stay, as JSON pointers. */
export interface Kept {
  service: string[];
  intents: { intent_uid: string; members: string[] }[];
}

/** How many intents are looked up when a service is not found by its name. */
const maxProbes = 20;

/**
 * A service is found by its name, else by the intents that it should have: the one that has most of them, with the same calls. Another API at the same
 * host may have a few uids in common.
 */
async function findWanted(api: Api, { service, intents, into }: Wanted): Promise<Found<Service> | undefined> {
  if (into !== undefined) return findService(api, into.service_id);
  const named = await findServiceByName(api, service.service_name);
  if (named) return named;
  const probes = intents.filter((_, at) => at % Math.ceil(intents.length / maxProbes) === 0);
  const holders: string[] = [];
  for (const probe of probes) {
    const found = await findIntent(api, probe.intent_uid);
    if (found && callOf(found.record) === callOf(probe)) holders.push(found.record.service_id);
  }
  for (const [id, { length }] of Map.groupBy(holders, (id) => id)) if (length * 2 > probes.length) return findService(api, id);
  return undefined;
}

/** What the registry has of a service; the uids in their order. */
export interface Standing {
  service: Found<Service> | undefined;
  intents: ReadonlyMap<string, Found<FullIntent>>;
}

/**
 * Reads the service that is meant, with all its intents.
 * @throws CliFailure if a document means another API than the service of its name
 */
export async function readStanding({ api, terminal }: RegistryContext, wanted: Wanted, concurrency: number): Promise<Standing> {
  const service = await findWanted(api, wanted);
  const listed = service === undefined ? [] : await listAllIntents(api, service.record.service_id);
  const found = new Map<string, Found<FullIntent>>();
  await withProgress(terminal, 'Reading', listed, concurrency, async ({ intent_uid }) => {
    const intent = await findIntent(api, intent_uid);
    if (intent) found.set(intent_uid, intent);
  });
  const standing = { service, intents: new Map([...found].sort(([left], [right]) => (left < right ? -1 : 1))) };
  if (wanted.isOfDocument && !wanted.into) requireSameApi(wanted, standing);
  return standing;
}

/** Titles such as "API" are common: at another origin, and with other calls, it is another API. */
function requireSameApi({ service, intents }: Wanted, { service: found, intents: standing }: Standing): void {
  if (found === undefined || standing.size === 0) return;
  if (new URL(service.service_url).origin === new URL(found.record.service_url).origin) return;
  const calls = new Set([...standing.values()].map(({ record }) => pathCallOf(record)));
  if (intents.filter((intent) => calls.has(pathCallOf(intent))).length * 2 > intents.length) return;
  const { service_id: id } = found.record;
  throw new CliFailure(
    'failure',
    `Another API is registered under this name, at another address: ${id}. Nothing was changed. Give this one another name with --name; if it is the same one, which has moved, run "intent-gate services update ${id} --address <url>" first.`,
  );
}

/**
 * Compares the wanted state with the registry. Nothing is changed.
 * @param known - what the registry has, if that has been read
 * @param isThorough - also checks whether other services have the uids that are to be created; otherwise that shows when they are created
 */
export async function compareService(
  { api, terminal }: RegistryContext,
  wanted: Wanted,
  concurrency: number,
  isThorough: boolean,
  known?: Standing,
): Promise<ServiceChanges> {
  const { service: found, intents: standing } = known ?? (await readStanding({ api, terminal }, wanted, concurrency));
  const serviceId = found?.record.service_id;
  const wantedUids = new Set(wanted.intents.map(({ intent_uid }) => intent_uid));
  const service = compareRecord(found, found ? chooseService(wanted, found.record) : wanted.service, normalizeService);
  const changes: ServiceChanges = {
    name: service.input.service_name,
    serviceId,
    service,
    intents: [],
    unchanged: 0,
    extra: [...standing.keys()].filter((uid) => !wantedUids.has(uid)),
    tags: new Map([...standing].map(([uid, { etag }]) => [uid, etag])),
    foreign: [],
    kept: { service: [], intents: [] },
    otherOrigins: findOtherOrigins(wanted),
  };
  await withProgress(terminal, 'Comparing', wanted.intents, concurrency, async (intent) => {
    const stands = standing.get(intent.intent_uid) ?? (isThorough ? await findIntent(api, intent.intent_uid) : undefined);
    const input = wanted.isOfDocument && stands ? combineIntent(intent, normalizeIntent(stands.record)) : intent;
    const change = compareRecord(stands, input, normalizeIntent);
    if (stands !== undefined && stands.record.service_id !== serviceId) return void changes.foreign.push(intent.intent_uid);
    if (change.kind === 'same') changes.unchanged++;
    else changes.intents.push(change);
    const members = findKept(normalizeIntent(intent), normalizeIntent(input));
    if (members.length > 0) changes.kept.intents.push({ intent_uid: intent.intent_uid, members });
  });
  if (wanted.isOfDocument && !wanted.into)
    changes.kept.service = findKept(normalizeService(wanted.service), normalizeService(service.input));
  changes.kept.intents.sort((left, right) => (left.intent_uid < right.intent_uid ? -1 : 1));
  changes.intents.sort((left, right) => (left.input.intent_uid < right.input.intent_uid ? -1 : 1));
  return changes;
}

/** A registry file that leaves out the namespace means the one that the service has: it never changes once it is set. */
function chooseService({ service, into, isOfDocument, isNamed }: Wanted, record: Service): ServiceInput {
  const standing = normalizeService(record);
  if (into) return standing;
  if (isOfDocument) return combineService(service, standing, isNamed);
  return { ...(standing.namespace !== undefined && { namespace: standing.namespace }), ...service };
}

const findKept = (stated: unknown, chosen: unknown): string[] =>
  findDifferences(stated, chosen)
    .filter(({ after }) => after !== undefined)
    .map(({ path }) => path);

function findOtherOrigins({ service, intents, into }: Wanted): string[] {
  const home = new URL((into ?? service).service_url).origin;
  const origins = new Set(intents.map(({ endpoint }) => originOf(endpoint.url) ?? ''));
  return [...origins].filter((origin) => origin !== home).sort();
}

function compareRecord<T, Standing extends T>(found: Found<Standing> | undefined, input: T, normalize: (record: T) => T): Change<T> {
  if (found === undefined) return { kind: 'create', input, differences: [] };
  const differences = findDifferences(normalize(found.record), normalize(input));
  return { kind: differences.length > 0 ? 'update' : 'same', input, differences, etag: found.etag };
}

/** Whether anything differs. */
export const hasDrift = ({ service, intents, extra, foreign }: ServiceChanges): boolean =>
  service.kind !== 'same' || intents.length + extra.length + foreign.length > 0;
