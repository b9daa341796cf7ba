import type { Issue } from '../../../schemas/errors.ts';
import { pointer } from '../json/json.ts';
import { invalidParameter } from '../runtime/api-error.ts';
import { checkOrigin, type EgressRules, isLoopbackHost, withOwnHost } from './egress.ts';

const checkOrigins = (origins: readonly string[], rules: EgressRules, baseUrl: string): Issue[] =>
  origins.flatMap((origin, index) => {
    const path = pointer(['origins', index]);
    const isLocal = rules.allowLoopback && isLoopbackHost(URL.parse(origin)?.hostname ?? '');
    if (!(isLocal ? /^https?:\/\//i : /^https:\/\//i).test(origin)) return [{ path, problem: 'must begin with https://' }];
    if (/^https?:\/\/[^/]*[/?#\\]/i.test(origin)) return [{ path, problem: 'must end with its host or port, without a path' }];
    return checkOrigin(origin, withOwnHost(rules, baseUrl)).map((problem) => ({ path, problem }));
  });

/**
 * Origins to which a new credential may be sent: those given, else the origin of the service's address.
 * @throws ApiError INVALID_PARAMETER if an origin may not be called over https; the local stage also allows loopback
 */
export function chooseOrigins(
  given: readonly string[] | undefined,
  service: { service_url: string },
  rules: EgressRules,
  baseUrl: string,
): string[] {
  if (given !== undefined) {
    const issues = checkOrigins(given, rules, baseUrl);
    if (issues.length > 0) throw invalidParameter(issues);
    return [...new Set(given.map((origin) => new URL(origin).origin))];
  }
  const origins = [new URL(service.service_url).origin];
  if (checkOrigins(origins, rules, baseUrl).length === 0) return origins;
  const problem = 'is required, because the service_url of this service cannot be called over https';
  throw invalidParameter([{ path: '/origins', problem }]);
}
