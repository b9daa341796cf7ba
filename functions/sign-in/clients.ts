import QuickLRU from 'quick-lru';
import * as z from 'zod';
import { including, maxClientIdLength } from '../../schemas/sign-in/sign-in.ts';
import { name } from '../../schemas/text.ts';
import { type BoundReads, openBoundReads } from '../core/pat/document-reads.ts';
import { egressRulesFromEnvironment } from '../core/relay/egress.ts';
import { openDocumentReader, type ReadDocument } from '../core/relay/fetch-document.ts';
import { readEnvironment, splitList } from '../core/runtime/environment.ts';
import type { Table } from '../core/table/table.ts';
import { OAuthError } from './oauth-error.ts';
import { isRedirectUri } from './redirect-uri.ts';
import { readRegistration } from './registration.ts';

/** A program that gets PATs for people. All clients are public (without a secret). */
export interface Client {
  clientId: string;
  name: string;
  /** the host that vouches for it; absent for registered clients */
  host?: string;
  redirectUris: readonly string[];
}

/** The shared client id, for programs that publish no client document. */
const sharedClientId = 'intent-gate-public';

const documentLimits = { maxBytes: 10 * 1_024, timeoutMs: 2_000 };

const cacheMs = 5 * 60 * 1_000;
const maxCached = 200;

/** RFC 7591 section 2; other members are ignored. The client must support having no secret (`none`). */
const documentSchema = z
  .object({
    client_id: z.string(),
    client_name: name(100).nullish(),
    redirect_uris: z.array(z.string().max(2_048)).min(1).max(50),
    token_endpoint_auth_method: z.string().nullish(),
    token_endpoint_auth_methods_supported: z.array(z.string()).nullish(),
    grant_types: including('authorization_code'),
    response_types: including('code'),
  })
  .refine(({ token_endpoint_auth_method: usual, token_endpoint_auth_methods_supported: supported }) =>
    [...(supported ?? []), ...(usual ? [usual] : supported ? [] : ['none'])].includes('none'),
  );

const refuse = (message: string) => new OAuthError('invalid_client', message);

const wrongId = () =>
  refuse(
    `The client_id must be ${sharedClientId}, one that /oauth/register returned, or the https URL of a client metadata document, normalized and with a path.`,
  );

/** Requires the canonical spelling of an address. The egress rules allow http only on loopback, in the local stack. */
function readClientId(clientId: string): URL {
  const url = URL.parse(clientId);
  const isCanonical = url !== null && url.href === clientId && clientId.length <= maxClientIdLength;
  const isAddress = isCanonical && /^https?:$/.test(url.protocol) && url.pathname !== '/' && url.username === '' && url.password === '';
  if (!isAddress || /[#"'\\]/.test(clientId)) throw wrongId();
  return url;
}

/**
 * @param redirectUris - of the shared client
 * @param within - limits reads by all instances
 */
export function openClients(
  redirectUris: readonly string[],
  readDocument: ReadDocument,
  now: () => number = Date.now,
  within: BoundReads = (read) => read(),
) {
  const sharedClient: Client = { clientId: sharedClientId, name: 'an unidentified program', redirectUris };
  const cache = new QuickLRU<string, { client: Client; untilMs: number }>({ maxSize: maxCached });

  async function read(clientId: string, baseUrl: string): Promise<Client> {
    const url = readClientId(clientId);
    const document = await readDocument(url, baseUrl).catch(() => {
      throw refuse(
        'The client metadata document cannot be read. It must be JSON of at most 10 KiB, served from a public https URL without a redirect.',
      );
    });
    const result = documentSchema.safeParse(document);
    if (!result.success) {
      throw refuse(
        'The client metadata document must have client_id and redirect_uris. If given, client_name must have at most 100 characters, grant_types must include authorization_code, and response_types must include code. The client must work without a secret: token_endpoint_auth_method must be none, or token_endpoint_auth_methods_supported must include none.',
      );
    }
    const { client_id, client_name, redirect_uris } = result.data;
    if (client_id !== clientId) throw refuse('The client_id in the client metadata document must be the URL of that document.');
    return { clientId, name: client_name ?? url.host, host: url.host, redirectUris: redirect_uris.filter(isRedirectUri) };
  }

  /**
   * A client without a document: the shared one, or a registered one.
   * @throws OAuthError invalid_client if no document can have this id
   */
  const findRegistered = (clientId: string): Client | undefined => {
    if (clientId === sharedClient.clientId) return sharedClient;
    const found = readRegistration(clientId);
    if (found)
      return { clientId, name: `a program on your machine that calls itself \u201c${found.name}\u201d`, redirectUris: found.redirectUris };
    readClientId(clientId);
    return undefined;
  };

  return {
    findRegistered,
    /**
     * A registered client, or one that a document describes (OAuth Client ID Metadata Document).
     * @param reading - limits concurrent reads of documents
     * @throws OAuthError invalid_client
     */
    find: async (clientId: string, baseUrl: string, reading = (work: () => Promise<Client>) => work()): Promise<Client> => {
      const local = findRegistered(clientId);
      if (local) return local;
      const known = cache.get(clientId);
      if (known && known.untilMs > now()) return known.client;
      const client = await reading(() => within(() => read(clientId, baseUrl)));
      cache.set(clientId, { client, untilMs: now() + cacheMs });
      return client;
    },
  };
}

export type Clients = ReturnType<typeof openClients>;

export function clientsFromEnvironment(table: Table): Clients {
  const { signInRedirects } = readEnvironment([], ['signInRedirects']);
  const readDocument = openDocumentReader({ rules: egressRulesFromEnvironment(), ...documentLimits });
  return openClients(splitList(signInRedirects), readDocument, Date.now, openBoundReads(table));
}
