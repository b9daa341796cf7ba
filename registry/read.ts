import type * as z from 'zod';
import { Refusal } from '../client/errors.ts';
import type { ExchangeOptions } from '../client/http.ts';
import { executionPage, maxExecutionsOfPage, type RecordedExecution } from '../schemas/executions.ts';
import { type FullIntent, fullIntent } from '../schemas/intent.ts';
import { fullIntentList, intentList } from '../schemas/intent-pages.ts';
import { type Service, serviceList, shownService } from '../schemas/service.ts';
import { foldName } from '../schemas/text.ts';
import { type Api, type ApiCallOptions, nextQuery, type Progress, type RegistryContext, readAnswer } from './api.ts';
import { CliFailure } from './failure.ts';
import { findNearest } from './policy/unknown-names.ts';

export const pageSize = 100;

export async function* readPages<T extends z.ZodType>(
  api: Pick<Api, 'call'>,
  path: string,
  query: ExchangeOptions['query'],
  schema: T,
  isAdmin?: ApiCallOptions['isAdmin'],
  size = pageSize,
): AsyncGenerator<z.output<T>> {
  for (let asked: ExchangeOptions['query'] = query; asked !== undefined; ) {
    const reply = await api.call('GET', path, { query: { ...asked, page_size: size }, ...(isAdmin && { isAdmin }) });
    yield readAnswer(schema, reply);
    asked = nextQuery(reply.headers);
  }
}

export const intentPath = (uid: string) => `/api/intents/${encodeURIComponent(uid)}`;
export const servicePath = (serviceId: string) => `/api/services/${encodeURIComponent(serviceId)}`;

const intentsPath = (serviceId: string) => `${servicePath(serviceId)}/intents`;

/** The intents of a service ordered by uid, including deprecated ones and, for its admins, drafts. */
export const listAllIntents = async (api: Api, serviceId: string) =>
  (await Array.fromAsync(readPages(api, intentsPath(serviceId), {}, intentList, 'if signed in'), ({ intents }) => intents)).flat();

/** The intents of {@link listAllIntents} with their full records, page by page. */
export async function* readFullIntents({ api, terminal }: RegistryContext, serviceId: string): AsyncGenerator<Found<FullIntent>> {
  let progress: Progress | undefined;
  try {
    for await (const page of readPages(api, intentsPath(serviceId), { view: 'full' }, fullIntentList, 'if signed in')) {
      progress ??= terminal.progress('Reading', page.total_results);
      for (const record of page.intents) {
        yield { record, etag: page.etags[record.intent_uid] ?? '*' };
        progress.step();
      }
    }
  } finally {
    progress?.end();
  }
}

/**
 * Recorded executions that ended since a time, in milliseconds since the epoch.
 * @param most - stops reading once there are so many
 */
export async function readExecutions(api: Api, sinceMs: number, most = Number.POSITIVE_INFINITY): Promise<RecordedExecution[]> {
  const query = { from: new Date(sinceMs).toISOString() };
  // pages may overlap while calls end
  const found = new Map<string, RecordedExecution>();
  for await (const { executions } of readPages(api, '/api/executions', query, executionPage, true, maxExecutionsOfPage)) {
    for (const one of executions) found.set(one.execution_id, one);
    if (found.size >= most) break;
  }
  return [...found.values()];
}

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

export const findIntent = (api: Api, uid: string) =>
  find(api, intentPath(uid), fullIntent, { query: { view: 'full' }, isAdmin: 'if signed in' });

const withoutCredential = shownService.transform(({ credential: _, ...record }): Service => record);

export const findService = (api: Api, serviceId: string) =>
  find(api, servicePath(serviceId), withoutCredential, { isAdmin: 'if signed in' });

/** Services ordered by name, with their numbers of intents; with `name`, those whose names contain all its words. */
export async function* listServices(api: Api, name = '') {
  for await (const { services } of readPages(api, '/api/services', { name }, serviceList, 'if signed in')) yield* services;
}

/** @throws CliFailure if no service has this id or name */
export async function requireService(api: Api, nameOrId: string): Promise<Found<Service>> {
  const found = (await findService(api, nameOrId)) ?? (await findServiceByName(api, nameOrId));
  if (found) return found;
  const names = (await Array.fromAsync(listServices(api))).map(({ service_name }) => service_name);
  const near = findNearest(nameOrId, names);
  const hint = near === undefined ? '' : ` The nearest is ${JSON.stringify(near)}.`;
  throw new CliFailure('failure', `No service has this name or id.${hint} List all services with "intent-gate services list".`);
}

export async function findServiceByName(api: Api, name: string): Promise<Found<Service> | undefined> {
  for await (const { service_name, service_id } of listServices(api, name)) {
    if (foldName(service_name) === foldName(name)) return findService(api, service_id);
  }
  return undefined;
}
