import { type Deployment, fillConsole } from './core/documents/console-page.ts';
import { readConsole } from './core/documents/files.ts';
import { readEnvironment, splitList } from './core/environment.ts';
import { entityTag } from './core/http/response.ts';
import { type Action, serve } from './core/http/serve.ts';

export interface Deps {
  readConsole(): string;
  /** where admins sign in; none if they cannot here */
  signIn?: Deployment['signIn'];
  localUpstreams?: readonly string[];
  offersSignIn?: true;
}

/** The page runs its own files and calls this gate, and the user pool for tokens; nothing else. Pictures are those in answers of intents, as data. */
const securityPolicy = (signIn: Deployment['signIn']): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    'img-src data:',
    `connect-src 'self'${signIn ? ` ${new URL(signIn.domain).origin}` : ''}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
  ].join('; ');

/** `GET /console`: the catalogue and the console. It is the same page for everybody; what it shows it reads with what whoever uses it may read. */
export const createAction =
  ({ readConsole, signIn, ...known }: Deps): Action =>
  async ({ baseUrl }) => {
    const text = fillConsole(readConsole(), { publicUrl: baseUrl, ...(signIn && { signIn }), ...known });
    const headers = {
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Security-Policy': securityPolicy(signIn),
      'Referrer-Policy': 'no-referrer',
      ETag: entityTag(text),
      'Cache-Control': 'no-cache',
    };
    return { status: 200, text, headers };
  };

const {
  signInDomain: domain,
  consoleClient: clientId,
  signInClient,
  localUpstreams,
} = readEnvironment([], ['signInDomain', 'consoleClient', 'signInClient', 'localUpstreams']);

export const handler = serve(
  createAction({
    readConsole,
    ...(domain && clientId && { signIn: { domain, clientId } }),
    ...(signInClient && { offersSignIn: true }),
    ...(localUpstreams && { localUpstreams: splitList(localUpstreams) }),
  }),
);
