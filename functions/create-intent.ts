import { intentInput, toSavedIntent } from '../schemas/intent.ts';
import { adminVerifierFromEnvironment, type VerifyAdmin } from './core/admin/verify-admin.ts';
import { created } from './core/http/response.ts';
import { type Action, serve } from './core/http/serve.ts';
import { checkInService, checkIntent } from './core/relay/check-intent.ts';
import { type EgressRules, egressRulesFromEnvironment } from './core/relay/egress.ts';
import { type Intents, openIntents } from './core/store/intents.ts';
import { noSuchService } from './core/store/refusals.ts';
import { tableFromEnvironment } from './core/store/table.ts';

export interface Deps {
  verifyAdmin: VerifyAdmin;
  intents: Pick<Intents, 'create'>;
  egress: EgressRules;
}

/** `POST /api/services/{service_id}/intents` (endpoint 11): creates an intent under a uid that no other intent has. */
export const createAction =
  ({ verifyAdmin, intents, egress }: Deps): Action =>
  async (request) => {
    await verifyAdmin(request);
    const input = request.body(intentInput);
    checkIntent(input, egress, request.baseUrl);
    const intent = await intents.create(request.pathParameter('service_id'), input, (service) => checkInService(input, service));
    if (!intent) throw noSuchService();
    return created(toSavedIntent(intent), { Location: `${request.baseUrl}/api/intents/${intent.intent_uid}` });
  };

export const handler = serve(
  createAction({
    verifyAdmin: adminVerifierFromEnvironment(),
    intents: openIntents(tableFromEnvironment()),
    egress: egressRulesFromEnvironment(),
  }),
);
