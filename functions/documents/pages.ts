import { type Deployment, deploymentPlace, escapeHtml, listItems, policyPlace } from '../core/http/page.ts';
import { type ApiResponse, entityTag } from '../core/http/response.ts';
import type { Action } from '../core/http/serve.ts';

export const fillPolicy = (page: string, sentences: readonly string[]): string => page.replace(policyPlace, () => listItems(sentences));

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
