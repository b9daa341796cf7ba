import { createHash } from 'node:crypto';
import type { Policy } from '../../schemas/policy.ts';
import type { ApiResponse } from '../core/http/response.ts';
import type { Action } from '../core/http/serve.ts';
import { escapeHtml, listPolicy } from '../documents/pages.ts';
import type { AuthorizationRequest } from './authorization-request.ts';
import type { Client } from './clients.ts';
import { answerRefusals } from './oauth-error.ts';
import { isLoopback } from './redirect-uri.ts';
import type { Person } from './sign-ins.ts';

const style = `
:root { color-scheme: light dark; --ink: #1d2733; --quiet: #4d5966; --paper: #ffffff; --shade: #f4f6f8; --line: #d9dfe5; --accent: #1458a8; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e9ee; --quiet: #a9b5c1; --paper: #1c2022; --shade: #262b2f; --line: #3b4349; --accent: #8ab8f0; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 1rem / 1.6 system-ui, sans-serif; }
main { max-width: 44rem; margin: 0 auto; padding: 1.5rem 1rem 3rem; overflow-wrap: anywhere; }
h1, h2 { line-height: 1.25; text-wrap: balance; }
h1 { font-size: clamp(1.5rem, 5vw, 2rem); }
h2 { font-size: 1.2rem; margin-top: 2rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.35rem 1.25rem; padding: 1rem; background: var(--shade); border-radius: 0.5rem; }
dt { color: var(--quiet); }
dd { margin: 0; font-weight: 600; }
li { margin: 0.35rem 0; }
a { color: var(--accent); }
form { display: flex; flex-wrap: wrap; gap: 1rem; margin-top: 2rem; }
button { font: inherit; font-weight: 600; padding: 0.6rem 1.5rem; border: 2px solid var(--accent); border-radius: 0.375rem; cursor: pointer; }
button[value="accept"] { background: var(--accent); color: var(--paper); }
button[value="decline"] { background: transparent; color: var(--accent); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 3px; }
@media (max-width: 30rem) { dl { grid-template-columns: 1fr; gap: 0; } dd { margin-bottom: 0.5rem; } }
`;

const styleSource = `'sha256-${createHash('sha256').update(style).digest('base64')}'`;

/** @param options.formTarget - origin to which a form's response may redirect: browsers apply `form-action` to it, too */
export function page(
  title: string,
  content: string,
  { status = 200, headers = {}, formTarget = '' }: Partial<Pick<ApiResponse, 'status' | 'headers'>> & { formTarget?: string } = {},
): ApiResponse {
  const text = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)} - Intent Gate</title>
<link rel="icon" href="data:,">
<style>${style}</style>
</head>
<body>
<main>
<h1>${escapeHtml(title)}</h1>
${content}
</main>
</body>
</html>
`;
  return {
    status,
    text,
    headers: {
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Security-Policy': [
        "default-src 'none'",
        `style-src ${styleSource}`,
        'img-src data:',
        "base-uri 'none'",
        `form-action 'self' ${formTarget}`.trim(),
        "frame-ancestors 'none'",
      ].join('; '),
      'X-Frame-Options': 'DENY',
      // with no-referrer, browsers would send the form with "Origin: null"
      'Referrer-Policy': 'same-origin',
      ...headers,
    },
  };
}

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
    {
      headers: { Refresh: `0;url=${address}` },
    },
  );

export interface Consent {
  client: Client;
  authRequest: AuthorizationRequest;
  person: Person;
  policy: Policy;
  policyReference: string;
  baseUrl: string;
  patLifeSeconds: number;
  signInSeconds: number;
  formToken: string;
}

function inWords(seconds: number): string {
  const [unit, length] = [['hour', 3_600] as const, ['minute', 60] as const].find(([, length]) => seconds % length === 0) ?? ['second', 1];
  return new Intl.NumberFormat('en', { style: 'unit', unit, unitDisplay: 'long' }).format(seconds / length);
}

const facts = (entries: [name: string, value: string][]): string =>
  `<dl>\n${entries.map(([name, value]) => `<dt>${name}</dt><dd>${escapeHtml(value)}</dd>`).join('\n')}\n</dl>`;

const hidden = (fields: Record<string, string | undefined>): string =>
  Object.entries(fields)
    .flatMap(([name, value]) => (value === undefined ? [] : [`<input type="hidden" name="${name}" value="${escapeHtml(value)}">`]))
    .join('\n');

export function consentPage(consent: Consent): ApiResponse {
  const { client, authRequest, person, policy, policyReference, baseUrl, patLifeSeconds, signInSeconds, formToken } = consent;
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
${listPolicy(policy, baseUrl)}
</ul>
<p>Where the policy asks for a signature, accepting it here counts as one. There is also a <a href="${escapeHtml(baseUrl)}/api/policy">machine-readable version</a>.</p>
<h2>For how long</h2>
<p>For ${inWords(signInSeconds)}. The program gets a pass for ${inWords(patLifeSeconds)} at a time, and may renew it without asking you. Access ends immediately if the policy changes or the operators of this gate block the program. If you disconnect this gate in the program, access ends when the current pass expires.</p>
<form method="post" action="${escapeHtml(baseUrl)}/oauth/accept">
${hidden({ ...authRequest, policy: policyReference, form_token: formToken })}
<button type="submit" name="decision" value="accept">Accept</button>
<button type="submit" name="decision" value="decline">Decline</button>
</form>`,
  );
}
