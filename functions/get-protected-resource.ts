import { type Action, serve } from './core/http/serve.ts';
import { describeResource } from './core/sign-in/metadata.ts';

/** `GET /.well-known/oauth-protected-resource`: how to get a token for the whole gate (RFC 9728). */
export const createAction =
  (): Action =>
  async ({ baseUrl }) =>
    describeResource(baseUrl, baseUrl);

export const handler = serve(createAction());
