import { type Key, keys, partitions } from '../table/keys.ts';
import { firstOf, getMany, pagesOf } from '../table/pages.ts';
import type { Item, Table } from '../table/table.ts';
import { maxSkipped, pageOutOfRange } from './lists.ts';
import { type ServiceItem, type ServiceRecord, toServiceRecord } from './records.ts';

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
  const items = await table.getAll<ServiceItem>(page.map(({ service_id }) => keys.service(service_id)));
  const services = items
    .filter((item) => item !== undefined)
    .map(toServiceRecord)
    .filter(({ service_name }) => page.some(({ sk }) => sk === keys.serviceName(service_name).sk));
  const next = listed.length > wanted ? page.at(-1)?.sk : matches && names.length === maxSearched ? names.at(-1)?.sk : undefined;
  return { services, ...(next !== undefined && { next }) };
}

export async function findServices(table: Table, serviceIds: readonly string[]): Promise<ServiceRecord[]> {
  const items = await getMany<ServiceItem>(table, serviceIds.map(keys.service));
  return items.filter((item) => item !== undefined).map(toServiceRecord);
}

const readNames = (table: Table, after: string | undefined, count: number): Promise<NameItem[]> =>
  firstOf(pagesOf(table, partitions.serviceName.prefix, { range: after === undefined ? undefined : ['>', after], limit: count }), count);
