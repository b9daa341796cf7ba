import { credentialOrigins, foldQueryName, type StoredCredential } from '../../../schemas/credential.ts';
import type { Issue } from '../../../schemas/errors.ts';
import { foldField } from '../../../schemas/header.ts';
import type { IntentInput } from '../../../schemas/intent.ts';
import type { Service } from '../../../schemas/service.ts';
import { invalidParameter } from '../api-error.ts';
import { pointer } from '../json.ts';
import { checkDefinitions } from '../parameters/definitions.ts';
import { carriesCredential, isReadAs } from './credential.ts';
import { checkOrigin, type EgressRules, withOwnHost } from './egress.ts';
import { checkEndpoint } from './endpoint.ts';
import { writtenNames } from './request.ts';
import { originOf, parseUrlTemplate } from './url-template.ts';

/**
 * Checks at registration that an intent can be executed: its parameters' definitions and where its endpoint leads.
 * @param baseUrl - the address at which this gate was called, to which no endpoint may lead back
 * @throws ApiError INVALID_PARAMETER with every issue at once
 */
export function checkIntent(intent: IntentInput, rules: EgressRules, baseUrl: string): void {
  const issues = [...checkDefinitions(intent), ...checkEndpoint(intent.endpoint, intent.input_parameters, withOwnHost(rules, baseUrl))];
  if (issues.length > 0) throw invalidParameter(issues);
}

type CarryingService = Pick<Service, 'service_id' | 'service_url' | 'headers'> & { credential?: StoredCredential };

/**
 * Checks at registration that an intent's inputs do not have the names of what the service's calls carry. Where such names come up later, because
 * the service is changed, what the service says wins.
 * @throws ApiError INVALID_PARAMETER with every issue at once
 */
export function checkInService(intent: IntentInput, service: CarryingService): void {
  const template = parseUrlTemplate(intent.endpoint.url);
  if (typeof template === 'string') return;
  const { credential } = service;
  const carried =
    credential !== undefined && carriesCredential(service, originOf(template.origin) ?? '') ? [credential, credential.next] : [];
  const query = new Set(carried.flatMap((values) => values?.query ?? []).map(foldQueryName));
  const fields = new Set([...carried.flatMap((values) => values?.headers ?? []), ...Object.keys(service.headers ?? {})].map(foldField));
  const taken = new Set(writtenNames(intent, template).filter((name) => isReadAs(name, query)));
  const issues = intent.input_parameters.flatMap(({ name, in: place }, index): Issue[] => {
    const path = pointer(['input_parameters', index, 'name']);
    if (place === 'header' && fields.has(foldField(name)))
      return [{ path, problem: "must not have the name of a header field that the service's calls carry anyway" }];
    return taken.delete(name)
      ? [{ path, problem: "must not have the name of a query parameter of the service's credential, which calls carry anyway" }]
      : [];
  });
  if (taken.size > 0)
    issues.push({
      path: '/endpoint/url',
      problem: "must not hold a query parameter of the service's credential, which calls carry anyway",
    });
  if (issues.length > 0) throw invalidParameter(issues);
}

/** What is wrong with the origins of a credential. */
export const checkOrigins = (origins: readonly string[], rules: EgressRules, baseUrl: string): Issue[] =>
  origins.flatMap((origin, index) => {
    const path = pointer(['origins', index]);
    if (!/^https:\/\//i.test(origin)) return [{ path, problem: 'must begin with https://' }];
    if (/^https:\/\/[^/]*[/?#\\]/i.test(origin)) return [{ path, problem: 'must end with its host or port, without a path' }];
    return checkOrigin(origin, withOwnHost(rules, baseUrl)).map((problem) => ({ path, problem }));
  });

/**
 * Where a new credential may be sent: as the admin says, else to the origin of the service's address.
 * @throws ApiError INVALID_PARAMETER if an origin may not be called over https
 */
export function chooseOrigins(
  given: readonly string[] | undefined,
  service: CarryingService,
  rules: EgressRules,
  baseUrl: string,
): string[] {
  if (given !== undefined) {
    const issues = checkOrigins(given, rules, baseUrl);
    if (issues.length > 0) throw invalidParameter(issues);
    return [...new Set(given.map((origin) => new URL(origin).origin))];
  }
  const origins = credentialOrigins({ service_url: service.service_url });
  if (origins.length > 0 && checkOrigins(origins, rules, baseUrl).length === 0) return origins;
  const problem = 'must be given, because the service_url of this service is no address that may be called over https';
  throw invalidParameter([{ path: '/origins', problem }]);
}
