import { isDeepStrictEqual } from 'node:util';
import { type IntentItem, isLive, toIntentRecord } from '../../functions/core/registry/intent-item.ts';
import { allPages } from '../../functions/core/registry/members.ts';
import type { RegistryRecord, ServiceRecord } from '../../functions/core/registry/records.ts';
import { openRegistry } from '../../functions/core/registry/registry.ts';
import { type Key, keys } from '../../functions/core/table/keys.ts';
import type { Item, Table } from '../../functions/core/table/table.ts';
import { isUlid } from '../../functions/core/ulid.ts';
import type { IntentInput } from '../../schemas/intent.ts';
import { isIntentUid } from '../../schemas/intent-uid.ts';
import type { ServiceInput } from '../../schemas/service.ts';
import { CliFailure, usageFailure } from '../cli/failure.ts';
import { explain, type Tables } from './tables.ts';

/** What is to be restored. */
export type Selection = { what: 'intent' | 'service'; id: string } | { what: 'all' };

/** What is to be done with one record. */
export interface Step {
  kind: 'service' | 'intent';
  id: string;
  name: string;
  service_id: string;
  /** `put back`: over a tombstone, or what a deletion left behind */
  action: 'create' | 'replace' | 'put back' | 'remove';
  /** the revision that is to be replaced or removed: another one is left alone */
  seen?: string;
}

/** A record that cannot be restored, and why. */
export interface Obstacle {
  kind: Step['kind'];
  id: string;
  message: string;
}

export interface Plan {
  steps: Step[];
  obstacles: Obstacle[];
  /** how many records are in the live table as they are in the copy */
  unchanged: number;
}

/** A deletion may be removing intents for this long. */
const deletionMs = 60_000;

const batchSize = 100;

/** The input that a service was registered with. */
export function toServiceInput(record: ServiceRecord & Item): ServiceInput {
  const { pk, sk, kind, service_id, rev, name_claim, credential, emptied_at, deleted_at, expires_at, ...input } = record;
  return input as ServiceInput;
}

/** The input that an intent was registered with. */
export const toIntentInput = ({ definition = '{}' }: IntentItem): IntentInput => JSON.parse(definition);

const readItems = async <T extends Item>(table: Table, some: Key[]): Promise<(T | undefined)[]> =>
  some.length > 0 ? table.getAll<T>(some) : [];

/** Some records as they stand, tombstones included. An intent is live only together with its service. */
async function readStanding(table: Table, wanted: Pick<Step, 'kind' | 'id'>[]) {
  const found = await readItems<Item>(
    table,
    wanted.map(({ kind, id }) => keys[kind](id)),
  );
  const owners = [...new Set(found.flatMap((item) => (item?.kind === 'intent' ? [String(item.service_id)] : [])))];
  const services = await readItems<ServiceRecord & Item>(table, owners.map(keys.service));
  const serviceOf = new Map(owners.map((id, at) => [id, services[at]]));
  return found.map((item) => {
    const service = item?.kind === 'intent' ? serviceOf.get(String(item.service_id)) : undefined;
    return { item, service, isLive: isLive(item as { deleted_at?: number }) && (item?.kind === 'service' || isLive(service)) };
  });
}

type Standing = Awaited<ReturnType<typeof readStanding>>[number];

const idOf = (record: RegistryRecord): string => (record.kind === 'service' ? record.service_id : record.intent_uid);
const nameOf = (record: RegistryRecord): string => (record.kind === 'service' ? record.service_name : record.intent_name);

/**
 * Compares the copy with the live table.
 * @throws CliFailure if the copy does not have what is selected
 */
export async function makePlan({ copy, live, choice }: Pick<Tables, 'copy' | 'live' | 'choice'>, selection: Selection): Promise<Plan> {
  const plan: Plan = { steps: [], obstacles: [], unchanged: 0 };
  const isAll = selection.what === 'all';
  try {
    const seen = new Set<string>();
    for await (const records of select(copy, selection)) {
      const fresh = records.filter((record) => !seen.has(idOf(record)));
      for (const record of fresh) seen.add(idOf(record));
      const standing = await readStanding(
        live,
        fresh.map((record) => ({ kind: record.kind, id: idOf(record) })),
      );
      for (const [at, record] of fresh.entries()) await compare(plan, record, standing[at] as Standing, isAll ? copy : undefined);
    }
    if (isAll && seen.size === 0) throw new CliFailure('failure', `The copy ${choice.from} has no services. Nothing is removed for that.`);
    if (isAll) await findExtra(plan, copy, live);
  } catch (error) {
    throw explain(error, choice);
  }
  if (selection.what === 'intent') await requireService(plan, live);
  return plan;
}

