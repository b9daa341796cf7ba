import { originOf } from '../functions/core/relay/url-template.ts';
import type { FullIntent, IntentInput } from '../schemas/intent.ts';
import type { Service, ServiceInput } from '../schemas/service.ts';
import type { Api, RegistryContext } from './api.ts';
import { callOf, pathCallOf } from './calls.ts';
import { concurrently } from './concurrently.ts';
import { type Difference, findDifferences } from './differences.ts';
import { combineIntent, combineService } from './document-rule.ts';
import { CliFailure } from './failure.ts';
import { normalizeIntent, normalizeService } from './normal-form.ts';
import { type Found, findIntent, findService, findServiceByName, listAllIntents, listServices, pageSize, readFullIntents } from './read.ts';

export interface Wanted {
  service: ServiceInput;
  intents: readonly IntentInput[];
  /** import into this service without changing its record */
  into?: Service | undefined;
  /** whether the wanted state is from a document, whose omissions change nothing; a registry file is complete */
  isOfDocument?: boolean;
  /** whether the admin gave the name, which then overrides the registered one */
  isNamed?: boolean;
}

export interface Change<T> {
  kind: 'create' | 'update' | 'same';
  input: T;
  differences: Difference[];
  etag?: string;
}

export interface ServiceChanges {
  name: string;
  serviceId: string | undefined;
  service: Change<ServiceInput>;
  intents: Change<IntentInput>[];
  unchanged: number;
  /** uids of existing intents that are not wanted */
  unwanted: string[];
  tags: ReadonlyMap<string, string>;
  /** wanted uids that belong to another service */
  foreign: string[];
  /** differences that are kept because the document does not decide them */
  kept: Kept;
  /** origins of wanted intents that differ from the origin of service_url */
  otherOrigins: string[];
}

/** JSON pointers to members that keep their registered values. */
export interface Kept {
  service: string[];
  intents: { intent_uid: string; members: string[] }[];
}

const maxProbes = 20;

/** Finds a service by name, else as the owner of most of the wanted uids with the same calls: another API at the same host may share a few uids. */
async function findWanted(api: Api, { service, intents, into }: Wanted): Promise<Found<Service> | undefined> {
  if (into !== undefined) return findService(api, into.service_id);
  const named = await findServiceByName(api, service.service_name);
  if (named) return named;
  const probes = intents.filter((_, at) => at % Math.ceil(intents.length / maxProbes) === 0);
  const serviceIds: string[] = [];
  for (const probe of probes) {
    const found = await findIntent(api, probe.intent_uid);
    if (found && callOf(found.record) === callOf(probe)) serviceIds.push(found.record.service_id);
  }
  for (const [id, { length }] of Map.groupBy(serviceIds, (id) => id)) if (length * 2 > probes.length) return findService(api, id);
  return undefined;
}

/** The current state of a service, with its intents ordered by uid. */
export interface Registered {
  service: Found<Service> | undefined;
  intents: ReadonlyMap<string, Found<FullIntent>>;
}

/** @throws CliFailure if the service with the document's name is a different API */
export async function readRegistered(context: RegistryContext, wanted: Wanted): Promise<Registered> {
  const service = await findWanted(context.api, wanted);
  const intents = new Map<string, Found<FullIntent>>();
  const found = service === undefined ? [] : readFullIntents(context, service.record.service_id);
  for await (const intent of found) intents.set(intent.record.intent_uid, intent);
  const registered = { service, intents };
  if (wanted.isOfDocument && !wanted.into) requireSameApi(wanted, registered);
  return registered;
}

/** Guards against common titles such as "API": a service with a different origin and different calls is a different API. */
function requireSameApi({ service, intents }: Wanted, { service: found, intents: registered }: Registered): void {
  if (found === undefined || registered.size === 0) return;
  if (new URL(service.service_url).origin === new URL(found.record.service_url).origin) return;
  const calls = new Set([...registered.values()].map(({ record }) => pathCallOf(record)));
  if (intents.filter((intent) => calls.has(pathCallOf(intent))).length * 2 > intents.length) return;
  const { service_id: id } = found.record;
  throw new CliFailure(
    'failure',
    `Another API is registered under this name at a different address: ${id}. Nothing was changed. Give this one a different name with --name or, if the API has moved, run "intent-gate services update ${id} --address <url>" first.`,
  );
}

/**
 * Compares the wanted state with the registry. Changes nothing.
 * @param known - the current state, if already read
 * @param isThorough - whether to check now if new uids belong to other services, rather than fail when they are created
 */
