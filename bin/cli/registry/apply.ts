import { Refusal } from '../../../client/errors.ts';
import { stringifyJson } from '../../../client/json.ts';
import type { Issue } from '../../../schemas/errors.ts';
import { type IntentInput, maxChangedIntents } from '../../../schemas/intent.ts';
import { type ServiceInput, savedService } from '../../../schemas/service.ts';
import { readAnswer } from '../../probes.ts';
import type { Api } from '../api.ts';
import type { RegistryContext } from '../context.ts';
import { CliFailure } from '../failure.ts';
import type { ServiceChanges } from './compare.ts';
import { changedMembers } from './describe.ts';
import { findDifferences } from './differences.ts';
import { normalizeIntent } from './normal-form.ts';
import { findIntent, servicePath } from './read.ts';

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

/** One change, as the list of a request that it goes into has it. */
type Step = { uid: string; etag: string | undefined } & (
  | { list: 'create' | 'replace'; value: IntentInput }
  | { list: 'delete'; value: string }
);

const countOf = { create: 'created', replace: 'updated', delete: 'removed' } as const;

/** The gate takes 256 KiB; the rest is for what is not an intent, uids and entity tags among it. */
const maxBatchBytes = 240 * 1024;

const foreignMessage = 'Another service has this intent_uid. Choose another namespace, slug or version, or delete that one.';

const takenMessage =
  'Another service has taken this name since the plan was made, so nothing was changed. To see what would change in that service, run the command again or read the document again.';

const racedMessages = {
  create: 'Somebody else has just created this intent in another form. Run the command again to see the difference.',
  replace: 'Somebody else has changed this intent since it was compared. Run the command again to see the difference.',
  delete: 'Somebody else has changed this intent since it was compared. Run the command again to see whether it is still to go.',
};

/**
 * Brings a service into the wanted state; removes what is not wanted only if `isPruning`. Intents are changed in batches, each of which is made whole or not at
 * all; those that the gate refuses are left out, and the others sent again. An interrupted run is finished by the next one, and a batch whose answer was lost
 * is recognised.
 * @throws Refusal CONFLICT if the service was to be created and its name has been taken since; nothing is changed then
 * @throws CliFailure or IntentGateError if going on makes no sense: interrupted, the token is refused, nothing answers, the service itself cannot be saved
 */
export async function applyChanges({ api, terminal }: RegistryContext, changes: ServiceChanges, isPruning: boolean): Promise<Applied> {
  const serviceId = await saveService(api, changes);
  const failed: Failed[] = changes.foreign.map((uid) => ({ intent_uid: uid, message: foreignMessage, issues: [] }));
  const applied: Applied = { service_id: serviceId, created: 0, updated: 0, removed: 0, failed };
  if (changes.service.kind === 'update') applied.service_changed = changedMembers(changes);
  const steps = stepsOf(changes, isPruning);
  let left = steps.length;
  const progress = terminal.progress('Applying', steps.length);
  const interruption = terminal.watchInterrupt?.();

  const settle = (step: Step, failure?: Omit<Failed, 'intent_uid'>) => {
    left--;
    progress.step();
    if (failure) failed.push({ intent_uid: step.uid, message: failure.message, issues: failure.issues });
    else applied[countOf[step.list]]++;
  };

  async function send(batch: readonly Step[]): Promise<void> {
    const refusal = await findRefusal(() => api.call('POST', `${servicePath(serviceId)}/changes`, { body: toBody(batch), isAdmin: true }));
    const refused = refusal ? refusedBy(refusal, batch) : undefined;
    if (!refusal || !refused) for (const step of batch) settle(step);
    else if (refused.size > 0) {
      for (const [step, issues] of refused) settle(step, await explain(api, serviceId, step, refusal, issues));
      const rest = batch.filter((step) => !refused.has(step));
      if (rest.length > 0) await send(rest);
    } else if (refusal.status === 404) throw refusal;
    else if (batch.length === 1 || refusal.status >= 500) for (const step of batch) settle(step, refusal);
    else {
      // all of them together are refused, and perhaps not each
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
    const done = `${made} of ${steps.length} changes of ${changes.name} were made${failures > 0 ? `, ${failures} failed` : ''}`;
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

const stepsOf = ({ intents, extra, tags }: ServiceChanges, isPruning: boolean): Step[] => [
  ...intents.map(
    ({ kind, input, etag }): Step => ({ uid: input.intent_uid, list: kind === 'create' ? 'create' : 'replace', value: input, etag }),
  ),
  ...(isPruning ? extra : []).map((uid): Step => ({ uid, list: 'delete', value: uid, etag: tags.get(uid) })),
];

/** As few batches as the gate takes, in the order of the steps. */
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

/** The place of a step in a batch, and what follows in it. */
const stepPattern = /^\/(create|replace|delete)\/(\d+)(.*)$/s;

/** @throws what affects every other intent as well: a refused token, no answer */
async function findRefusal(attempt: () => Promise<unknown>): Promise<Refusal | undefined> {
  try {
    await attempt();
    return undefined;
  } catch (error) {
    if (!(error instanceof Refusal) || error.status === 401) throw error;
    // an admin of a namespace may be refused single intents, which are named
    if (error.status === 403 && !error.issues.some(({ path }) => stepPattern.test(path))) throw error;
    return error;
  }
}

/** The steps that a refusal names, and what is wrong in each: places in the intent, none if all of it is meant. */
function refusedBy({ issues }: Refusal, batch: readonly Step[]): Map<Step, Issue[]> {
  const refused = new Map<Step, Issue[]>();
  for (const { path, problem } of issues) {
    const [, list, at, place = ''] = stepPattern.exec(path) ?? [];
    const step = batch.filter((one) => one.list === list)[Number(at)];
    if (step) refused.set(step, [...(refused.get(step) ?? []), ...(place ? [{ path: place, problem }] : [])]);
  }
  return refused;
}

/**
 * Why a change failed; undefined if what it was to lead to is there: the answer to an earlier request was lost, or somebody else has done the same. An intent that
 * is already gone counts as removed.
 */
async function explain(
  api: Api,
  serviceId: string,
  { list, uid, value }: Step,
  { status, message }: Refusal,
  issues: Issue[],
): Promise<Omit<Failed, 'intent_uid'> | undefined> {
  if (list === 'delete' && status === 404) return undefined;
  const stands = status === 409 ? await findIntent(api, uid) : undefined;
  if (stands === undefined) return { message, issues };
  if (stands.record.service_id !== serviceId) return { message: foreignMessage, issues };
  const isAsWanted = list !== 'delete' && findDifferences(normalizeIntent(stands.record), normalizeIntent(value)).length === 0;
  return isAsWanted ? undefined : { message: racedMessages[list], issues };
}