/** The live records of the copy that are selected, services before their intents, some at a time. */
async function* select(copy: Table, selection: Selection): AsyncGenerator<RegistryRecord[]> {
  if (selection.what === 'all') {
    for await (const { records } of openRegistry(copy, true).readAll()) {
      const standing = await readStanding(
        copy,
        records.map((record) => ({ kind: record.kind, id: idOf(record) })),
      );
      yield records.filter((_, at) => standing[at]?.isLive);
    }
    return;
  }
  const { what: kind, id } = selection;
  const isId = kind === 'intent' ? isIntentUid(id) : isUlid(id);
  if (!isId) throw usageFailure(kind === 'intent' ? `${id} is no intent_uid.` : `${id} is no service_id.`);
  const [standing] = await readStanding(copy, [{ kind, id }]);
  if (!standing?.item || !standing.isLive) {
    throw new CliFailure('failure', `The copy has no ${kind} ${id}: it was not registered then, or deleted. Make a copy of another time.`);
  }
  if (kind === 'intent') return yield [toIntentRecord(standing.item as IntentItem)];
  yield [standing.item as ServiceRecord & Item];
  for await (const members of allPages(copy, id)) {
    for (let start = 0; start < members.length; start += batchSize) {
      const uids = members.slice(start, start + batchSize).map(({ intent_uid }) => intent_uid);
      const items = await copy.getAll<IntentItem>(uids.map(keys.intent));
      yield items
        .filter(isLive)
        .filter(({ service_id }) => service_id === id)
        .map(toIntentRecord);
    }
  }
}

/** @param copy - if everything is restored, so that an intent may also be taken from the service that has it now */
async function compare(plan: Plan, record: RegistryRecord, standing: Standing, copy: Table | undefined): Promise<void> {
  const { kind, service_id } = record;
  const step = { kind, id: idOf(record), name: nameOf(record), service_id };
  const { item, isLive } = standing;
  if (!isLive) {
    if (kind === 'service' && Date.now() - Number(item?.deleted_at ?? 0) < deletionMs) {
      plan.obstacles.push({
        kind,
        id: step.id,
        message: 'It was deleted less than a minute ago, and its deletion may still be under way. Run this again in a minute.',
      });
      return;
    }
    plan.steps.push({ ...step, action: item ? 'put back' : 'create' });
    return;
  }
  const seen = String(item?.rev);
  if (kind === 'intent' && item?.service_id !== service_id) {
    const owner = standing.service as ServiceRecord & Item;
    if (!copy) {
      plan.obstacles.push({
        kind,
        id: step.id,
        message: `It is an intent of another service now: "${owner.service_name}" (${owner.service_id}). Delete it there first, then run this again.`,
      });
      return;
    }
    const [ownerThen] = await readStanding(copy, [{ kind: 'service', id: owner.service_id }]);
    if (ownerThen?.isLive) plan.steps.push({ ...step, service_id: owner.service_id, action: 'remove', seen });
    plan.steps.push({ ...step, action: 'create' });
    return;
  }
  if (isSame(record, item as Item)) plan.unchanged++;
  else plan.steps.push({ ...step, action: 'replace', seen });
}

const isSame = (record: RegistryRecord, item: Item): boolean => {
  const contentOf = (one: RegistryRecord) => {
    if (one.kind === 'service') return toServiceInput(one as ServiceRecord & Item);
    const { rev, ...content } = one;
    return content;
  };
  const now = record.kind === 'service' ? (item as ServiceRecord & Item) : toIntentRecord(item as IntentItem);
  return isDeepStrictEqual(contentOf(record), contentOf(now));
};

/** What the live table has and the copy does not. The intents of a service that is removed go with it. */
async function findExtra(plan: Plan, copy: Table, live: Table): Promise<void> {
  const removed = new Set<string>();
  const planned = new Set<string>();
  for await (const { records } of openRegistry(live, true).readAll()) {
    const fresh = records.filter((record) => !planned.has(idOf(record)));
    const wanted = fresh.map((record) => ({ kind: record.kind, id: idOf(record) }));
    const [then, now] = [await readStanding(copy, wanted), await readStanding(live, wanted)];
    for (const [at, record] of fresh.entries()) {
      if (then[at]?.isLive || !now[at]?.isLive) continue;
      if (record.kind === 'intent' && removed.has(record.service_id)) continue;
      if (record.kind === 'service') removed.add(record.service_id);
      planned.add(idOf(record));
      plan.steps.push({
        kind: record.kind,
        id: idOf(record),
        name: nameOf(record),
        service_id: record.service_id,
        action: 'remove',
        seen: record.rev,
      });
    }
  }
}

/** @throws CliFailure if the service of the only intent that is restored is deleted */
async function requireService({ steps: [step] }: Plan, live: Table): Promise<void> {
  if (!step) return;
  const service = await live.get<ServiceRecord & Item>(keys.service(step.service_id));
  if (isLive(service)) return;
  throw new CliFailure(
    'failure',
    `The service of ${step.id} is deleted. Restore it, and with it all its intents: --service ${step.service_id}`,
  );
}