export async function compareService(
  { api, terminal }: RegistryContext,
  wanted: Wanted,
  concurrency: number,
  isThorough: boolean,
  known?: Registered,
): Promise<ServiceChanges> {
  const { service: found, intents: registered } = known ?? (await readRegistered({ api, terminal }, wanted));
  const serviceId = found?.record.service_id;
  const wantedUids = new Set(wanted.intents.map(({ intent_uid }) => intent_uid));
  const added = [...wantedUids].filter((uid) => !registered.has(uid));
  const foreign = isThorough ? await findForeign({ api, terminal }, added, serviceId, concurrency) : new Set<string>();
  const service = compareRecord(found, found ? chooseService(wanted, found.record) : wanted.service, normalizeService);
  const changes: ServiceChanges = {
    name: service.input.service_name,
    serviceId,
    service,
    intents: [],
    unchanged: 0,
    unwanted: [...registered.keys()].filter((uid) => !wantedUids.has(uid)),
    tags: new Map([...registered].map(([uid, { etag }]) => [uid, etag])),
    foreign: [...foreign],
    kept: { service: [], intents: [] },
    otherOrigins: findOtherOrigins(wanted),
  };
  const progress = terminal.progress('Comparing', wanted.intents.length);
  for (const intent of wanted.intents) {
    progress.step();
    if (foreign.has(intent.intent_uid)) continue;
    const existing = registered.get(intent.intent_uid);
    const input = wanted.isOfDocument && existing ? combineIntent(intent, normalizeIntent(existing.record)) : intent;
    const change = compareRecord(existing, input, normalizeIntent);
    if (change.kind === 'same') changes.unchanged++;
    else changes.intents.push(change);
    const members = input === intent ? [] : findKept(normalizeIntent(intent), normalizeIntent(input));
    if (members.length > 0) changes.kept.intents.push({ intent_uid: intent.intent_uid, members });
  }
  progress.end();
  if (wanted.isOfDocument && !wanted.into)
    changes.kept.service = findKept(normalizeService(wanted.service), normalizeService(service.input));
  changes.kept.intents.sort((left, right) => (left.intent_uid < right.intent_uid ? -1 : 1));
  changes.intents.sort((left, right) => (left.input.intent_uid < right.input.intent_uid ? -1 : 1));
  return changes;
}

/** Which uids belong to other services: looked up one by one or, if that takes fewer requests, in the lists of all services. */
async function findForeign(
  { api, terminal }: RegistryContext,
  uids: readonly string[],
  serviceId: string | undefined,
  concurrency: number,
): Promise<Set<string>> {
  const foreign = new Set<string>();
  const services = uids.length > maxProbes ? await Array.fromAsync(listServices(api)) : [];
  const others = services.filter(({ service_id }) => service_id !== serviceId);
  const requests = others.reduce((sum, { intents }) => sum + Math.max(1, Math.ceil(intents / pageSize)), services.length / pageSize);
  const isByList = uids.length > Math.max(maxProbes, requests);
  const progress = terminal.progress('Checking', isByList ? others.length : uids.length);
  const work = isByList
    ? others.map(({ service_id }) => async () => {
        const taken = new Set((await listAllIntents(api, service_id)).map(({ intent_uid }) => intent_uid));
        for (const uid of uids) if (taken.has(uid)) foreign.add(uid);
      })
    : uids.map((uid) => async () => {
        const found = await findIntent(api, uid);
        if (found !== undefined && found.record.service_id !== serviceId) foreign.add(uid);
      });
  try {
    await concurrently(work, concurrency, (check) => check().then(() => progress.step()));
  } finally {
    progress.end();
  }
  return foreign;
}

/**
 * The namespace of a service cannot change, so a registry file may omit it. A service stays paused unless the file says otherwise, so that a pipeline
 * that applies a file does not resume it.
 */
function chooseService({ service, into, isOfDocument, isNamed }: Wanted, record: Service): ServiceInput {
  const registered = normalizeService(record);
  if (into) return registered;
  if (isOfDocument) return combineService(service, registered, isNamed);
  const { namespace, paused } = registered;
  return { ...(namespace !== undefined && { namespace }), ...(paused && { paused }), ...service };
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

function compareRecord<T, Registered extends T>(found: Found<Registered> | undefined, input: T, normalize: (record: T) => T): Change<T> {
  if (found === undefined) return { kind: 'create', input, differences: [] };
  const differences = findDifferences(normalize(found.record), normalize(input));
  return { kind: differences.length > 0 ? 'update' : 'same', input, differences, etag: found.etag };
}

export const hasDifferences = ({ service, intents, unwanted, foreign }: ServiceChanges): boolean =>
  service.kind !== 'same' || intents.length + unwanted.length + foreign.length > 0;
