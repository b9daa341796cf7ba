import type * as z from 'zod';
import { Refusal } from '../../../client/errors.ts';
import type { Exchange } from '../../../client/http.ts';
import { foldName } from '../../../functions/core/store/keys.ts';
import { type FullIntent, fullIntent, intentList, intentPage } from '../../../schemas/intent.ts';
import { type Service, service } from '../../../schemas/service.ts';
import { readAnswer } from '../../probes.ts';
import type { Api } from '../api.ts';
import { CliFailure } from '../failure.ts';

const pageSize = 100;

/** The path and query of the next page, from the `Link` header (RFC 8288). */
function nextPage(headers: Headers): { path: string; query: Record<string, string> } | undefined {
  const [, target] = /<([^>]*)>;\s*rel="next"/.exec(headers.get('link') ?? '') ?? [];
  const url = target === undefined ? null : URL.parse(target);
  return url === null ? undefined : { path: url.pathname, query: Object.fromEntries(url.searchParams) };
}

async function* readPages<T extends z.ZodType>(
  api: Api,
  path: string,
  query: Record<string, string>,
  schema: T,
): AsyncGenerator<z.output<T>> {
  for (let asked: Record<string, string> | undefined = query; asked !== undefined; ) {
    const reply = await api.call('GET', path, { query: { ...asked, page_size: pageSize } });
    yield readAnswer(schema, reply);
    // a link may use another address of the gate, with another path; only its query counts
    asked = nextPage(reply.headers)?.query;
  }
}

const intentsOf = (serviceId: string) => `/api/services/${encodeURIComponent(serviceId)}/intents`;
export const intentPath = (uid: string) => `/api/intents/${encodeURIComponent(uid)}`;
export const servicePath = (serviceId: string) => `/api/services/${encodeURIComponent(serviceId)}`;

/** The intents of a service in the order of their uids, deprecated ones included, page by page. */
export const listIntents = (api: Api, serviceId: string) => readPages(api, intentsOf(serviceId), {}, intentList);

export async function listUids(api: Api, serviceId: string): Promise<string[]> {
  const uids: string[] = [];
  for await (const { intents } of listIntents(api, serviceId)) uids.push(...intents.map(({ intent_uid }) => intent_uid));
  return uids;
}

async function findOrNothing(read: Promise<Exchange>): Promise<Exchange | undefined> {
  try {
    return await read;
  } catch (error) {
    if (error instanceof Refusal && error.status === 404) return undefined;
    throw error;
  }
}

/** An intent in full, and its entity tag. */
export async function findIntent(api: Api, uid: string): Promise<{ intent: FullIntent; etag: string } | undefined> {
  const reply = await findOrNothing(api.call('GET', intentPath(uid), { query: { view: 'full' } }));
  return reply && { intent: readAnswer(fullIntent, reply), etag: reply.headers.get('etag') ?? '*' };
}

export async function findService(api: Api, serviceId: string): Promise<{ service: Service; etag: string } | undefined> {
  const reply = await findOrNothing(api.call('GET', servicePath(serviceId)));
  return reply && { service: readAnswer(service, reply), etag: reply.headers.get('etag') ?? '*' };
}

/** The names of the services that have intents which a search finds, each with one such intent. */
export async function* searchServices(api: Api, serviceName = ''): AsyncGenerator<{ name: string; uid: string }> {
  const seen = new Set<string>();
  for await (const { intents } of readPages(api, '/api/intents/search', { service_name: serviceName }, intentPage)) {
    for (const { service_name: name, intent_uid: uid } of intents) {
      if (seen.has(name)) continue;
      seen.add(name);
      yield { name, uid };
    }
  }
}

/**
 * Finds a service by its id or by its name. It is found by name if a search finds one of its intents: the API has no list of services.
 * @throws CliFailure if there is none
 */
export async function requireService(api: Api, nameOrId: string): Promise<{ service: Service; etag: string }> {
  const found = (await findService(api, nameOrId)) ?? (await findServiceByName(api, nameOrId));
  if (found) return found;
  throw new CliFailure(
    'failure',
    'There is no service with this name or id. A service is found by its name only if it has an intent that is not deprecated; by its id, always.',
  );
}

export async function findServiceByName(api: Api, name: string): Promise<{ service: Service; etag: string } | undefined> {
  for await (const { name: found, uid } of searchServices(api, name)) {
    if (foldName(found) !== foldName(name)) continue;
    const serviceId = (await findIntent(api, uid))?.intent.service_id;
    if (serviceId !== undefined) return findService(api, serviceId);
  }
  return undefined;
}
