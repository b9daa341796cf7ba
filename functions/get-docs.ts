import { readPage } from './core/documents/files.ts';
import { fillPolicy } from './core/documents/policy-page.ts';
import { entityTag } from './core/http/response.ts';
import { type Action, serve } from './core/http/serve.ts';
import { type FindPolicy, loadPolicyTemplate, openPolicy } from './core/policy/policy.ts';

export interface Deps {
  readPage(): string;
  findPolicy: FindPolicy;
}

/** The page runs its own files and calls this gate, and nothing else. The icons of Swagger UI are data URLs. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** `GET /docs`: the reference page, with the policy in plain words. */
export const createAction =
  ({ readPage, findPolicy }: Deps): Action =>
  async ({ baseUrl }) => {
    const text = fillPolicy(readPage(), findPolicy(baseUrl).policy, baseUrl);
    const headers = {
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Security-Policy': contentSecurityPolicy,
      'Referrer-Policy': 'no-referrer',
      ETag: entityTag(text),
      'Cache-Control': 'no-cache',
    };
    return { status: 200, text, headers };
  };

export const handler = serve(createAction({ readPage, findPolicy: openPolicy(loadPolicyTemplate()) }));
