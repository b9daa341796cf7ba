import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex } from '@noble/hashes/utils.js';

/** The part of `node:crypto` that the gate's code and the importer use: digests of texts, at once. (Web Crypto answers later.) */
export function createHash(_algorithm: 'sha256') {
  const hash = sha256.create();
  const chain = {
    update(text: string) {
      hash.update(new TextEncoder().encode(text));
      return chain;
    },
    digest(encoding: 'hex' | 'base64url'): string {
      const bytes = hash.digest();
      if (encoding === 'hex') return bytesToHex(bytes);
      return btoa(String.fromCharCode(...bytes))
        .replaceAll('+', '-')
        .replaceAll('/', '_')
        .replaceAll('=', '');
    },
  };
  return chain;
}

/** A random integer of at least 0 and less than `maximum`, which is at most 2^32. */
export const randomInt = (maximum: number): number => (crypto.getRandomValues(new Uint32Array(1))[0] ?? 0) % maximum;
