import type { IntentInput } from '../schemas/intent.ts';
import { intentChanges } from '../schemas/intent-changes.ts';
import { digestIntent } from '../schemas/intent-digest.ts';
import { type AdminAction, serveAdmin } from './core/admin/for-admins.ts';
import { openEvents } from './core/aws/invoke-function.ts';
import { namesRevision, ok } from './core/http/response.ts';
import { pointer } from './core/json/json.ts';
import type { IntentStep, Intents } from './core/registry/intents.ts';
import type { LiveIntent } from './core/registry/live-intents.ts';
import { noSuchService } from './core/registry/refusals.ts';
import { registryFromEnvironment } from './core/registry/registry-from-environment.ts';
import { checkInService, checkIntent } from './core/relay/check-intent.ts';
import { type EgressRules, egressRulesFromEnvironment } from './core/relay/egress.ts';
import { readEnvironment } from './core/runtime/environment.ts';
import { describeCause, log } from './core/runtime/log.ts';

/** During a bulk import, every 16th log entry (each of up to 30 changes) checks whether a snapshot of the search index is due. */
const entriesPerCheck = 16;

export interface Deps {
  intents: Pick<Intents, 'as'>;
  egress: EgressRules;
  /** starts `snapshot-search-index`, which saves a snapshot if it is due; absent with another search engine */
  checkSnapshot?: ((event: object) => Promise<void>) | undefined;
}

/** `POST /api/services/{service_id}/changes`: creates, replaces and deletes intents of a service, all or none. */
export const createAction =
  ({ intents, egress, checkSnapshot }: Deps): AdminAction =>
  async (admin, request) => {
    const { if_match: known, ...changes } = request.body(intentChanges);
    const isKnown =
      (uid: string) =>
      ({ intent }: LiveIntent) =>
        // a proxy that compresses responses weakens their tags
        namesRevision(known[uid]?.replace(/^W\//, ''), intent, digestIntent(intent));
    const steps: (IntentStep & { pointer: string })[] = [
      ...changes.create.map((intent, at) => ({ action: 'create' as const, intent, pointer: pointer(['create', at]) })),
      ...changes.replace.map((intent, at) => ({
        action: 'update' as const,
        intent,
        isKnown: isKnown(intent.intent_uid),
        pointer: pointer(['replace', at]),
      })),
      ...changes.delete.map((uid, at) => ({ action: 'delete' as const, uid, isKnown: isKnown(uid), pointer: pointer(['delete', at]) })),
    ];
    const check = (intent: IntentInput, service: LiveIntent['service']) => {
      checkIntent(intent, egress, request.baseUrl);
      checkInService(intent, service);
    };
    const done = await intents.as(admin).apply(request.pathParameter('service_id'), steps, check);
    if (!done) throw noSuchService();
    if (done.seq % entriesPerCheck === 0) await checkSnapshot?.({}).catch(warnOfSnapshot);
    const remaining = done.intents.filter((intent) => intent !== undefined);
    return ok({ seq: done.seq, intents: remaining.map((intent) => ({ intent_uid: intent.intent_uid, digest: digestIntent(intent) })) });
  };

/** The scheduled run will catch up. */
const warnOfSnapshot = (error: unknown) => log.warn('snapshot of the search index not checked', { cause: describeCause(error) });

const { snapshotFunction } = readEnvironment([], ['snapshotFunction']);

export const handler = serveAdmin(
  createAction({
    ...registryFromEnvironment(),
    egress: egressRulesFromEnvironment(),
    checkSnapshot: snapshotFunction === undefined ? undefined : openEvents(snapshotFunction, 500),
  }),
);
