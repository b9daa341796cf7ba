import { escapeHtml, page } from '../core/http/page.ts';
import type { ApiResponse } from '../core/http/response.ts';
import type { Action } from '../core/http/serve.ts';
import type { ServiceRecord } from '../core/registry/records.ts';
import { answerRefusals, OAuthError } from '../sign-in/oauth-error.ts';
import { facts, hidden } from '../sign-in/pages.ts';
import type { Session } from '../sign-in/session.ts';
import { IssuerFailure } from './issuer-failure.ts';
import type { ServiceClient } from './service-client.ts';

/** The address at which people agree, or whose metadata names it. */
const issuerHost = ({ issuer, authorization_endpoint }: ServiceClient['client']): string =>
  new URL(authorization_endpoint ?? String(issuer)).host;

/** The page that asks a person to connect. @param since - when the person connected, in milliseconds since the epoch */
export function connectPage(
  { service, client }: ServiceClient,
  { person }: Session,
  baseUrl: string,
  token: string,
  since?: number,
): ApiResponse {
  const { scopes = [] } = client;
  const connected =
    since === undefined
      ? ''
      : `<p>You have been connected since ${new Date(since).toUTCString()}. If you connect again, the new connection replaces this one.</p>\n`;
  return page(
    `Connect to ${service.service_name}?`,
    `${facts([
      ['Service', service.service_name],
      ['You agree at', issuerHost(client)],
      ['Requested access', scopes.length > 0 ? scopes.join(', ') : 'what it allows by default'],
      ['Signed in as', person.userName],
      ['Gate', new URL(baseUrl).host],
    ])}
${connected}<p>If you agree, programs that act for you may use the service in your name, within the policy of this gate. The gate keeps the consent sealed, and never shows it to a program. You can end the connection at any time.</p>
<form method="post" action="${escapeHtml(baseUrl)}/connect/${service.service_id}">
${hidden({ form_token: token })}
<button type="submit" value="accept">Connect</button>
</form>`,
  );
}

/** Leads to the issuer through a page: browsers apply `form-action` to redirects after a form, and issuers redirect further. */
export const leadingPage = (address: string): ApiResponse =>
  page(
    'Continue at the service',
    `<p>If nothing happens, <a href="${escapeHtml(address)}">continue to ${escapeHtml(new URL(address).host)}</a>.</p>`,
    {
      headers: { Refresh: `0;url=${address}` },
    },
  );

export const connectedPage = ({ service_name }: ServiceRecord, scopes: readonly string[], baseUrl: string): ApiResponse =>
  page(
    `You are connected to ${service_name}`,
    `${scopes.length > 0 ? `${facts([['Allowed', scopes.join(', ')]])}\n` : ''}<p>Return to your program, and let it make its call again.</p>
<p><a href="${escapeHtml(baseUrl)}/console#/connections">Your connections</a></p>`,
  );

/** What the issuer said, in a sentence. */
const sentenceOf = ({ words: { error, description } }: IssuerFailure): string =>
  `The service refused${error === undefined ? '' : ` (${error})`}. ${description ?? ''}`.trim();

/** Shows refusals, also those of issuers, to the person. */
export const showRefusals = (action: Action): Action =>
  answerRefusals(
    async (request) => {
      try {
        return await action(request);
      } catch (error) {
        throw error instanceof IssuerFailure ? new OAuthError('access_denied', sentenceOf(error)) : error;
      }
    },
    ({ message, status, headers }) =>
      page('You are not connected', `<p>${escapeHtml(message)}</p>\n<p>Open the address that your program gave you to try again.</p>`, {
        status,
        headers,
      }),
  );
