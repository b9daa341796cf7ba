import { randomBytes } from 'node:crypto';
import QuickLRU from 'quick-lru';
import type { CredentialInput } from '../../../schemas/credential.ts';
import { unavailable } from '../api-error.ts';
import { readEnvironment } from '../environment.ts';
import { openSecretsManager, type Vault } from './vault.ts';

/** How a service's upstream recognises calls from this gate. */
export interface Credential extends CredentialInput {
  /** base64url of the 32 bytes of an HMAC-SHA-256 key */
  signing_key: string;
}

export interface Credentials {
  /**
   * The credential of a service that has one, as its record says.
   * @throws ApiError SERVICE_UNAVAILABLE if it cannot be read, also if it is not there (yet): a call must not go out without it
   */
  read(serviceId: string): Promise<Credential>;
  /** Makes the next `read` ask again, for when an upstream does not accept the credential. */
  forget(serviceId: string): void;
  /** Sets a service's credential, with a new signing key. */
  replace(serviceId: string, input: CredentialInput): Promise<Credential>;
  remove(serviceId: string): Promise<void>;
}

/** How long a credential is used without asking whether it has changed, in milliseconds. */
const freshMs = 60_000;

export function openCredentials(vault: Vault): Credentials {
  const cache = new QuickLRU<string, Credential>({ maxSize: 1_000, maxAge: freshMs });
  return {
    async read(serviceId) {
      const known = cache.get(serviceId);
      if (known !== undefined) return known;
      const secret = await vault.read(serviceId);
      if (secret === undefined) throw unavailable('The credential of the service is missing. Set it again, or remove it.');
      const credential: Credential = JSON.parse(secret);
      cache.set(serviceId, credential);
      return credential;
    },
    forget: (serviceId) => void cache.delete(serviceId),
    async replace(serviceId, { header_name, header_value }) {
      const credential = { header_name, header_value, signing_key: randomBytes(32).toString('base64url') };
      await vault.write(serviceId, JSON.stringify(credential));
      cache.delete(serviceId);
      return credential;
    },
    async remove(serviceId) {
      await vault.remove(serviceId);
      cache.delete(serviceId);
    },
  };
}

export const credentialsFromEnvironment = (): Credentials =>
  openCredentials(openSecretsManager(readEnvironment(['credentialPrefix']).credentialPrefix));
