import { escapeHtml, listItems, page } from '../core/http/page.ts';
import type { ApiResponse } from '../core/http/response.ts';
import type { Action } from '../core/http/serve.ts';
import type { AuthorizationRequest } from './authorization-request.ts';
import type { Client } from './clients.ts';
import { answerRefusals } from './oauth-error.ts';
import { isLoopback } from './redirect-uri.ts';
import type { Person } from './sign-ins.ts';

/** Shows refusals to the person, because no redirect URI of the program has been verified. */
export const showErrors = (action: Action): Action =>
  answerRefusals(action, ({ message, status, headers }) =>
    page(
      'This sign-in cannot continue',
      `<p>${escapeHtml(message)}</p>
<p>You have not accepted anything. Close this page, and start again in the program that sent you here.</p>`,
      { status, headers },
    ),
  );

export const redirect = (address: string, cookies?: string[]): ApiResponse => ({
  status: 302,
  headers: { Location: address, 'Referrer-Policy': 'no-referrer' },
  ...(cookies && { cookies }),
});

/** Returns the person to the program through a page: browsers apply `form-action` to redirects after a form, so a redirect would be blocked. */
export const continuePage = (client: Client, address: string): ApiResponse =>
  page(
    'Returning to the program',
    `<p>If nothing happens, <a href="${escapeHtml(address)}">continue to ${escapeHtml(client.name)}</a>.</p>`,
    { headers: { Refresh: `0;url=${address}` } },
  );

export interface Consent {
  client: Client;
  authRequest: AuthorizationRequest;
  person: Person;
  /** the policy in plain words */
  sentences: readonly string[];
  policyReference: string;
  notices: readonly string[];
  baseUrl: string;
  patLifeSeconds: number;
  signInSeconds: number;
  formToken: string;
}

function inWords(seconds: number): string {
  const [unit, length] = [['hour', 3_600] as const, ['minute', 60] as const].find(([, length]) => seconds % length === 0) ?? ['second', 1];
  return new Intl.NumberFormat('en', { style: 'unit', unit, unitDisplay: 'long' }).format(seconds / length);
}

export const facts = (entries: [name: string, value: string][]): string =>
  `<dl>\n${entries.map(([name, value]) => `<dt>${name}</dt><dd>${escapeHtml(value)}</dd>`).join('\n')}\n</dl>`;

export const hidden = (fields: Record<string, string | undefined>): string =>
  Object.entries(fields)
    .flatMap(([name, value]) => (value === undefined ? [] : [`<input type="hidden" name="${name}" value="${escapeHtml(value)}">`]))
    .join('\n');

export function consentPage(consent: Consent): ApiResponse {
  const { client, authRequest, person, sentences, policyReference, notices, baseUrl, patLifeSeconds, signInSeconds, formToken } = consent;
  const isLocal = isLoopback(authRequest.redirect_uri);
  const target = new URL(authRequest.redirect_uri);
  return page(
    `Let ${client.name} act for you?`,
    `${facts([
      ['Program', client.name],
      ['Vouched for by', client.host ?? 'nobody'],
      ['Sends you back to', isLocal ? `a program on this computer (${target.host})` : target.host],
      ['Signed in as', person.userName],
      ['Gate', new URL(baseUrl).host],
    ])}
<p>The program chose its name itself. Continue only if you have just asked it to connect.</p>
<h2>The policy</h2>
<p>If you accept, the program may find and run operations of the services behind this gate on your behalf, within this policy. In the policy, “you” means whoever acts under it:</p>
<ul>
${listItems(sentences)}
</ul>
<p>Where the policy asks for a signature, accepting it here counts as one. There is also a <a href="${escapeHtml(baseUrl)}/api/policy">machine-readable version</a>.</p>
<h2>For how long</h2>
<p>For ${inWords(signInSeconds)}. The program gets a pass for ${inWords(patLifeSeconds)} at a time, and may renew it without asking you. Access ends immediately if the policy changes or the operators of this gate block the program. If you disconnect this gate in the program, access ends when the current pass expires.</p>
${notices.map((notice) => `<p>${escapeHtml(notice)}</p>\n`).join('')}<form method="post" action="${escapeHtml(baseUrl)}/oauth/accept">
${hidden({ ...authRequest, policy: policyReference, form_token: formToken })}
<button type="submit" name="decision" value="accept">Accept</button>
<button type="submit" name="decision" value="decline">Decline</button>
</form>`,
  );
}
