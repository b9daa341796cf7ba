import { Refusal } from '../client/errors.ts';
import { stringifyJson } from '../client/json.ts';
import type { Issue } from '../schemas/errors.ts';
import type { IntentInput } from '../schemas/intent.ts';
import { maxChangedIntents } from '../schemas/intent-changes.ts';
import type { RegistryContext } from './api.ts';
import type { ServiceChanges } from './compare.ts';
import { changedMembers } from './describe.ts';
import { CliFailure } from './failure.ts';
import { listAllIntents, servicePath } from './read.ts';
import { createService, hasIntent, isConflict, replaceService } from './save.ts';

interface Failed {
  intent_uid: string;
  message: string;
  issues: readonly Issue[];
}

export interface Applied {
  /** undefined for a new service that was not kept, because all of its intents failed */
  service_id: string | undefined;
  created: number;
  updated: number;
  removed: number;
  failed: Failed[];
  /** why the record of the service, and with it the rest, could not be saved */
  refused?: Omit<Failed, 'intent_uid'>;
  /** changed members of the service's record */
  service_changed?: string[];
}

type Step = { uid: string; etag: string | undefined } & (
  | { list: 'create' | 'replace'; value: IntentInput }
  | { list: 'delete'; value: string }
);

const countOf = { create: 'created', replace: 'updated', delete: 'removed' } as const;

/** Below the gate's limit of 256 KiB, which includes uids and entity tags. */
const maxBatchBytes = 240 * 1024;

const foreignMessage = 'Another service has this intent_uid. Choose another namespace, slug or version, or delete the other intent.';

const runAgain = 'Run the command again';

const takenMessage = (again: string): string =>
  `Another service has taken this name since the plan was made, so nothing was changed. ${again} to see what would change in that service.`;

const racedMessages = (again: string) => ({
  create: `Someone else has just created a different intent with this uid. ${again} to see the difference.`,
  replace: `Someone else has changed this intent since it was compared. ${again} to see the difference.`,
  delete: `Someone else has changed this intent since it was compared. ${again} to see whether it should still be removed.`,
});

/**
 * Brings a service into the wanted state; removes intents only if `isPruning`. Intents are changed in atomic batches; a batch that the gate refuses is
 * sent again without the intents at fault. Repeating the call completes an interrupted run and recognises batches whose response was lost.
 * @throws Refusal CONFLICT if the name of a new service is taken; nothing has been changed then
 * @throws CliFailure or IntentGateError if interrupted, the token is refused, the gate does not answer, or the service itself cannot be saved
 */
export const applyChanges = async (context: RegistryContext, changes: ServiceChanges, isPruning: boolean): Promise<Applied> =>
  applyToSaved(context, changes, isPruning, await saveService(context, changes));

/** A service whose own record is as wanted. */
export interface SavedService {
  serviceId: string;
  /** whether it was created for this */
  isNew: boolean;
  /** header fields that mark the changes as those of one run */
  mark: Record<string, string>;
}

/** The part of {@link applyChanges} after {@link saveService}. */
export async function applyToSaved(
  context: RegistryContext,
  changes: ServiceChanges,
  isPruning: boolean,
  { serviceId, isNew, mark }: SavedService,
): Promise<Applied> {
  const { api, terminal } = context;
  const failed: Failed[] = changes.foreign.map((uid) => ({ intent_uid: uid, message: foreignMessage, issues: [] }));
  const applied: Applied = { service_id: serviceId, created: 0, updated: 0, removed: 0, failed };
  if (changes.service.kind === 'update') applied.service_changed = changedMembers(changes);
  const changesPath = `${servicePath(serviceId)}/changes`;
  const steps = stepsOf(changes, isPruning);
  let left = steps.length;
  const progress = terminal.progress('Applying', steps.length);
  const interruption = terminal.watchInterrupt?.();

  const finishStep = (step: Step, failure?: Omit<Failed, 'intent_uid'>) => {
    left--;
    progress.step();
    if (failure) failed.push({ intent_uid: step.uid, message: failure.message, issues: failure.issues });
    else applied[countOf[step.list]]++;
  };

  async function send(batch: readonly Step[]): Promise<void> {
    const refusal = await findRefusal(() => api.call('POST', changesPath, { body: toBody(batch), headers: mark, isAdmin: true }));
    const refused = refusal ? refusedBy(refusal, batch) : undefined;
    if (!refusal || !refused) for (const step of batch) finishStep(step);
    else if (refused.size > 0) {
      for (const [step, issues] of refused) finishStep(step, await explain(context, serviceId, step, refusal, issues));
      const rest = batch.filter((step) => !refused.has(step));
      if (rest.length > 0) await send(rest);
    } else if (refusal.status === 404) throw refusal;
    else if (batch.length === 1 || refusal.status >= 500) for (const step of batch) finishStep(step, refusal);
    else {
      // the refusal names no step, so halve the batch to find the steps at fault
      const middle = Math.ceil(batch.length / 2);
      await send(batch.slice(0, middle));
      await send(batch.slice(middle));
    }
  }

  try {
    for (const batch of batchesOf(steps)) if (!interruption?.isInterrupted()) await send(batch);
  } finally {
    progress.end();
    interruption?.end();
  }
  if (left > 0) {
    const made = applied.created + applied.updated + applied.removed;
    const failures = steps.length - left - made;
    const done = `${made} of ${steps.length} changes to ${changes.name} were made${failures > 0 ? `, ${failures} failed` : ''}`;
    throw new CliFailure('interrupted', `Stopped: ${done}, ${left} remain. Run the same command again to finish.`);
  }
  if (isNew && failed.length > 0 && applied.created === 0 && (await removeIfEmpty(context, serviceId))) applied.service_id = undefined;
  failed.sort((left, right) => (left.intent_uid < right.intent_uid ? -1 : 1));
  return applied;
}

