import type * as z from 'zod';
import { Refusal } from '../../../client/errors.ts';
import { fullIntent, intentList } from '../../../schemas/intent.ts';
import { type Service, service, serviceList } from '../../../schemas/service.ts';
import { foldName } from '../../../schemas/text.ts';
import { readAnswer } from '../../probes.ts';
import type { Api, ApiCallOptions } from '../api.ts';
import { CliFailure } from '../failure.ts';

const pageSize = 100;

/** The query of the next page, from the `Link` header (RFC 8288). The link may use another address of the gate, with another path. */
export function nextQuery(headers: Headers): Record<string, string> | undefined {
  const [, target = ''] = /<([^>]*)>;\s*rel="next"/.exec(headers.get('link') ?? '') ?? [];
  const url = URL.parse(target);
  return url === null ? undefined : Object.fromEntries(url.searchParams);
}

/** The pages of a list. @param isAdmin - as {@link ApiCallOptions} has it */
export async function* readPages<T extends z.ZodType>(
  api: Api,
  path: string,
  query: Record<string, string>,
  schema: T,
  isAdmin?: ApiCallOptions['isAdmin'],
): AsyncGenerator<z.output<T>> {
  for (let asked: Record<string, string> | undefined = query; asked !== undefined; ) {
    const reply = await api.call('GET', path, { query: { ...asked, page_size: pageSize }, ...(isAdmin && { isAdmin }) });
    yield readAnswer(schema, reply);
    asked = nextQuery(reply.headers);
  }
}

export const intentPath = (uid: string) => `/api/intents/${encodeURIComponent(uid)}`;
export const servicePath = (serviceId: string) => `/api/services/${encodeURIComponent(serviceId)}`;

/** The intents of a service in the order of their uids, deprecated ones included, and drafts if an admin of the service is signed in, page by page. */
export const listIntents = (api: Api, serviceId: string) =>
  readPages(api, `${servicePath(serviceId)}/intents`, {}, intentList, 'if signed in');

export const listAllIntents = async (api: Api, serviceId: string) =>
  (await Array.fromAsync(listIntents(api, serviceId), ({ intents }) => intents)).flat();

/** A record as it is now, and its entity tag. */
export interface Found<T> {
  record: T;
  etag: string;
}

async function find<T extends z.ZodType>(
  api: Api,
  path: string,
  schema: T,
  options: ApiCallOptions = {},
): Promise<Found<z.output<T>> | undefined> {
  try {
    const reply = await api.call('GET', path, options);
    return { record: readAnswer(schema, reply), etag: reply.headers.get('etag') ?? '*' };
  } catch (error) {
    if (error instanceof Refusal && error.status === 404) return undefined;
    throw error;
  }
}

/** An intent in full; a draft if an admin of its service is signed in. */
export const findIntent = (api: Api, uid: string) =>
  find(api, intentPath(uid), fullIntent, { query: { view: 'full' }, isAdmin: 'if signed in' });
export const findService = (api: Api, serviceId: string) => find(api, servicePath(serviceId), service);

/** The services in the order of their names, with the number of their intents; with `name` those whose names have all its words. */
export async function* listServices(api: Api, name = '') {
  for await (const { services } of readPages(api, '/api/services', { name }, serviceList)) yield* services;
}

/**
 * Finds a service by its id or by its name.
 * @throws CliFailure if there is none
 */
export async function requireService(api: Api, nameOrId: string): Promise<Found<Service>> {
  const found = (await findService(api, nameOrId)) ?? (await findServiceByName(api, nameOrId));
  if (found) return found;
  throw new CliFailure('failure', 'There is no service with this name or id. "intent-gate services list" shows those that there are.');
}

export async function findServiceByName(api: Api, name: string): Promise<Found<Service> | undefined> {
  for await (const { service_name, service_id } of listServices(api, name)) {
    if (foldName(service_name) === foldName(name)) return findService(api, service_id);
  }
  return undefined;
}
