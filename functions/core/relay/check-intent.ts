import { foldQueryName, type StoredCredential } from '../../../schemas/credential.ts';
import type { Issue } from '../../../schemas/errors.ts';
import { foldHeaderName } from '../../../schemas/header.ts';
import type { IntentInput } from '../../../schemas/intent.ts';
import type { Service } from '../../../schemas/service.ts';
import { pointer } from '../json/json.ts';
import { checkDefinitions } from '../parameters/definitions.ts';
import { invalidParameter } from '../runtime/api-error.ts';
import { writtenNames } from './build-request.ts';
import { carriesCredential, isReadAs } from './credential.ts';
import { type EgressRules, withOwnHost } from './egress.ts';
import { checkEndpoint } from './endpoint.ts';
import { originOf, parseUrlTemplate } from './url-template.ts';

/**
 * Checks at registration that an intent can be executed: its parameter definitions and its endpoint.
 * @param baseUrl - the address at which this gate was called; endpoints must not lead back to it
 * @throws ApiError INVALID_PARAMETER listing all issues
 */
export function checkIntent(intent: IntentInput, rules: EgressRules, baseUrl: string): void {
  const issues = [...checkDefinitions(intent), ...checkEndpoint(intent.endpoint, intent.input_parameters, withOwnHost(rules, baseUrl))];
  if (issues.length > 0) throw invalidParameter(issues);
}

type CarryingService = Pick<Service, 'service_id' | 'service_url' | 'headers'> & { credential?: StoredCredential };

/**
 * Checks at registration that an intent's inputs do not have the names of header fields or query parameters that the service adds to calls. If a
 * later change of the service causes such a conflict, the service wins.
 * @throws ApiError INVALID_PARAMETER listing all issues
 */
export function checkInService(intent: IntentInput, service: CarryingService): void {
  const template = parseUrlTemplate(intent.endpoint.url);
  if (typeof template === 'string') return;
  const { credential } = service;
  const carried =
    credential !== undefined && carriesCredential(service, originOf(template.origin) ?? '') ? [credential, credential.next] : [];
  const query = new Set(carried.flatMap((values) => values?.query ?? []).map(foldQueryName));
  const fields = new Set(
    [...carried.flatMap((values) => values?.headers ?? []), ...Object.keys(service.headers ?? {})].map(foldHeaderName),
  );
  const taken = new Set(writtenNames(intent, template).filter((name) => isReadAs(name, query)));
  const issues = intent.input_parameters.flatMap(({ name, in: location }, index): Issue[] => {
    const path = pointer(['input_parameters', index, 'name']);
    if (location === 'header' && fields.has(foldHeaderName(name)))
      return [{ path, problem: "must not have the name of a header field that the service's calls already carry" }];
    return taken.delete(name)
      ? [{ path, problem: "must not have the name of a query parameter of the service's credential, which calls already carry" }]
      : [];
  });
  if (taken.size > 0)
    issues.push({
      path: '/endpoint/url',
      problem: "must not contain a query parameter of the service's credential, which calls already carry",
    });
  if (issues.length > 0) throw invalidParameter(issues);
}