/**
 * The result for a service whose record the gate has refused, so that others can be changed nevertheless.
 * @throws errors that may affect other services, such as a refused token
 */
export function refusedService(error: unknown): Applied & Required<Pick<Applied, 'refused'>> {
  if (!(error instanceof Refusal) || ![400, 404, 409, 413].includes(error.status)) throw error;
  const { message, issues } = error;
  return { service_id: undefined, created: 0, updated: 0, removed: 0, failed: [], refused: { message, issues } };
}

/** @returns whether the service is gone. It stays if someone else has added intents, or if it cannot be deleted. */
async function removeIfEmpty({ api }: RegistryContext, serviceId: string): Promise<boolean> {
  try {
    if ((await listAllIntents(api, serviceId)).length > 0) return false;
    await api.call('DELETE', servicePath(serviceId), { isAdmin: true });
    return true;
  } catch (error) {
    return error instanceof Refusal && error.status === 404;
  }
}

/**
 * Creates or changes the record of a service if it is not as wanted. Never changes a service that the plan has not shown.
 * @throws like {@link applyChanges}
 */
export async function saveService(
  { api, again = runAgain }: RegistryContext,
  { serviceId, service }: ServiceChanges,
): Promise<SavedService> {
  const { kind, input, etag } = service;
  const mark = { 'Import-Id': crypto.randomUUID() };
  if (serviceId === undefined) {
    const { saved, isNew } = await createService(api, input, mark, isConflict).catch((error: unknown) => {
      throw isConflict(error) ? new Refusal({ ...(error as Refusal), message: takenMessage(again) }) : error;
    });
    return { serviceId: saved.service_id, isNew, mark };
  }
  if (kind === 'update') await replaceService(api, serviceId, input, { ...mark, 'If-Match': etag ?? '*' });
  return { serviceId, isNew: false, mark };
}

const stepsOf = ({ intents, unwanted, tags }: ServiceChanges, isPruning: boolean): Step[] => [
  ...intents.map(
    ({ kind, input, etag }): Step => ({ uid: input.intent_uid, list: kind === 'create' ? 'create' : 'replace', value: input, etag }),
  ),
  ...(isPruning ? unwanted : []).map((uid): Step => ({ uid, list: 'delete', value: uid, etag: tags.get(uid) })),
];

function batchesOf(steps: readonly Step[]): Step[][] {
  const batches: Step[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const step of steps) {
    const more = new TextEncoder().encode(stringifyJson(step.value)).length;
    bytes += more;
    if (bytes > maxBatchBytes || batches.at(-1)?.length === maxChangedIntents) {
      batches.push([]);
      bytes = more;
    }
    batches.at(-1)?.push(step);
  }
  return batches;
}

function toBody(batch: readonly Step[]) {
  const valuesOf = (list: Step['list']) => batch.filter((step) => step.list === list).map(({ value }) => value);
  const known = batch.flatMap(({ uid, etag = '*' }) => (etag === '*' ? [] : [[uid, etag]]));
  return { create: valuesOf('create'), replace: valuesOf('replace'), delete: valuesOf('delete'), if_match: Object.fromEntries(known) };
}

const stepPattern = /^\/(create|replace|delete)\/(\d+)(.*)$/s;

/** @throws errors that would affect every other intent, such as a refused token */
async function findRefusal(attempt: () => Promise<unknown>): Promise<Refusal | undefined> {
  try {
    await attempt();
    return undefined;
  } catch (error) {
    if (!(error instanceof Refusal) || error.status === 401) throw error;
    if (error.status === 403 && !error.issues.some(({ path }) => stepPattern.test(path))) throw error;
    return error;
  }
}

/** The steps that a refusal names, with the issues located inside their intents. */
function refusedBy({ issues }: Refusal, batch: readonly Step[]): Map<Step, Issue[]> {
  const refused = new Map<Step, Issue[]>();
  for (const { path, problem } of issues) {
    const [, list, at, place = ''] = stepPattern.exec(path) ?? [];
    const step = batch.filter((one) => one.list === list)[Number(at)];
    if (step) refused.set(step, [...(refused.get(step) ?? []), ...(place ? [{ path: place, problem }] : [])]);
  }
  return refused;
}

/** Why a change failed; undefined if its result is already in place, for example after a lost response. */
async function explain(
  { api, again = runAgain }: RegistryContext,
  serviceId: string,
  { list, value }: Step,
  { status, message }: Refusal,
  issues: Issue[],
): Promise<Omit<Failed, 'intent_uid'> | undefined> {
  if (list === 'delete') return status === 404 ? undefined : { message: status === 409 ? racedMessages(again)[list] : message, issues };
  const found = status === 409 ? await hasIntent(api, serviceId, value) : 'no';
  if (found === 'yes') return undefined;
  return { message: found === 'foreign' ? foreignMessage : found === 'other' ? racedMessages(again)[list] : message, issues };
}
