import { credentialInput } from '../schemas/credential-input.ts';
import { foldHeaderName } from '../schemas/header.ts';
import { nameOf, requireNamespace } from './core/admin/admin.ts';
import { type AdminAction, serveAdmin } from './core/admin/for-admins.ts';
import { type Credentials, credentialsFromEnvironment, describeCredential, makeCredential } from './core/credentials/credentials.ts';
import { outwaitEarlierReads } from './core/execution/block-check.ts';
import { ok, recordTag } from './core/http/response.ts';
import type { ServiceRecord } from './core/registry/records.ts';
import { noSuchService, recordChanged } from './core/registry/refusals.ts';
import { registryFromEnvironment } from './core/registry/registry-from-environment.ts';
import type { Services } from './core/registry/services.ts';
import { chooseOrigins } from './core/relay/credential.ts';
import { type EgressRules, egressRulesFromEnvironment } from './core/relay/egress.ts';
import { describeShort } from './core/relay/redact.ts';
import { invalidParameter } from './core/runtime/api-error.ts';
import { credentialChecks } from './features.ts';

export interface Deps {
  services: Pick<Services, 'find' | 'as'>;
  credentials: Pick<Credentials, 'add' | 'remove'>;
  egress: EgressRules;
}

/** `PUT /api/services/{service_id}/credential`: what calls of the service's intents carry, and to which origins. No response shows the values. */
export const createAction =
  ({ services, credentials, egress }: Deps): AdminAction =>
  async (admin, request) => {
    const input = request.body(credentialInput);
    const serviceId = request.pathParameter('service_id');
    const before = await services.find(serviceId);
    if (!before) throw noSuchService();
    requireNamespace(admin, before.namespace);
    if (!request.ifMatch(before)) throw recordChanged();
    for (const check of credentialChecks) check(input, egress, request.baseUrl);
    const credential = makeCredential(input, chooseOrigins(input.origins, before, egress, request.baseUrl));
    const facts = describeCredential(credential);
    checkFields([...facts.headers, ...(facts.next?.headers ?? [])], before);
    // Store the values first: until the record names this version, calls use the previous one, which stays readable.
    const { version } = await credentials.add(serviceId, credential);
    const stored = { ...facts, version, set_at: Date.now(), set_by: nameOf(admin) };
    // If the credential has been removed meanwhile, these values may be gone as well.
    const isStillKnown = (seen: ServiceRecord) => request.ifMatch(seen) && (!before.credential || seen.credential !== undefined);
    const saved = await services.as(admin).setCredential(serviceId, stored, isStillKnown);
    if (!saved) {
      await credentials.remove(serviceId);
      throw noSuchService();
    }
    if (saved.hadClient || before.credential?.oauth) await outwaitEarlierReads();
    const { header_name } = input;
    const warnings = describeShort(credential);
    const remarks = { ...(header_name !== undefined && { header_name }), ...(warnings.length > 0 && { warnings }) };
    return ok({ service_id: serviceId, ...facts, ...remarks }, { ETag: recordTag(saved.service) });
  };

/** @throws ApiError INVALID_PARAMETER if a header of the credential has the name of one of the service's own headers */
function checkFields(names: string[], { headers = {} }: ServiceRecord): void {
  const open = new Set(Object.keys(headers).map(foldHeaderName));
  if (names.some((name) => open.has(foldHeaderName(name))))
    throw invalidParameter([{ path: '/headers', problem: "must not contain one of the service's own headers; remove it there first" }]);
}

export const handler = serveAdmin(
  createAction({
    ...registryFromEnvironment(),
    credentials: credentialsFromEnvironment(),
    egress: egressRulesFromEnvironment(),
  }),
);
