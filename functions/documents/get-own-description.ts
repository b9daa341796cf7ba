import { thisGate, toServiceDescription } from '../../schemas/documents/service-description.ts';
import { descriptionQuery, paginate } from '../../schemas/pagination.ts';
import { type Look, privateHeaders } from '../core/execution/catalogue.ts';
import { sizeToRead, uidLinks } from '../core/http/links.ts';
import { revalidated } from '../core/http/response.ts';
import { type Action, serve } from '../core/http/serve.ts';
import { publicKeyPem, type SigningKeys, signingKeysFromEnvironment } from '../core/pat/signing-keys.ts';
import { readEnvironment } from '../core/runtime/environment.ts';
import { type SearchEngine, searchWith } from '../core/search/search-engine.ts';
import { engine, look } from '../search-intents.ts';
import { ownLinks } from './self-description.ts';

export interface Deps {
  engine: SearchEngine;
  signingKeys: Pick<SigningKeys, 'current'>;
  protocol: string;
  isSignInOffered: boolean;
  look?: Look | undefined;
}

/**
 * `GET /agents.json`: the gate's own service description (specification section 2.6), where agents of the protocol begin. It lists the intents
 * of all services, as a search without filters does: no drafts and no deprecated intents.
 */
export const createAction =
  ({ engine, signingKeys, protocol, isSignInOffered, look }: Deps): Action =>
  async (request) => {
    const { baseUrl } = request;
    const { page, page_size, after } = request.query(descriptionQuery);
    const query = { page, after, page_size: sizeToRead({ page_size, after }) };
    const viewer = await look?.(request);
    const [{ hits, total }, publicKey] = await Promise.all([
      viewer?.sight ? engine.search({ ...query, permitted: 'true' }, searchWith(viewer.sight)) : engine.search(query),
      publicKeyPem(signingKeys),
    ]);
    const self = { ...thisGate, service_url: baseUrl };
    const intents = hits.slice(0, page_size).map(({ intent }) => intent);
    const described = toServiceDescription(self, intents, { protocol, baseUrl, publicKey });
    const body = { ...described, ...ownLinks({ protocol, baseUrl, isSignInOffered }) };
    const uids = hits.map(({ intent }) => intent.intent_uid);
    const links = uidLinks(request, paginate(total, page, page_size), after, uids);
    return revalidated(body, undefined, { ...links, ...(viewer && privateHeaders) });
  };

const { protocol, signInClient } = readEnvironment(['protocol'], ['signInClient']);

export const handler = serve(
  createAction({ engine, signingKeys: signingKeysFromEnvironment(), protocol, isSignInOffered: signInClient !== undefined, look }),
);
