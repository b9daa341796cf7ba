import type { ApiError } from '../api-error.ts';
import type { ApiRequest } from '../http/request.ts';

/**
 * Decides, alone, how a call is refused that needs a PAT and has none that holds: as a result of its tool, which a model reads and can act on.
 * A 401 in HTTP would stop a host from searching, too, and make it look for a sign-in.
 * @param pat - the one in the arguments of the call
 * @returns what the tool throws
 */
export function refuseUnauthorized(refusal: ApiError, request: ApiRequest, pat: string | undefined): ApiError {
  const isOfConnection = pat === undefined && request.headerValues('authorization').length > 0;
  return isOfConnection ? refusal.withDetails({ reason: 'pat_of_connection' }) : refusal;
}
