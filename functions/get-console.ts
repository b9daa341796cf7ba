import { fillConsole } from './core/documents/console-page.ts';
import { readConsole } from './core/documents/files.ts';
import { entityTag } from './core/http/response.ts';
import { type Action, serve } from './core/http/serve.ts';

export interface Deps {
  readConsole(): string;
}

/** The page runs its own files and calls this gate, and nothing else. Pictures are those in answers of intents, as data. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  'img-src data:',
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ');

/** `GET /console`: the catalogue and the console. It is the same page for everybody; what it shows it reads with what whoever uses it may read. */
export const createAction =
  ({ readConsole }: Deps): Action =>
  async ({ baseUrl }) => {
    const text = fillConsole(readConsole(), { publicUrl: baseUrl });
    const headers = {
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Security-Policy': contentSecurityPolicy,
      'Referrer-Policy': 'no-referrer',
      ETag: entityTag(text),
      'Cache-Control': 'no-cache',
    };
    return { status: 200, text, headers };
  };

export const handler = serve(createAction({ readConsole }));
