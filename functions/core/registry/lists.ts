import { type FullIntent, type IntentInput, toFullIntent } from '../../../schemas/intent.ts';
import type { IntentOfList } from '../../../schemas/intent-pages.ts';
import type { JudgedIntent } from '../policy/conditions.ts';
import type { Sight } from '../policy/sight.ts';
import { ApiError } from '../runtime/api-error.ts';
import { batchesOf } from '../runtime/batches.ts';
import { type Key, keys, partitions } from '../table/keys.ts';
import { firstOf, getMany, pagesOf } from '../table/pages.ts';
import type { Item, Table, Write } from '../table/table.ts';
import type { LiveIntents } from './live-intents.ts';
import { openLog } from './log.ts';
import { type ServiceItem, type ServiceRecord, toServiceRecord } from './records.ts';
import { noSuchService } from './refusals.ts';

/**
 * A copy of an intent for lists, written and removed in the intent's transaction, so that a list reads neither the records nor the partitions that
 * executions read.
 */
type ListItem = Key & IntentOfList & Item & { rev: number };

/**
 * The name of one of a service's two lists: its intents, and its drafts, which only admins see. An intent is in one of them, and each can be
 * counted and paged without the other.
 */
export const listNameOf = (serviceId: string, isDraft: boolean | undefined): string => (isDraft ? `${serviceId}#drafts` : serviceId);

export function putListEntry(serviceId: string, intent: IntentInput, rev: number): Write {
  const { intent_uid, intent_name, description, tags = [], deprecated = false, draft = false, endpoint } = intent;
  const entry = { intent_uid, intent_name, description, tags, method: endpoint.method, url: endpoint.url, deprecated, draft, rev };
  return { put: { ...keys.listEntry(listNameOf(serviceId, draft), intent_uid), ...entry } };
}

/** Page numbers reach this many entries from either end of a list; beyond that, pages need cursors. */
export const maxSkipped = 5_000;

export const pageOutOfRange = () =>
  new ApiError(
    'INVALID_PARAMETER',
    'This page number is out of range. Start from an earlier or later page and follow its Link header (rel="next").',
    {
      details: {
        issues: [{ path: '/page', problem: `must begin within ${maxSkipped} entries of either end of the list, or come with after` }],
      },
    },
  );

/**
 * A page of a service's intents in uid order, and their total.
 * @param from - index of the first intent, or the uid before it
 * @param sight - of a caller from whom intents are hidden
 * @throws ApiError INVALID_PARAMETER if the index is far from both ends, NOT_FOUND if all of the service is hidden
 */
export async function listIntents(
  table: Table,
  service: Pick<ServiceRecord, 'service_id' | 'intents' | 'drafts'> & Partial<Pick<ServiceRecord, 'service_name'>>,
  from: number | string,
  count: number,
  isWithDrafts = false,
  sight?: Sight,
): Promise<{ intents: IntentOfList[]; total: number }> {
  if (sight) {
    const seen = await listSeen(table, service, sight);
    if (seen.length === 0) throw noSuchService();
    const rest = typeof from === 'string' ? seen.filter(({ intent_uid }) => intent_uid > from) : seen.slice(from);
    return { intents: rest.slice(0, count), total: seen.length };
  }
  const lists = [listNameOf(service.service_id, false), ...(isWithDrafts ? [listNameOf(service.service_id, true)] : [])];
  const total = service.intents + (isWithDrafts ? service.drafts : 0);
  if (typeof from === 'string') return { intents: await take(table, lists, { after: from }, 0, count), total };
  const expected = Math.max(0, Math.min(count, total - from));
  const behind = total - from - expected;
  if (expected === 0) return { intents: [], total };
  if (Math.min(from, behind) > maxSkipped) throw pageOutOfRange();
  if (from <= behind) {
    // a full page, not only the expected intents: one that was registered since must not displace another
    const intents = await take(table, lists, {}, from, count);
    return { intents, total: Math.max(total, from + intents.length) };
  }
  return { intents: (await take(table, lists, { isBackward: true }, behind, expected)).reverse(), total };
}

