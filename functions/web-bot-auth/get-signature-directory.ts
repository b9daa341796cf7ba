import { ok } from '../core/http/response.ts';
import { type Action, serve } from '../core/http/serve.ts';
import { type CallKeys, callKeysFromEnvironment } from './call-keys.ts';
import { directoryMediaType, signDirectory } from './signature.ts';

/**
 * `GET /.well-known/http-message-signatures-directory`: the public keys that verify this gate's calls. The response is signed with each of them.
 * A key is published for thirty days before it signs, so caching for five minutes is safe. Without an entity tag, there is no 304, which would leave a
 * cache with a signature that has expired.
 */
export const createAction =
  ({ callKeys }: { callKeys: Pick<CallKeys, 'published'> }): Action =>
  async (request) => {
    const keys = await callKeys.published();
    const listed = keys.map(({ keyid: kid, x }) => ({ kty: 'OKP', crv: 'Ed25519', x, kid, alg: 'EdDSA', use: 'sig' }));
    const signature = signDirectory(new URL(request.baseUrl).host, keys);
    return ok({ keys: listed }, { 'Content-Type': directoryMediaType, 'Cache-Control': 'public, max-age=300', ...signature });
  };

export const handler = serve(createAction({ callKeys: callKeysFromEnvironment() }));
