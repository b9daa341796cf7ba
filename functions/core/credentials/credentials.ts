import { randomBytes } from 'node:crypto';
import QuickLRU from 'quick-lru';
import type { CredentialInput } from '../../../schemas/credential.ts';
import { readEnvironment } from '../environment.ts';
import { emptyVault, openSecretsManager, type Vault } from './vault.ts';

/** How a service's upstream recognises calls from this gate. */
export interface Credential extends CredentialInput {
  /** base64url of the 32 bytes of an HMAC-SHA-256 key */
  signing_key: string;
}

export interface Credentials {
  /**
   * Finds a service's credential; the absence of one is remembered too.
   * @throws ApiError SERVICE_UNAVAILABLE if the credential cannot be looked up
   */
  find(serviceId: string): Promise<Credential | undefined>;
  /** Makes the next `find` ask again, for when an upstream does not accept the credential. */
  forget(serviceId: string): void;
  /** Sets a service's credential, with a new signing key. */
  replace(serviceId: string, input: CredentialInput): Promise<Credential>;
  remove(serviceId: string): Promise<void>;
}

/** How long a credential is used without asking whether it has changed, in milliseconds. */
const freshMs = 60_000;

export function openCredentials(vault: Vault): Credentials {
  const cache = new QuickLRU<string, { credential: Credential | undefined }>({ maxSize: 1_000, maxAge: freshMs });
  return {
    async find(serviceId) {
      const known = cache.get(serviceId);
      if (known !== undefined) return known.credential;
      const secret = await vault.read(serviceId);
      const credential: Credential | undefined = secret === undefined ? undefined : JSON.parse(secret);
      cache.set(serviceId, { credential });
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

export function credentialsFromEnvironment(): Credentials {
  const { credentialPrefix } = readEnvironment([], ['credentialPrefix']);
  return openCredentials(credentialPrefix === undefined ? emptyVault : openSecretsManager(credentialPrefix));
}