/** The intents of a service that a caller sees, without drafts, in uid order. An entry without its method is older than this rule, and hidden if it matters. */
async function listSeen(table: Table, { service_id, service_name }: Parameters<typeof listIntents>[1], sight: Sight): Promise<ListItem[]> {
  const judged = ({ intent_uid, method, tags }: ListItem): JudgedIntent | undefined =>
    method && { intentUid: intent_uid, method, tags: tags ?? [], service: { service_id, service_name } };
  const entries = (await Array.fromAsync(pages(table, listNameOf(service_id, false)))).flat();
  return entries.filter((entry) => sight.shows(entry.intent_uid, () => judged(entry)));
}

interface Walk {
  after?: string;
  isBackward?: true;
}

async function take(table: Table, lists: string[], walk: Walk, skipped: number, count: number): Promise<ListItem[]> {
  const found = (await Promise.all(lists.map((list) => firstOf(pages(table, list, walk, skipped + count), skipped + count)))).flat();
  const sign = walk.isBackward ? -1 : 1;
  if (lists.length > 1) found.sort((left, right) => (left.intent_uid < right.intent_uid ? -sign : sign));
  return found.slice(skipped, skipped + count);
}

export const pages = (table: Table, list: string, { after, isBackward }: Walk = {}, limit?: number): AsyncGenerator<ListItem[]> =>
  pagesOf<ListItem>(table, partitions.listEntry.prefix + list, {
    range: after === undefined ? undefined : ['>', after],
    isBackward,
    limit,
  });

export async function* allPages(table: Table, serviceId: string): AsyncGenerator<ListItem[]> {
  for (const isDraft of [false, true]) yield* pages(table, listNameOf(serviceId, isDraft));
}

const removedAtOnce = 25;

/**
 * Removes what a deleted service has left behind: its intents, which cannot be found without it, and its lists. An intent that has changed since
 * stays. Records are removed before their entries, so that an interrupted removal can be repeated.
 * @param untilMs - when to stop, in milliseconds since the epoch
 */
export async function removeLeftovers(table: Table, serviceId: string, untilMs = Number.POSITIVE_INFINITY): Promise<void> {
  for await (const entries of allPages(table, serviceId)) {
    for (const batch of batchesOf(entries, removedAtOnce)) {
      if (Date.now() >= untilMs) return;
      await Promise.all(
        batch.map(async ({ pk, sk, intent_uid, rev }) => {
          await table.delete(keys.intent(intent_uid), { when: [['=', 'rev', rev]] });
          await table.delete({ pk, sk }, { when: [['=', 'rev', rev]] });
        }),
      );
    }
  }
}

/** Maximum size of a page of complete records. Lambda sends at most 6 MB, and escaping the body as a JSON string may double it. */
const maxPageBytes = 2_000_000;

/** An intent takes up to 256 KB, so that a batch reads little more than a page holds. */
const batchSize = 20;

/**
 * The complete records of a service's intents, as many as fit into a page, but at least one if any exists. Omits those that have been moved or deleted
 * since they were listed.
 * @returns the records with their revisions, and the uid after which the next page begins
 */
export async function readFullPage(
  intents: Pick<LiveIntents, 'read'>,
  { service_id, service_name, paused }: Pick<ServiceRecord, 'service_id' | 'service_name' | 'paused'>,
  uids: readonly string[],
  isWithDrafts: boolean,
): Promise<{ records: { shown: FullIntent; rev: number }[]; lastUid: string | undefined }> {
  const records: { shown: FullIntent; rev: number }[] = [];
  let bytes = 0;
  let lastUid: string | undefined;
  for (const batch of batchesOf(uids, batchSize)) {
    for (const intent of await intents.read(batch, isWithDrafts)) {
      if (intent.service_id !== service_id) continue;
      const shown = { ...toFullIntent(intent, service_name), ...(paused && { paused }) };
      bytes += Buffer.byteLength(JSON.stringify(shown));
      if (bytes > maxPageBytes && records.length > 0) return { records, lastUid };
      records.push({ shown, rev: intent.rev });
      lastUid = intent.intent_uid;
    }
    lastUid = batch.at(-1);
  }
  return { records, lastUid };
}

export interface ServicePage {
  services: ServiceRecord[];
  next?: string;
}

type NameItem = Key & Item & { service_id: string };

const maxSearched = 1_000;

/**
 * A page of the services in the order of their folded names, without services that are renamed or deleted while it is read.
 * @param from - index of the first name, or the folded name before it
 * @param matches - filters folded names; the page then ends after {@link maxSearched} names
 * @throws ApiError INVALID_PARAMETER if the index is too high
 */
