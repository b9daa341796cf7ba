import type { Policy } from '../../schemas/policy.ts';
import { type ApiResponse, entityTag } from '../core/http/response.ts';
import type { Action } from '../core/http/serve.ts';
import { describePolicy } from '../core/policy/describe.ts';

/** Placeholders of the reference page and the console. */
export const policyPlace = '<!-- policy -->';
export const deploymentPlace = '<!-- deployment -->';

export interface Deployment {
  /** the gate's public address, which policies and proofs name */
  publicUrl: string;
  signIn?: {
    /** address of the user pool's sign-in pages, for example `https://<prefix>.auth.<region>.amazoncognito.com` */
    domain: string;
    clientId: string;
  };
  offersSignIn?: true;
  /** hosts on the developer's own network that intents may call; in a local stack only */
  localUpstreams?: readonly string[];
}

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (character) => entities[character] ?? '');

export const listPolicy = (policy: Policy, baseUrl: string): string =>
  describePolicy(policy, baseUrl)
    .map((sentence) => `<li>${escapeHtml(sentence)}</li>`)
    .join('\n');

export const fillPolicy = (page: string, policy: Policy, baseUrl: string): string =>
  page.replace(policyPlace, () => listPolicy(policy, baseUrl));

export const fillConsole = (page: string, deployment: Deployment): string =>
  page.replace(deploymentPlace, () => escapeHtml(JSON.stringify(deployment)));

/** Redirects from the address with a slash at its end, at which the relative links of a page would lead nowhere. */
export const withoutSlash =
  (action: Action): Action =>
  async (request) =>
    request.path.endsWith('/') ? { status: 308, headers: { Location: request.baseUrl + request.route } } : action(request);

/** An HTML page that runs only the gate's own scripts. @param directives - further directives of its Content-Security-Policy */
export const scriptedPage = (text: string, directives: readonly string[]): ApiResponse => ({
  status: 200,
  text,
  headers: {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      ...directives,
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ].join('; '),
    'Referrer-Policy': 'no-referrer',
    ETag: entityTag(text),
    'Cache-Control': 'no-cache',
  },
});
