import { canonicalText } from '../schemas/canonical.ts';
import { type IntentInput, intentUpdate, toIntentDetails, toSavedIntent } from '../schemas/intent.ts';
import { digestIntent } from '../schemas/intent-digest.ts';
import { summarizeParameter } from '../schemas/parameter.ts';
import { type AdminAction, serveAdmin } from './core/admin/for-admins.ts';
import { ok, recordTag } from './core/http/response.ts';
import { isObject } from './core/json/json.ts';
import type { Intents } from './core/registry/intents.ts';
import type { LiveIntent } from './core/registry/live-intents.ts';
import { noSuchIntent } from './core/registry/refusals.ts';
import { registryFromEnvironment } from './core/registry/registry-from-environment.ts';
import { checkInService, checkIntent } from './core/relay/check-intent.ts';
import { type EgressRules, egressRulesFromEnvironment } from './core/relay/egress.ts';
import { invalidParameter } from './core/runtime/api-error.ts';

/** `PUT /api/intents/{intent_uid}`: replaces the whole record except for its uid. */
export const createAction =
  ({ intents, egress }: { intents: Pick<Intents, 'as' | 'find'>; egress: EgressRules }): AdminAction =>
  async (admin, request) => {
    const uid = request.pathParameter('intent_uid');
    const { intent_id, service_id, service_name, digest, terms: _, paused: __, ...given } = request.body(intentUpdate);
    if (given.intent_uid !== uid) {
      throw invalidParameter([{ path: '/intent_uid', problem: 'must equal the intent_uid in the path; a new uid is a new intent' }]);
    }
    const address = readAddress(request.json());
    const read = digest !== undefined && address !== undefined ? await intents.find(uid) : undefined;
    const input = read ? keepOmitted(given, address, read) : given;
    const isMatch = (seen: LiveIntent) => {
      requireSame(
        { intent_id, service_id, service_name, digest },
        { intent_id: uid, service_id: seen.service.service_id, service_name: seen.service.service_name, digest: digestIntent(seen.intent) },
      );
      checkInService(input, seen.service);
      return request.ifMatch(seen.intent);
    };
    checkIntent(input, egress, request.baseUrl);
    const updated = await intents.as(admin).replace(uid, input, isMatch);
    if (!updated) throw noSuchIntent();
    return ok(toSavedIntent(updated.intent), { ETag: recordTag(updated.intent, updated.service.rev, 'details') });
  };

const readAddress = (body: unknown): string | undefined =>
  isObject(body) && typeof body.endpoint === 'string' ? body.endpoint : undefined;

/**
 * The details view omits part of an intent. If it is sent back with the current digest, the omitted members are kept: the endpoint's method,
 * parameter places and content type, the parameters' constraints, and what only the full view shows.
 */
function keepOmitted(given: IntentInput, address: string | undefined, { intent, service }: LiveIntent): IntentInput {
  const keep = (parameters: IntentInput['input_parameters'], recorded: IntentInput['input_parameters']) =>
    parameters.map((one) => recorded.find((known) => canonicalText(summarizeParameter(known)) === canonicalText(one)) ?? one);
  return {
    ...Object.fromEntries(Object.entries(intent).filter(([name]) => ['category', 'version', 'deprecated', 'draft'].includes(name))),
    ...given,
    input_parameters: keep(given.input_parameters, intent.input_parameters),
    output_parameters: keep(given.output_parameters, intent.output_parameters),
    endpoint: address === toIntentDetails(intent, service.service_name).endpoint ? intent.endpoint : given.endpoint,
  };
}

/**
 * Requires read-only members of a response to be sent back unchanged, if at all.
 * @throws ApiError INVALID_PARAMETER with an issue for each changed member
 */
function requireSame(given: Record<string, string | undefined>, record: Record<string, string>): void {
  const changed = Object.keys(given).filter((name) => given[name] !== undefined && given[name] !== record[name]);
  if (changed.length === 0) return;
  const problem = 'must be unchanged from a read of the intent, or be left out; PUT does not change it';
  throw invalidParameter(changed.map((name) => ({ path: `/${name}`, problem })));
}

export const handler = serveAdmin(createAction({ ...registryFromEnvironment(), egress: egressRulesFromEnvironment() }));