export async function listServices(
  table: Table,
  from: number | string,
  count: number,
  matches?: (name: string) => boolean,
): Promise<ServicePage> {
  const skipped = typeof from === 'number' ? from : 0;
  if (skipped > maxSkipped) throw pageOutOfRange();
  const wanted = skipped + count;
  const names = await readNames(table, typeof from === 'string' ? from : undefined, matches ? maxSearched : wanted + 1);
  const listed = matches ? names.filter(({ sk }) => matches(sk)) : names;
  const page = listed.slice(skipped, wanted);
  const services = await readNamed(table, page);
  const next = listed.length > wanted ? page.at(-1)?.sk : matches && names.length === maxSearched ? names.at(-1)?.sk : undefined;
  return { services, ...(next !== undefined && { next }) };
}

/** The services of which a caller sees something, counted for it. The counts for one policy are kept until the registry changes. */
export function openSeenServices(table: Table) {
  const kept = new WeakMap<object, { seq: number; counts: Map<string, number> }>();

  async function countsFor({ judgedBy }: Sight): Promise<Map<string, number>> {
    if (!judgedBy) return new Map();
    const { seq } = await openLog(table).head();
    const known = kept.get(judgedBy);
    if (known && known.seq === seq) return known.counts;
    const counts = new Map<string, number>();
    kept.set(judgedBy, { seq, counts });
    return counts;
  }

  /**
   * Like {@link listServices}.
   * @param sightOf - the caller's sight of a service; undefined if it sees all of it
   */
  return async (
    from: number | string,
    count: number,
    sight: Sight,
    isOwn: (service: ServiceRecord) => boolean,
    matches: (name: string) => boolean = () => true,
  ): Promise<ServicePage> => {
    const skipped = typeof from === 'number' ? from : 0;
    if (skipped > maxSkipped) throw pageOutOfRange();
    const counts = await countsFor(sight);
    const see = async (service: ServiceRecord): Promise<ServiceRecord[]> => {
      if (isOwn(service)) return [service];
      const intents = counts.get(service.service_id) ?? (await listSeen(table, service, sight)).length;
      counts.set(service.service_id, intents);
      return intents > 0 ? [{ ...service, intents }] : [];
    };
    const seen: ServiceRecord[] = [];
    const after = typeof from === 'string' ? (['>', from] as const) : undefined;
    for await (const names of pagesOf<NameItem>(table, partitions.serviceName.prefix, { range: after, limit: servicesAtOnce })) {
      // not only of names that match, so that the time does not tell that a hidden one does
      const uncounted = names.filter(({ sk, service_id }) => !counts.has(service_id) && (sight.judgedBy || matches(sk)));
      await Promise.all((await readNamed(table, uncounted)).map(see));
      const found = names.filter(({ sk, service_id }) => matches(sk) && counts.get(service_id) !== 0);
      const named = await readNamed(table, found);
      seen.push(...(await Promise.all(named.map(see))).flat());
      if (seen.length > skipped + count) break;
    }
    const services = seen.slice(skipped, skipped + count);
    const last = services.at(-1);
    return { services, ...(seen.length > skipped + count && last && { next: keys.serviceName(last.service_name).sk }) };
  };
}

/** Number of services whose lists are read at the same time. */
const servicesAtOnce = 50;

/** The services with these names, without those that have been renamed or deleted since the names were read. */
async function readNamed(table: Table, names: readonly NameItem[]): Promise<ServiceRecord[]> {
  const items = await table.getAll<ServiceItem>(names.map(({ service_id }) => keys.service(service_id)));
  return items
    .filter((item) => item !== undefined)
    .map(toServiceRecord)
    .filter(({ service_name }) => names.some(({ sk }) => sk === keys.serviceName(service_name).sk));
}

export async function findServices(table: Table, serviceIds: readonly string[]): Promise<ServiceRecord[]> {
  const items = await getMany<ServiceItem>(table, serviceIds.map(keys.service));
  return items.filter((item) => item !== undefined).map(toServiceRecord);
}

const readNames = (table: Table, after: string | undefined, count: number): Promise<NameItem[]> =>
  firstOf(pagesOf(table, partitions.serviceName.prefix, { range: after === undefined ? undefined : ['>', after], limit: count }), count);
