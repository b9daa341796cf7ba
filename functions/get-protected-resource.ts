import { revalidated } from './core/http/response.ts';
import { type Action, serve } from './core/http/serve.ts';
import { issuerOf, signInPath } from './core/sign-in/metadata.ts';

/** `GET /.well-known/oauth-protected-resource/mcp/sign-in`: how to get a token for `/mcp/sign-in` (RFC 9728 section 2). */
export const createAction =
  (): Action =>
  async ({ baseUrl }) =>
    revalidated({
      resource: `${baseUrl}${signInPath}`,
      resource_name: 'Intent Gate',
      authorization_servers: [issuerOf(baseUrl)],
      bearer_methods_supported: ['header'],
      resource_documentation: `${baseUrl}/docs`,
      resource_policy_uri: `${baseUrl}/docs#policy`,
    });

export const handler = serve(createAction());
