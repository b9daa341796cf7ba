import type { ApiError } from '../core/runtime/api-error.ts';
import type { ClientCapabilities } from './client-capabilities.ts';
import { RpcError } from './json-rpc.ts';

/** A page that a person has to see before a call can be made. */
export interface Page {
  name: 'approval' | 'connection';
  message: string;
  url: string;
  /** unique to the request */
  id: string;
}

/** The page at which a person consents to what the call needs, if that is why it was refused. */
export const pageOf = ({ details }: ApiError, id: string): Page | undefined =>
  details.reason === 'connect' && typeof details.url === 'string'
    ? { name: 'connection', message: 'The service needs your consent. The page shows it, and leads to the service.', url: details.url, id }
    : undefined;

/** Whether the client can open the page, which its user has not seen yet. */
export const mayOpen = ({ name }: Page, { urls, seenPages }: ClientCapabilities): boolean => urls && !seenPages.includes(name);

/**
 * Asks the client to open a page (2025-11-25 and 2026-07-28, "URL Mode Elicitation").
 * @param requestState - returned with the user's answer
 * @throws RpcError for a legacy client
 */
export function elicit({ name, message, url, id }: Page, { era }: ClientCapabilities, requestState: string): object {
  const params = { mode: 'url', message, url };
  if (era === 'modern')
    return { resultType: 'input_required', inputRequests: { [name]: { method: 'elicitation/create', params } }, requestState };
  throw new RpcError('urlElicitationRequired', `${message} Then make the same call again.`, {
    data: { elicitations: [{ ...params, elicitationId: id }] },
  });
}
