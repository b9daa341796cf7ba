import type { Deployment } from '../core/http/page.ts';
import { type Action, serve } from '../core/http/serve.ts';
import { isCatalogueHidden, readEnvironment, splitList } from '../core/runtime/environment.ts';
import { readConsole } from './files.ts';
import { fillConsole, scriptedPage, withoutSlash } from './pages.ts';

export interface Deps extends Omit<Deployment, 'publicUrl'> {
  readConsole(): string;
}

/** Content security policy: the page calls this gate and, for tokens, the user pool. Images in responses are shown as data URLs. */
const directivesFor = (signIn: Deployment['signIn']): string[] => [
  'img-src data:',
  `connect-src 'self'${signIn ? ` ${new URL(signIn.domain).origin}` : ''}`,
  "require-trusted-types-for 'script'",
];

/** `GET /console`: the catalogue and the console, one page for everybody, which reads data with its user's token. */
export const createAction =
  ({ readConsole, ...known }: Deps): Action =>
  async ({ baseUrl }) =>
    scriptedPage(fillConsole(readConsole(), { publicUrl: baseUrl, ...known }), directivesFor(known.signIn));

const {
  signInDomain: domain,
  consoleClient: clientId,
  signInClient,
  localUpstreams,
  version,
} = readEnvironment([], ['signInDomain', 'consoleClient', 'signInClient', 'localUpstreams', 'version']);

export const handler = serve(
  withoutSlash(
    createAction({
      readConsole,
      ...(domain && clientId && { signIn: { domain, clientId } }),
      ...(version && { version }),
      ...(signInClient && { offersSignIn: true }),
      ...(isCatalogueHidden() && { hidesIntents: true }),
      ...(localUpstreams && { localUpstreams: splitList(localUpstreams) }),
    }),
  ),
);
