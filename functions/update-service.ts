import { canonicalDigest } from '../schemas/canonical.ts';
import { toCredentialFacts } from '../schemas/credential.ts';
import { foldHeaderName } from '../schemas/header.ts';
import { type ServiceInput, type ShownService, serviceUpdate, toSavedService } from '../schemas/service.ts';
import { type AdminAction, serveAdmin } from './core/admin/for-admins.ts';
import { ok, recordTag } from './core/http/response.ts';
import { pointer } from './core/json/json.ts';
import type { ServiceRecord } from './core/registry/records.ts';
import { noSuchService } from './core/registry/refusals.ts';
import { registryFromEnvironment } from './core/registry/registry-from-environment.ts';
import type { Services } from './core/registry/services.ts';
import { invalidParameter } from './core/runtime/api-error.ts';

/** `PUT /api/services/{service_id}`: replaces the whole record; absent optional members are removed, except for the namespace. */
export const createAction =
  ({ services }: { services: Pick<Services, 'as'> }): AdminAction =>
  async (admin, request) => {
    const serviceId = request.pathParameter('service_id');
    const { service_id, credential, ...input } = request.body(serviceUpdate);
    if (service_id !== undefined && service_id !== serviceId) {
      throw invalidParameter([{ path: '/service_id', problem: 'must equal the service_id in the path, or be left out' }]);
    }
    const service = await services.as(admin).replace(serviceId, input, (seen) => {
      checkFields(input, seen);
      const isCurrent = request.ifMatch(seen);
      // skipped for a stale read, which fails anyway: its credential may be an old one
      if (isCurrent && credential !== undefined) requireSameCredential(credential, seen);
      return isCurrent;
    });
    if (!service) throw noSuchService();
    return ok(toSavedService(service), { ETag: recordTag(service) });
  };

/** @throws ApiError INVALID_PARAMETER if a header of the service has the name of one of the credential's headers */
function checkFields({ headers = {} }: ServiceInput, { credential }: ServiceRecord): void {
  const secret = new Set([credential, credential?.next].flatMap((values) => values?.headers ?? []).map(foldHeaderName));
  const taken = Object.keys(headers).filter((name) => secret.has(foldHeaderName(name)));
  if (taken.length > 0)
    throw invalidParameter(
      taken.map((name) => ({ path: pointer(['headers', name]), problem: "must not be a header field of the service's credential" })),
    );
}

/** Admins may send back the credential's facts, but only unchanged. */
function requireSameCredential(shown: ShownService['credential'], service: ServiceRecord): void {
  const { credential } = service;
  const current = credential ? toCredentialFacts(credential) : null;
  if (canonicalDigest(shown) === canonicalDigest(current)) return;
  throw invalidParameter([
    { path: '/credential', problem: 'must be unchanged from a read, or be left out; PUT .../credential changes it' },
  ]);
}

export const handler = serveAdmin(createAction(registryFromEnvironment()));
