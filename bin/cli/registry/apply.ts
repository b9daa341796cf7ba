import { Refusal } from '../../../client/errors.ts';
import type { Issue } from '../../../schemas/errors.ts';
import type { IntentInput } from '../../../schemas/intent.ts';
import { type ServiceInput, savedService } from '../../../schemas/service.ts';
import { readAnswer } from '../../probes.ts';
import type { Api } from '../api.ts';
import type { RegistryContext } from '../context.ts';
import { CliFailure } from '../failure.ts';
import type { Change, ServiceChanges } from './compare.ts';
import { withProgress } from './concurrently.ts';
import { changedMembers } from './describe.ts';
import { findDifferences } from './differences.ts';
import { normalizeIntent } from './normal-form.ts';
import { findIntent, intentPath, servicePath } from './read.ts';

export interface Failed {
  intent_uid: string;
  message: string;
  issues: readonly Issue[];
}

export interface Applied {
  service_id: string;
  created: number;
  updated: number;
  removed: number;
  failed: Failed[];
  /** members of the service's own record that were changed; left out if none was */
  service_changed?: string[];
}

const foreignMessage = 'Another service has this intent_uid. Choose another namespace, slug or version, or delete that one.';

const takenMessage =
  'Another service has taken this name since the plan was made, so nothing was changed. To see what would change in that service, run the command again or read the document again.';

/**
 * Brings a service into the wanted state; removes what is not wanted only if `isPruning`. An interrupted run is finished by the next one: each change is complete in itself, and a
 * change whose answer was lost is recognised.
 * @throws Refusal CONFLICT if the service was to be created and its name has been taken since; nothing is changed then
 * @throws CliFailure or IntentGateError if going on makes no sense: interrupted, the token is refused, nothing answers, the service itself cannot be saved
 */
export async function applyChanges(
  { api, terminal }: RegistryContext,
  changes: ServiceChanges,
  concurrency: number,
  isPruning: boolean,
): Promise<Applied> {
  const serviceId = await saveService(api, changes);
  const failed: Failed[] = changes.foreign.map((uid) => ({ intent_uid: uid, message: foreignMessage, issues: [] }));
  const applied: Applied = { service_id: serviceId, created: 0, updated: 0, removed: 0, failed };
  if (changes.service.kind === 'update') applied.service_changed = changedMembers(changes);
  const steps = [
    ...changes.intents.map((change) => ({
      uid: change.input.intent_uid,
      work: async () => saveIntent(api, serviceId, changes.service.kind === 'update' ? await compareAgain(api, change) : change),
    })),
    ...(isPruning ? changes.extra : []).map((uid) => ({ uid, work: () => removeIntent(api, uid) })),
  ];
  const interruption = terminal.watchInterrupt?.();
  let left = steps.length;
  await withProgress(terminal, 'Applying', steps, concurrency, async ({ uid, work }) => {
    if (interruption?.isInterrupted()) return;
    left--;
    try {
      applied[await work()]++;
    } catch (error) {
      // a refused token or no answer affects every other intent as well
      if (!(error instanceof Refusal) || [401, 403].includes(error.status)) throw error;
      failed.push({ intent_uid: uid, message: error.message, issues: error.issues });
    }
  }).finally(() => interruption?.end());
  if (interruption?.isInterrupted() && left > 0) {
    const done = `${steps.length - left} of ${steps.length} changes of ${changes.name} were made`;
    throw new CliFailure('interrupted', `Stopped: ${done}, ${left} remain. Run the same command again to make them.`);
  }
  failed.sort((left, right) => (left.intent_uid < right.intent_uid ? -1 : 1));
  return applied;
}

async function saveService(api: Api, { serviceId, service }: ServiceChanges): Promise<string> {
  const { kind, input, etag } = service;
  if (serviceId === undefined) return createService(api, input);
  if (kind === 'update')
    await api.call('PUT', servicePath(serviceId), { body: input, isAdmin: true, headers: { 'If-Match': etag ?? '*' } });
  return serviceId;
}

/** A service that the plan has not shown is never changed: if the name is taken by now, there has to be another plan. */
async function createService(api: Api, input: ServiceInput): Promise<string> {
  try {
    return readAnswer(savedService, await api.call('POST', '/api/services', { body: input, isAdmin: true })).service_id;
  } catch (error) {
    if (!(error instanceof Refusal) || error.status !== 409) throw error;
    throw new Refusal({ ...error, message: takenMessage });
  }
}

async function saveIntent(api: Api, serviceId: string, { kind, input: intent, etag }: Change<IntentInput>): Promise<'created' | 'updated'> {
  if (kind === 'update') {
    await api.call('PUT', intentPath(intent.intent_uid), { body: intent, isAdmin: true, headers: { 'If-Match': etag ?? '*' } });
    return 'updated';
  }
  try {
    await api.call('POST', `${servicePath(serviceId)}/intents`, { body: intent, isAdmin: true });
  } catch (error) {
    if (!(error instanceof Refusal) || error.status !== 409) throw error;
    await recognize(api, serviceId, intent, error);
  }
  return 'created';
}

/** The entity tag of an intent changes with its service, too. If the intent itself is what was compared, it has a tag of its own again. */
async function compareAgain(api: Api, change: Change<IntentInput>): Promise<Change<IntentInput>> {
  const { kind, input, standing } = change;
  if (kind !== 'update' || standing === undefined) return change;
  const now = await findIntent(api, input.intent_uid);
  return now && findDifferences(standing, normalizeIntent(now.record)).length === 0 ? { ...change, etag: now.etag } : change;
}

/** If the answer to a create was lost, or another run made the intent, it is already there, as wanted. */
async function recognize(api: Api, serviceId: string, intent: IntentInput, conflict: Refusal): Promise<void> {
  const stands = await findIntent(api, intent.intent_uid);
  if (stands === undefined) throw conflict;
  if (stands.record.service_id !== serviceId) throw new Refusal({ ...conflict, message: foreignMessage });
  if (findDifferences(normalizeIntent(stands.record), normalizeIntent(intent)).length > 0) {
    const message = 'Somebody else has just created this intent in another form. Run the command again to see the difference.';
    throw new Refusal({ ...conflict, message });
  }
}

/** An intent that is already gone counts as removed. */
async function removeIntent(api: Api, uid: string): Promise<'removed'> {
  try {
    await api.call('DELETE', intentPath(uid), { isAdmin: true });
  } catch (error) {
    if (!(error instanceof Refusal) || error.status !== 404) throw error;
  }
  return 'removed';
}
