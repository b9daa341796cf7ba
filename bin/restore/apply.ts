import { ApiError } from '../../functions/core/api-error.ts';
import type { IntentItem } from '../../functions/core/registry/intent-item.ts';
import { openIntents } from '../../functions/core/registry/intents.ts';
import type { ServiceRecord } from '../../functions/core/registry/records.ts';
import { openServices } from '../../functions/core/registry/services.ts';
import { keys } from '../../functions/core/table/keys.ts';
import type { Item } from '../../functions/core/table/table.ts';
import { withProgress } from '../cli/registry/concurrently.ts';
import type { Terminal } from '../cli/terminal.ts';
import { type Obstacle, type Plan, type Step, toIntentInput, toServiceInput } from './plan.ts';
import { explain, type Tables } from './tables.ts';

/** What has been done, by action, and what could not be. */
export interface Result {
  done: Record<Step['action'], number>;
  failed: Obstacle[];
}

const changed = 'It has been changed meanwhile. Run this again to see what there is to do now.';

/** Why a step was refused, in words. */
function describeRefusal({ kind }: Step, { details, message }: ApiError): string {
  if (kind === 'intent') return changed;
  if (typeof details.service_id === 'string') {
    return `Its name is that of the service ${details.service_id} by now. Rename or delete that one, then run this again.`;
  }
  return details.reason === 'etag_mismatch' ? changed : `${message.split('. ', 1)[0]}. Run this again in a minute.`;
}

/**
 * Does what is planned: each write is the one that the API makes, so that names, lists, counts and searches follow. What cannot be done is
 * told and left out; a run that was interrupted is finished by the next one.
 * @throws CliFailure if going on makes no sense
 */
export async function applyPlan(
  terminal: Pick<Terminal, 'progress'>,
  { copy, live, choice }: Pick<Tables, 'copy' | 'live' | 'choice'>,
  { steps, obstacles }: Plan,
  concurrency: number,
): Promise<Result> {
  const [services, intents] = [openServices(live), openIntents(live)];
  const result: Result = { done: { create: 0, replace: 0, 'put back': 0, remove: 0 }, failed: [] };
  const missing = new Set(obstacles.filter(({ kind }) => kind === 'service').map(({ id }) => id));
  const isSeen = (step: Step) => (found: { rev: string }) => found.rev === step.seen;

  async function doService(step: Step): Promise<boolean> {
    const { id, action } = step;
    if (action === 'remove') return services.remove(id, isSeen(step));
    const input = toServiceInput((await copy.get<ServiceRecord & Item>(keys.service(id))) as ServiceRecord & Item);
    return Boolean(await (action === 'replace' ? services.replace(id, input, isSeen(step)) : services.putBack(id, input)));
  }

  async function doIntent(step: Step): Promise<boolean> {
    const { id, service_id, action } = step;
    const isStanding = ({ intent }: { intent: { rev: string } }) => isSeen(step)(intent);
    if (action === 'remove') return intents.remove(id, isStanding);
    const input = toIntentInput((await copy.get<IntentItem>(keys.intent(id))) as IntentItem);
    return Boolean(await (action === 'replace' ? intents.replace(id, input, isStanding) : intents.create(service_id, input)));
  }

  /** @returns why it could not be done, in words; undefined if it is done */
  async function attempt(step: Step): Promise<string | undefined> {
    if (step.kind === 'intent' && step.action !== 'remove' && missing.has(step.service_id)) {
      return 'Its service could not be restored. Put that right, then run this again.';
    }
    try {
      if (!(await (step.kind === 'service' ? doService(step) : doIntent(step)))) return changed;
      result.done[step.action]++;
      return undefined;
    } catch (error) {
      if (error instanceof ApiError && error.code === 'CONFLICT') return describeRefusal(step, error);
      throw explain(error, choice);
    }
  }

  const fail = ({ kind, id }: Step, message: string) => {
    result.failed.push({ kind, id, message });
    if (kind === 'service') missing.add(id);
  };

  const run = (what: string, some: Step[], onRefusal: (step: Step, message: string) => void) =>
    withProgress(terminal, what, some, concurrency, async (step) => {
      const refusal = await attempt(step);
      if (refusal !== undefined) onRefusal(step, refusal);
    });

  // Names and uids are freed before others take them.
  const of = (kind: Step['kind'], isRemoval: boolean) =>
    steps.filter((step) => step.kind === kind && (step.action === 'remove') === isRemoval);
  await run('Removing services', of('service', true), fail);
  for (let left = of('service', false); left.length > 0; ) {
    // A name may be that of a service that gives it up in the same run: those are tried again after it.
    const refused: [Step, string][] = [];
    await run('Services', left, (step, message) => refused.push([step, message]));
    const isStuck = refused.length === left.length;
    left = isStuck ? [] : refused.map(([step]) => step);
    if (isStuck) for (const [step, message] of refused) fail(step, message);
  }
  await run('Removing intents', of('intent', true), fail);
  await run('Intents', of('intent', false), fail);
  result.failed.sort((left, right) => (left.id < right.id ? -1 : 1));
  return result;
}
