import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { type Kms, openKms, reachKeys } from '../core/aws/kms.ts';
import { keepSuccess } from '../core/runtime/keep-success.ts';
import type { Key } from '../core/table/keys.ts';
import { readConnectionEnvironment } from './environment.ts';

/** Tokens in plain text, which exist in memory only. */
export interface Tokens {
  access: string;
  refresh?: string | undefined;
}

/** Tokens as they were issued (RFC 6749 section 5.1). */
export interface IssuedTokens extends Tokens {
  /** undefined if the issuer does not say */
  lifeSeconds: number | undefined;
  /** undefined if they are those that were requested */
  scopes: string[] | undefined;
}

const [ivBytes, tagBytes] = [12, 16];

/** What a sealed text is bound to: a text that is moved to another person or service cannot be opened. */
const bindingOf = ({ pk, sk }: Key): Buffer => Buffer.from(JSON.stringify([pk, sk]));

/**
 * Seals tokens with AES-256-GCM. Its key is derived from a KMS key once per instance, so that nothing is stored beside the sealed tokens, and only
 * functions that may use the KMS key can open them.
 * @param keyId - key id or ARN of a KMS key for HMAC-SHA-256
 */
export function openSealer(kms: Pick<Kms, 'generateMac'>, keyId: string, now: () => number = Date.now) {
  const readKey = keepSuccess(() => reachKeys('The key that seals tokens', () => kms.generateMac(keyId, 'intent-gate connections 1')), now);

  return {
    /** @throws ApiError SERVICE_UNAVAILABLE */
    async seal(record: Key, tokens: Tokens): Promise<string> {
      const iv = randomBytes(ivBytes);
      const cipher = createCipheriv('aes-256-gcm', await readKey(), iv).setAAD(bindingOf(record));
      const sealed = [cipher.update(JSON.stringify(tokens)), cipher.final()];
      return Buffer.concat([iv, ...sealed, cipher.getAuthTag()]).toString('base64');
    },

    /**
     * @returns undefined if the text was sealed for another record or with another key
     * @throws ApiError SERVICE_UNAVAILABLE
     */
    async open(record: Key, sealed: string): Promise<Tokens | undefined> {
      const [key, bytes] = [await readKey(), Buffer.from(sealed, 'base64')];
      const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, ivBytes), { authTagLength: tagBytes });
      decipher.setAAD(bindingOf(record)).setAuthTag(bytes.subarray(-tagBytes));
      try {
        return JSON.parse(Buffer.concat([decipher.update(bytes.subarray(ivBytes, -tagBytes)), decipher.final()]).toString());
      } catch {
        return undefined;
      }
    },
  };
}

export type Sealer = ReturnType<typeof openSealer>;

export const sealerFromEnvironment = (): Sealer => openSealer(openKms(), readConnectionEnvironment(['grantKey']).grantKey);
