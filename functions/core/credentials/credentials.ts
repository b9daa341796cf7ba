import QuickLRU from 'quick-lru';
import type { StoredCredential } from '../../../schemas/credential.ts';
import type { CredentialInput } from '../../../schemas/credential-input.ts';
import type { TokenClient } from '../../../schemas/features.ts';
import { unavailable } from '../runtime/api-error.ts';
import { readEnvironment } from '../runtime/environment.ts';
import { openSecretsManager, type Vault } from './vault.ts';

/** The values that authenticate the gate to an upstream. */
export interface CredentialValues {
  headers: Record<string, string>;
  query: Record<string, string>;
}

export interface Credential extends CredentialValues {
  /** origins that may receive it */
  origins: string[];
  /** the values that the upstream will accept next */
  next?: CredentialValues;
  oauth?: TokenClient;
  /** identifies the consent of the person from whom it was obtained */
  consent?: string;
  /** Obtains `next` after a 401, unless that cannot help. Never fails. */
  renew?(): Promise<CredentialValues | undefined>;
}

/** How long a credential is cached, in milliseconds. */
const freshMs = 60_000;

export function openCredentials(vault: Vault) {
  const cache = new QuickLRU<string, Credential>({ maxSize: 1_000, maxAge: freshMs });
  return {
    /**
     * The version of a service's credential that its record names, even if another version is cached.
     * @throws ApiError SERVICE_UNAVAILABLE if it cannot be read or is missing: no call may be sent without it
     */
    async read(serviceId: string, { version }: Pick<StoredCredential, 'version'>): Promise<Credential> {
      const id = `${serviceId} ${version}`;
      const known = cache.get(id);
      if (known !== undefined) return known;
      const secret = await vault.read(serviceId, version);
      if (secret === undefined) throw unavailable('The credential of the service is missing. Set it again, or remove it.');
      const credential: Credential = JSON.parse(secret);
      cache.set(id, credential);
      return credential;
    },
    /** Stores a new version, which takes effect once the record names it. The previous version stays readable. */
    add: async (serviceId: string, credential: Credential) => ({ version: await vault.write(serviceId, JSON.stringify(credential)) }),
    remove: vault.remove,
  };
}

export type Credentials = ReturnType<typeof openCredentials>;

/**
 * Converts an admin's input to a credential.
 * @param origins - that may receive it
 */
export function makeCredential({ header_name, header_value, next, oauth, ...input }: CredentialInput, origins: string[]): Credential {
  const single = header_name !== undefined && header_value !== undefined ? { [header_name]: header_value } : {};
  return {
    headers: input.headers ?? single,
    query: input.query ?? {},
    origins,
    ...(next && { next: { headers: next.headers ?? {}, query: next.query ?? {} } }),
    ...(oauth && { oauth }),
  };
}

const namesOf = ({ headers, query }: CredentialValues) => ({ headers: Object.keys(headers), query: Object.keys(query) });

/** The names of a credential's values, without the values. */
export const describeCredential = ({ headers, query, origins, next, oauth }: Credential) => ({
  ...namesOf({ headers: { ...headers, ...(oauth && { Authorization: '' }) }, query }),
  origins,
  ...(next && { next: namesOf(next) }),
  ...(oauth && { oauth: { ...oauth, client_secret: undefined } }),
});

export const credentialsFromEnvironment = (): Credentials =>
  openCredentials(openSecretsManager(readEnvironment(['credentialPrefix']).credentialPrefix));
