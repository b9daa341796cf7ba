import { intentInput, toSavedIntent } from '../schemas/intent.ts';
import { type AdminAction, serveAdmin } from './core/admin/for-admins.ts';
import { created } from './core/http/response.ts';
import type { Intents } from './core/registry/intents.ts';
import { noSuchService } from './core/registry/refusals.ts';
import { registryFromEnvironment } from './core/registry/registry-from-environment.ts';
import { checkInService, checkIntent } from './core/relay/check-intent.ts';
import { type EgressRules, egressRulesFromEnvironment } from './core/relay/egress.ts';

/** `POST /api/services/{service_id}/intents`: creates an intent under a uid that no other intent has. */
export const createAction =
  ({ intents, egress }: { intents: Pick<Intents, 'as'>; egress: EgressRules }): AdminAction =>
  async (admin, request) => {
    const input = request.body(intentInput);
    checkIntent(input, egress, request.baseUrl);
    const serviceId = request.pathParameter('service_id');
    const intent = await intents.as(admin).create(serviceId, input, checkInService);
    if (!intent) throw noSuchService();
    return created(toSavedIntent(intent), { Location: `${request.baseUrl}/api/intents/${intent.intent_uid}` });
  };

export const handler = serveAdmin(createAction({ ...registryFromEnvironment(), egress: egressRulesFromEnvironment() }));
