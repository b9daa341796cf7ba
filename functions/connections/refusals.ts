import { ApiError } from '../core/runtime/api-error.ts';
import type { IssuerWords } from './issuer-failure.ts';

const detailsOf = ({ error, description }: IssuerWords) => ({
  ...(error !== undefined && { issuer_error: error }),
  ...(description !== undefined && { issuer_error_description: description }),
});

/** The page at which a person connects to a service. */
export const connectUrl = (serviceId: string, baseUrl: string): string => `${baseUrl}/connect/${serviceId}`;

/** The service has refused a token whose renewal has ended the connection. */
export const connectAgain = (serviceId: string, baseUrl: string, failure?: IssuerWords) =>
  new ApiError(
    'FORBIDDEN',
    'The service refused the token of the person you act for, so it has done nothing, and the issuer gave no other. Let the person open details.url and connect again, then send the call again.',
    { details: { reason: 'connect', url: connectUrl(serviceId, baseUrl), upstream_status: 401, ...(failure && detailsOf(failure)) } },
  );

/** @param failure - why an earlier connection no longer works */
export const connectFirst = (serviceId: string, baseUrl: string, failure?: IssuerWords) =>
  new ApiError(
    'FORBIDDEN',
    `The service needs the consent of the person you act for${failure ? ' again' : ''}. Nothing was sent; let the person open details.url and connect, then send the call again.`,
    {
      details: { reason: 'connect', url: connectUrl(serviceId, baseUrl), outcome: 'not_sent', ...(failure && detailsOf(failure)) },
    },
  );

export const personRequired = () =>
  new ApiError(
    'FORBIDDEN',
    'This service is called on behalf of people, but this PAT belongs to an agent that acts for no one. Nothing was sent; use a PAT of a person who has signed in.',
    { details: { reason: 'person_required', outcome: 'not_sent' } },
  );

const noTokenDetails = { reason: 'no_token', outcome: 'not_sent' } as const;

/** Errors that say nothing about the client (RFC 6749 section 4.1.2.1). */
const isTemporary = ({ error }: IssuerWords): boolean =>
  error === undefined || ['temporarily_unavailable', 'server_error', 'slow_down'].includes(error);

/** The issuer gave no token to the gate. */
export function noToken(words: IssuerWords, cause: unknown): ApiError {
  const said = [words.error, words.description].filter((text) => text !== undefined).join(': ');
  const problem = `The gate got no token for the service (${said})`;
  const details = { ...noTokenDetails, ...detailsOf(words) };
  return isTemporary(words)
    ? new ApiError('SERVICE_UNAVAILABLE', `${problem}. Nothing was sent; try again after Retry-After.`, {
        details,
        headers: { 'Retry-After': '5' },
        cause,
        fault: 'upstream',
      })
    : new ApiError('INTENT_EXECUTION_FAILED', `${problem}. Nothing was sent; tell the admins of this gate.`, {
        details,
        cause,
        fault: 'upstream',
      });
}

export const tokenBusy = () => temporary('The token of the service is being renewed');

export const credentialChanged = () => temporary('The credential of the service has just changed');

const temporary = (problem: string) =>
  new ApiError('SERVICE_UNAVAILABLE', `${problem}. Nothing was sent; try again after Retry-After.`, {
    details: noTokenDetails,
    headers: { 'Retry-After': '5' },
    fault: 'upstream',
  });
