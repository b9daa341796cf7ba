import { revalidated } from './core/http/response.ts';
import { type Action, serve } from './core/http/serve.ts';
import { type SigningKeys, signingKeysFromEnvironment } from './core/pat/signing-keys.ts';

/**
 * `GET /.well-known/jwks.json`: the public keys that verify PATs. A key is published for at least one deployment before it signs, so
 * caching for five minutes is safe.
 */
export const createAction =
  ({ signingKeys }: { signingKeys: Pick<SigningKeys, 'jwks'> }): Action =>
  async () =>
    revalidated(await signingKeys.jwks(), undefined, { 'Cache-Control': 'public, max-age=300' });

export const handler = serve(createAction({ signingKeys: signingKeysFromEnvironment() }));
