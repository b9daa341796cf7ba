import type { ApiDocument } from '../schemas/openapi.ts';
import { toServiceDescription } from '../schemas/service-description.ts';
import { readApiDocument } from './core/documents/files.ts';
import { listOwnIntents } from './core/documents/own-intents.ts';
import { readEnvironment } from './core/environment.ts';
import { revalidated } from './core/http/response.ts';
import { type Action, serve } from './core/http/serve.ts';
import { publicKeyPem, type SigningKeys, signingKeysFromEnvironment } from './core/pat/signing-keys.ts';

export interface Deps {
  readDocument(): ApiDocument;
  signingKeys: Pick<SigningKeys, 'newest'>;
  protocol: string;
}

/**
 * `GET /agents.json`: this gate in the form that it describes services in (specification section 2.6). Its intents are the operations that
 * agents use, starting with the search; the intents of the services behind the gate are found by that search.
 */
export const createAction =
  ({ readDocument, signingKeys, protocol }: Deps): Action =>
  async ({ baseUrl }) => {
    const document = readDocument();
    const { title, summary } = document.info;
    const self = { service_name: title, description: summary, service_url: baseUrl };
    const publicKey = await publicKeyPem(signingKeys);
    return revalidated(toServiceDescription(self, listOwnIntents(document, baseUrl), { protocol, baseUrl, publicKey }));
  };

export const handler = serve(
  createAction({
    readDocument: readApiDocument,
    signingKeys: signingKeysFromEnvironment(),
    protocol: readEnvironment(['protocol']).protocol,
  }),
);
