import { randomBytes } from 'node:crypto';
import QuickLRU from 'quick-lru';
import type { CredentialInput, StoredCredential } from '../../../schemas/credential.ts';
import { unavailable } from '../api-error.ts';
import { readEnvironment } from '../environment.ts';
import { openSecretsManager, type Vault } from './vault.ts';

/** What a call carries, by which its upstream recognises this gate. */
export interface CredentialValues {
  headers: Record<string, string>;
  query: Record<string, string>;
  /** base64url of the 32 bytes of an HMAC-SHA-256 key */
  signing_key: string;
}

/** How a service's upstream recognises calls from this gate. */
export interface Credential extends CredentialValues {
  /** where it may be sent */
  origins: string[];
  /** what the upstream is about to take instead */
  next?: CredentialValues;
}

export interface Credentials {
  /**
   * The credential that a service's record speaks of: exactly the version that it names, however long ago another one was read.
   * @throws ApiError SERVICE_UNAVAILABLE if it cannot be read, also if it is not there: a call must not go out without it
   */
  read(serviceId: string, stored: Pick<StoredCredential, 'version'>): Promise<Credential>;
  /** Keeps another version of a service's credential, which holds once the record names it. The one before it stays readable. */
  add(serviceId: string, credential: Credential): Promise<{ version: string }>;
  /** Removes every version. */
  remove(serviceId: string): Promise<void>;
}

/** How long a credential is kept in memory, in milliseconds. */
const freshMs = 60_000;

export function openCredentials(vault: Vault): Credentials {
  const cache = new QuickLRU<string, Credential>({ maxSize: 1_000, maxAge: freshMs });
  return {
    async read(serviceId, { version }) {
      const id = `${serviceId} ${version}`;
      const known = cache.get(id);
      if (known !== undefined) return known;
      const secret = await vault.read(serviceId, version);
      if (secret === undefined) throw unavailable('The credential of the service is missing. Set it again, or remove it.');
      const credential: Credential = JSON.parse(secret);
      cache.set(id, credential);
      return credential;
    },
    add: async (serviceId, credential) => ({ version: await vault.write(serviceId, JSON.stringify(credential)) }),
    remove: (serviceId) => vault.remove(serviceId),
  };
}

/**
 * The credential that an admin gives: with a new signing key unless they name one.
 * @param origins - where it may be sent
 */
export function makeCredential({ header_name, header_value, next, ...input }: CredentialInput, origins: string[]): Credential {
  const { signing_key = randomBytes(32).toString('base64url'), query = {} } = input;
  const single = header_name !== undefined && header_value !== undefined ? { [header_name]: header_value } : {};
  return {
    headers: input.headers ?? single,
    query,
    signing_key,
    origins,
    ...(next && { next: { headers: next.headers ?? {}, query: next.query ?? {}, signing_key: next.signing_key ?? signing_key } }),
  };
}

const namesOf = ({ headers, query }: CredentialValues) => ({ headers: Object.keys(headers), query: Object.keys(query) });

/** What may be known of a credential: the names of its values. */
export const describeCredential = (credential: Credential) => ({
  ...namesOf(credential),
  ...(credential.next && { next: namesOf(credential.next) }),
});

export const credentialsFromEnvironment = (): Credentials =>
  openCredentials(openSecretsManager(readEnvironment(['credentialPrefix']).credentialPrefix));
