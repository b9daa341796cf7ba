import { originOf } from '../../../functions/core/relay/url-template.ts';
import type { FullIntent, IntentInput } from '../../../schemas/intent.ts';
import type { Service, ServiceInput } from '../../../schemas/service.ts';
import type { Api } from '../api.ts';
import type { RegistryContext } from '../context.ts';
import { withProgress } from './concurrently.ts';
import { type Difference, findDifferences } from './differences.ts';
import { normalizeIntent, normalizeService } from './normal-form.ts';
import { type Found, findIntent, findService, findServiceByName, listAllIntents } from './read.ts';

/** How a service and its intents should be. */
export interface Wanted {
  service: ServiceInput;
  intents: readonly IntentInput[];
  /** the service that is meant, whatever its name; its own record is then left as it is */
  into?: Service | undefined;
  /** what no document says, and an admin may have set on an intent, stays as it is: `draft`, `fields` and `strict` */
  keepsSettings?: boolean;
}

/** What it takes to bring a record into the wanted state. */
export interface Change<T> {
  kind: 'create' | 'update' | 'same';
  input: T;
  /** for an update, with what was compared, in normal form, and its entity tag */
  differences: Difference[];
  etag?: string;
  standing?: T;
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
  /** uids that are wanted, but that another service has */
  foreign: string[];
  /** origins to which wanted intents lead, other than that of the service's address */
  otherOrigins: string[];
}

/** How many intents are looked up when a service is not found by its name. */
const maxProbes = 20;

/** A service is found by its name, else by the intents that it should have. */
export async function findWanted(api: Api, { service, intents, into }: Wanted): Promise<Found<Service> | undefined> {
  if (into !== undefined) return findService(api, into.service_id);
  const named = await findServiceByName(api, service.service_name);
  if (named) return named;
  for (const { intent_uid } of intents.slice(0, maxProbes)) {
    const found = await findIntent(api, intent_uid);
    if (found) return findService(api, found.record.service_id);
  }
  return undefined;
}

/** What the registry has of a service; the uids in their order. */
export interface Standing {
  service: Found<Service> | undefined;
  intents: ReadonlyMap<string, Found<FullIntent>>;
}

/** Reads the service that is meant, with all its intents. */
export async function readStanding({ api, terminal }: RegistryContext, wanted: Wanted, concurrency: number): Promise<Standing> {
  const service = await findWanted(api, wanted);
  const listed = service === undefined ? [] : await listAllIntents(api, service.record.service_id);
  const found = new Map<string, Found<FullIntent>>();
  await withProgress(terminal, 'Reading', listed, concurrency, async ({ intent_uid }) => {
    const intent = await findIntent(api, intent_uid);
    if (intent) found.set(intent_uid, intent);
  });
  return { service, intents: new Map([...found].sort(([left], [right]) => (left < right ? -1 : 1))) };
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
  const changes: ServiceChanges = {
    name: wanted.into?.service_name ?? wanted.service.service_name,
    serviceId,
    service: compareRecord(
      found,
      wanted.into && found ? normalizeService(found.record) : keepNamespace(wanted.service, found),
      normalizeService,
    ),
    intents: [],
    unchanged: 0,
    extra: [...standing.keys()].filter((uid) => !wantedUids.has(uid)),
    foreign: [],
    otherOrigins: findOtherOrigins(wanted),
  };
  await withProgress(terminal, 'Comparing', wanted.intents, concurrency, async (intent) => {
    const stands = standing.get(intent.intent_uid) ?? (isThorough ? await findIntent(api, intent.intent_uid) : undefined);
    const input = wanted.keepsSettings && stands ? keepSettings(intent, stands.record) : intent;
    const change = compareRecord(stands, input, normalizeIntent);
    if (stands !== undefined && stands.record.service_id !== serviceId) changes.foreign.push(intent.intent_uid);
    else if (change.kind === 'same') changes.unchanged++;
    else changes.intents.push(change);
  });
  changes.intents.sort((left, right) => (left.input.intent_uid < right.input.intent_uid ? -1 : 1));
  return changes;
}

/** A namespace stays once it is set, also if it is left out. */
const keepNamespace = (service: ServiceInput, found: Found<Service> | undefined): ServiceInput => ({
  ...(found?.record.namespace !== undefined && { namespace: found.record.namespace }),
  ...service,
});

/** Without its `fields`, an intent would let more of the answers out than an admin has allowed. */
const keepSettings = (intent: IntentInput, { draft, fields, strict }: FullIntent): IntentInput => ({
  ...intent,
  draft,
  ...(fields !== undefined && { fields }),
  ...(strict !== undefined && { strict }),
});

function findOtherOrigins({ service, intents, into }: Wanted): string[] {
  const home = new URL((into ?? service).service_url).origin;
  const origins = new Set(intents.map(({ endpoint }) => originOf(endpoint.url) ?? ''));
  return [...origins].filter((origin) => origin !== home).sort();
}

function compareRecord<T, Standing extends T>(found: Found<Standing> | undefined, input: T, normalize: (record: T) => T): Change<T> {
  if (found === undefined) return { kind: 'create', input, differences: [] };
  const standing = normalize(found.record);
  const differences = findDifferences(standing, normalize(input));
  return { kind: differences.length > 0 ? 'update' : 'same', input, differences, etag: found.etag, standing };
}

/** Whether anything differs. */
export const hasDrift = ({ service, intents, extra, foreign }: ServiceChanges): boolean =>
  service.kind !== 'same' || intents.length + extra.length + foreign.length > 0;
