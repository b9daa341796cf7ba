import { Refusal } from '../client/errors.ts';
import { type IntentInput, savedIntent, toSavedIntent } from '../schemas/intent.ts';
import { type SavedService, type Service, type ServiceInput, savedService, toSavedService } from '../schemas/service.ts';
import { type Api, readAnswer } from './api.ts';
import { findDifferences } from './differences.ts';
import { normalizeIntent, normalizeService } from './normal-form.ts';
import { findIntent, findService, findServiceByName, listAllIntents, servicePath } from './read.ts';

export const isConflict = (error: unknown): boolean => error instanceof Refusal && error.status === 409;

/** Whether a change was refused, perhaps because an earlier attempt has made it, whose answer was lost: then a record that is as wanted counts as saved. */
export const isRepeated = (error: unknown): boolean => isConflict(error) && (error as Refusal).mayBeDone;

const isAsWanted = (service: Service, wanted: ServiceInput): boolean =>
  findDifferences(normalizeService(service), normalizeService(wanted)).length === 0;

/** @throws Refusal CONFLICT if the record is not the one of the given entity tag, nor as wanted */
export async function replaceService(
  api: Api,
  serviceId: string,
  body: ServiceInput,
  headers: Record<string, string>,
): Promise<SavedService> {
  try {
    return readAnswer(savedService, await api.call('PUT', servicePath(serviceId), { body, headers, isAdmin: true }));
  } catch (error) {
    const found = isRepeated(error) ? await findService(api, serviceId) : undefined;
    if (!found || !isAsWanted(found.record, body)) throw error;
    return toSavedService(found.record);
  }
}

/**
 * Registers a service.
 * @param adopts - whether one of this name and content that has no intents counts as registered, after a refusal
 * @throws Refusal CONFLICT if the name is taken otherwise
 */
export async function createService(api: Api, body: ServiceInput, headers: Record<string, string> = {}, adopts = isRepeated) {
  try {
    return { saved: readAnswer(savedService, await api.call('POST', '/api/services', { body, headers, isAdmin: true })), isNew: true };
  } catch (error) {
    const found = adopts(error) ? await findServiceByName(api, body.service_name) : undefined;
    if (!found || !isAsWanted(found.record, body) || (await listAllIntents(api, found.record.service_id)).length > 0) throw error;
    return { saved: toSavedService(found.record), isNew: false };
  }
}

/** Whether a service has an intent as wanted. */
export async function hasIntent(api: Api, serviceId: string, wanted: IntentInput): Promise<'yes' | 'no' | 'foreign' | 'other'> {
  const found = await findIntent(api, wanted.intent_uid);
  if (found === undefined) return 'no';
  if (found.record.service_id !== serviceId) return 'foreign';
  return findDifferences(normalizeIntent(found.record), normalizeIntent(wanted)).length === 0 ? 'yes' : 'other';
}

/** @throws Refusal CONFLICT if there is another intent of this uid */
export async function createIntent(api: Api, serviceId: string, body: IntentInput) {
  try {
    return readAnswer(savedIntent, await api.call('POST', `${servicePath(serviceId)}/intents`, { body, isAdmin: true }));
  } catch (error) {
    if (!isRepeated(error) || (await hasIntent(api, serviceId, body)) !== 'yes') throw error;
    return toSavedIntent(body);
  }
}
