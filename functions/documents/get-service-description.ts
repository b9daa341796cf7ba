import { toDescribedIntent, toServiceDescription } from '../../schemas/documents/service-description.ts';
import { toIntentDetails } from '../../schemas/intent.ts';
import { descriptionQuery, paginate } from '../../schemas/pagination.ts';
import { type Look, lookFromEnvironment, privateHeaders, refuseService, sightWithin } from '../core/execution/catalogue.ts';
import { sizeToRead, uidLinks } from '../core/http/links.ts';
import { revalidated } from '../core/http/response.ts';
import { type Action, serve } from '../core/http/serve.ts';
import { publicKeyPem, type SigningKeys, signingKeysFromEnvironment } from '../core/pat/signing-keys.ts';
import { listIntents } from '../core/registry/lists.ts';
import { type LiveIntents, openLiveIntents } from '../core/registry/live-intents.ts';
import { policyFromEnvironment } from '../core/registry/policy-in-force.ts';
import { openServices, type Services } from '../core/registry/services.ts';
import { readEnvironment } from '../core/runtime/environment.ts';
import { type Table, tableFromEnvironment } from '../core/table/table.ts';

export interface Deps {
  services: Pick<Services, 'find'>;
  intents: Pick<LiveIntents, 'read'>;
  table: Table;
  signingKeys: Pick<SigningKeys, 'current'>;
  protocol: string;
  look?: Look | undefined;
}

/**
 * `GET /api/services/{service_id}/description`: the service's description (specification section 2.6). The public key is the one that
 * signs PATs, because the intents are executed through this gate.
 */
export const createAction =
  ({ services, intents, table, signingKeys, protocol, look }: Deps): Action =>
  async (request) => {
    const query = request.query(descriptionQuery);
    const { page, page_size: pageSize, after } = query;
    const viewer = await look?.(request);
    const serviceId = request.pathParameter('service_id');
    const service = await services.find(serviceId);
    if (!service) return refuseService(table, serviceId, viewer);
    const [{ intents: listed, total }, publicKey] = await Promise.all([
      listIntents(table, service, after ?? (page - 1) * pageSize, sizeToRead(query), false, sightWithin(viewer, service)),
      publicKeyPem(signingKeys),
    ]);
    const uids = listed.map(({ intent_uid }) => intent_uid);
    const found = await intents.read(uids.slice(0, pageSize));
    const described = found.map((intent) => toDescribedIntent(intent, toIntentDetails(intent, service.service_name)));
    const body = toServiceDescription(service, described, { protocol, baseUrl: request.baseUrl, publicKey });
    const links = uidLinks(request, paginate(total, page, pageSize), after, uids);
    return revalidated(body, undefined, { ...links, ...(viewer && privateHeaders) });
  };

const table = tableFromEnvironment();

export const handler = serve(
  createAction({
    services: openServices(table),
    intents: openLiveIntents(table),
    table,
    signingKeys: signingKeysFromEnvironment(),
    protocol: readEnvironment(['protocol']).protocol,
    look: lookFromEnvironment(table, policyFromEnvironment(table)),
  }),
);
