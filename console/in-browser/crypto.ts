import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex } from '@noble/hashes/utils.js';

/** The part of `node:crypto` that the gate's code and the importer use: synchronous digests of strings. (Web Crypto is asynchronous.) */
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
