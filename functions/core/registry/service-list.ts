import { type Key, keys, partitions } from '../table/keys.ts';
import type { Item, Table } from '../table/table.ts';
import { maxSkipped, tooFarIn } from './lists.ts';
import type { ServiceRecord } from './records.ts';
import { type ServiceItem, toServiceRecord } from './service-item.ts';

export interface ServicePage {
  services: ServiceRecord[];
  /** what the next page comes after; none if there is no next page */
  next?: string;
}

/** How many names one request looks through for those that are asked for. */
const maxSearched = 1_000;

/**
 * A page of the services in the order of their folded names. A service that is renamed or
 * deleted meanwhile leaves the page shorter.
 * @param from - how many names come before the page, or the folded name that it comes after
 * @param matches - which folded names to list, if not all: then the page ends at the latest after {@link maxSearched} names
 * @throws ApiError INVALID_PARAMETER if too many names come before the page
 */
export async function listServices(
  table: Table,
  from: number | string,
  count: number,
  matches?: (name: string) => boolean,
): Promise<ServicePage> {
  const skipped = typeof from === 'number' ? from : 0;
  if (skipped > maxSkipped) throw tooFarIn();
  const wanted = skipped + count;
  const names = await readNames(table, typeof from === 'string' ? from : undefined, matches ? maxSearched : wanted + 1);
  const listed = matches ? names.filter(({ sk }) => matches(sk)) : names;
  const page = listed.slice(skipped, wanted);
  const items = await table.getAll<ServiceItem>(page.map(({ service_id }) => keys.service(service_id)));
  const services = items
    .filter((item): item is ServiceItem => item !== undefined)
    .map(toServiceRecord)
    .filter(({ service_name }) => page.some(({ sk }) => sk === keys.serviceName(service_name).sk));
  const next = listed.length > wanted ? page.at(-1)?.sk : matches && names.length === maxSearched ? names.at(-1)?.sk : undefined;
  return { services, ...(next !== undefined && { next }) };
}

/** The services among these, in no order. */
export async function findServices(table: Table, serviceIds: readonly string[]): Promise<ServiceRecord[]> {
  const found: ServiceRecord[] = [];
  for (let at = 0; at < serviceIds.length; at += 100) {
    const items = await table.getAll<ServiceItem>(serviceIds.slice(at, at + 100).map(keys.service));
    found.push(...items.filter((item): item is ServiceItem => item !== undefined).map(toServiceRecord));
  }
  return found;
}

/** Up to `count` names and the ids of the services that have them, in order. */
async function readNames(table: Table, after: string | undefined, count: number): Promise<(Key & { service_id: string })[]> {
  const names: (Key & { service_id: string })[] = [];
  let start: Key | undefined;
  do {
    const { items, lastKey } = await table.query<Key & Item & { service_id: string }>(partitions.serviceName.prefix, {
      ...(after !== undefined && { range: ['>', after] }),
      limit: count - names.length,
      start,
    });
    names.push(...items);
    start = lastKey;
  } while (start && names.length < count);
  return names;
}
