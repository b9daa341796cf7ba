import { entityTag } from '../core/http/response.ts';
import { type Action, serve } from '../core/http/serve.ts';
import { readEnvironment } from '../core/runtime/environment.ts';
import { apiCatalog, type GateAddress, llmsText } from './self-description.ts';

/** `GET /.well-known/api-catalog`: links for agents (RFC 9727); `/llms.txt` is the same for models. */
export const createAction =
  (deps: Omit<GateAddress, 'baseUrl'>): Action =>
  async ({ path, baseUrl }) => {
    const isForModels = path.startsWith('/llms.txt');
    const address = { ...deps, baseUrl };
    const text = isForModels ? llmsText(address) : JSON.stringify(apiCatalog(address));
    const type = isForModels ? 'text/plain; charset=utf-8' : 'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"';
    return { status: 200, text, headers: { 'Content-Type': type, ETag: entityTag(text), 'Cache-Control': 'no-cache' } };
  };

const { protocol, signInClient } = readEnvironment(['protocol'], ['signInClient']);

export const handler = serve(createAction({ protocol, isSignInOffered: signInClient !== undefined }));
