import { foldField } from '../schemas/header.ts';
import { type ServiceInput, serviceInput, toSavedService } from '../schemas/service.ts';
import { adminVerifierFromEnvironment, type VerifyAdmin } from './core/admin/verify-admin.ts';
import { invalidParameter } from './core/api-error.ts';
import { adminTag, ok, recordTag } from './core/http/response.ts';
import { type Action, serve } from './core/http/serve.ts';
import { pointer } from './core/json.ts';
import type { ServiceRecord } from './core/store/records.ts';
import { noSuchService } from './core/store/refusals.ts';
import { openServices, type Services } from './core/store/services.ts';
import { tableFromEnvironment } from './core/store/table.ts';

export interface Deps {
  verifyAdmin: VerifyAdmin;
  services: Pick<Services, 'replace'>;
}

/** `PUT /api/services/{service_id}` (endpoint 7): replaces the whole record; optional members that are absent are removed. */
export const createAction =
  ({ verifyAdmin, services }: Deps): Action =>
  async (request) => {
    await verifyAdmin(request);
    const input = request.body(serviceInput);
    const service = await services.replace(request.pathParameter('service_id'), input, (seen) => {
      checkFields(input, seen);
      return request.ifMatch(recordTag(seen), adminTag(seen));
    });
    if (!service) throw noSuchService();
    return ok(toSavedService(service), { ETag: recordTag(service) });
  };

/** @throws ApiError INVALID_PARAMETER if a fixed header field has the name of one of the credential's */
function checkFields({ headers = {} }: ServiceInput, { credential }: ServiceRecord): void {
  const secret = new Set([credential, credential?.next].flatMap((values) => values?.headers ?? []).map(foldField));
  const taken = Object.keys(headers).filter((name) => secret.has(foldField(name)));
  if (taken.length > 0)
    throw invalidParameter(
      taken.map((name) => ({ path: pointer(['headers', name]), problem: "must not be a header field of the service's credential" })),
    );
}

export const handler = serve(createAction({ verifyAdmin: adminVerifierFromEnvironment(), services: openServices(tableFromEnvironment()) }));
