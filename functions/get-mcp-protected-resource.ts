import { type Action, serve } from './core/http/serve.ts';
import { describeResource } from './core/sign-in/metadata.ts';

/** `GET /.well-known/oauth-protected-resource/mcp`: how to get a token for `/mcp` (RFC 9728 section 3.1). */
export const createAction =
  (): Action =>
  async ({ baseUrl }) =>
    describeResource(`${baseUrl}/mcp`, baseUrl);

export const handler = serve(createAction());
