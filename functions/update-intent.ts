import { intentInput, toSavedIntent } from '../schemas/intent.ts';
import { adminVerifierFromEnvironment, type VerifyAdmin } from './core/admin/verify-admin.ts';
import { invalidParameter } from './core/api-error.ts';
import { ok } from './core/http/response.ts';
import { type Action, serve } from './core/http/serve.ts';
import { checkInService, checkIntent } from './core/relay/check-intent.ts';
import { type EgressRules, egressRulesFromEnvironment } from './core/relay/egress.ts';
import { type Intents, intentTag, openIntents } from './core/store/intents.ts';
import { noSuchIntent } from './core/store/refusals.ts';
import { tableFromEnvironment } from './core/store/table.ts';

export interface Deps {
  verifyAdmin: VerifyAdmin;
  intents: Pick<Intents, 'replace'>;
  egress: EgressRules;
}

/** `PUT /api/intents/{intent_uid}` (endpoint 12): replaces the whole record; its uid stays. */
export const createAction =
  ({ verifyAdmin, intents, egress }: Deps): Action =>
  async (request) => {
    await verifyAdmin(request);
    const uid = request.pathParameter('intent_uid');
    const input = request.body(intentInput);
    if (input.intent_uid !== uid) {
      throw invalidParameter([{ path: '/intent_uid', problem: 'must equal the intent_uid in the path; a new uid is a new intent' }]);
    }
    checkIntent(input, egress, request.baseUrl);
    const updated = await intents.replace(uid, input, (seen) => {
      checkInService(input, seen.service);
      return request.ifMatch(intentTag(seen, 'details'), intentTag(seen, 'full'));
    });
    if (!updated) throw noSuchIntent();
    return ok(toSavedIntent(updated.intent), { ETag: intentTag(updated, 'details') });
  };

export const handler = serve(
  createAction({
    verifyAdmin: adminVerifierFromEnvironment(),
    intents: openIntents(tableFromEnvironment()),
    egress: egressRulesFromEnvironment(),
  }),
);
