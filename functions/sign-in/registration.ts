import { registrationRequest } from '../../schemas/sign-in/sign-in.ts';
import { OAuthError } from './oauth-error.ts';
import { isLoopback, isRedirectUri } from './redirect-uri.ts';

export interface Registration {
  name: string;
  redirectUris: readonly string[];
}

const prefix = 'local.';

/** Maximum length in characters: the id is part of addresses and PATs. */
const maxIdLength = 800;

/** The id contains the whole registration, so that nothing has to be stored for unknown programs (RFC 7591 appendix A.5.2). */
const encode = ({ name, redirectUris }: Registration): string =>
  prefix + Buffer.from(JSON.stringify([name, ...redirectUris])).toString('base64url');

const isOnMachine = (uri: string): boolean => isRedirectUri(uri) && isLoopback(uri);

/**
 * Registers a program on the machine of a person (RFC 7591). Others need a client metadata document.
 * @throws OAuthError invalid_redirect_uri or invalid_client_metadata
 */
export function register(request: unknown): { clientId: string; registration: Registration } {
  const { success, data } = registrationRequest.safeParse(request);
  if (!success) {
    throw new OAuthError(
      'invalid_client_metadata',
      'The registration must have 1 to 5 redirect_uris of at most 200 characters each. If given, client_name must be a string, grant_types must include authorization_code, and response_types must include code.',
    );
  }
  const registration = { name: data.client_name, redirectUris: data.redirect_uris };
  if (!registration.redirectUris.every(isOnMachine)) {
    throw new OAuthError(
      'invalid_redirect_uri',
      "Only programs on the person's own computer can register here: each redirect URI must be an http URL on 127.0.0.1, [::1] or localhost. Other programs need a client metadata document; its https URL is their client_id.",
    );
  }
  const clientId = encode(registration);
  if (clientId.length > maxIdLength)
    throw new OAuthError('invalid_client_metadata', 'The registration is too long. Register fewer or shorter redirect URIs.');
  return { clientId, registration };
}

export function readRegistration(clientId: string): Registration | undefined {
  if (!clientId.startsWith(prefix) || clientId.length > maxIdLength) return undefined;
  try {
    const [client_name, ...redirect_uris] = JSON.parse(Buffer.from(clientId.slice(prefix.length), 'base64url').toString());
    const registered = register({ client_name, redirect_uris });
    // each registration has only one valid id
    return registered.clientId === clientId ? registered.registration : undefined;
  } catch {
    // not JSON, or nothing that can be registered
    return undefined;
  }
}
