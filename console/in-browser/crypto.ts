import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';

/** The part of `node:crypto` that the gate's code and the importer use: synchronous digests. (Web Crypto is asynchronous.) */
export function createHash(_algorithm: 'sha256') {
  const hash = sha256.create();
  const chain = {
    update(part: string | Uint8Array) {
      hash.update(typeof part === 'string' ? utf8ToBytes(part) : part);
      return chain;
    },
    digest(encoding?: 'hex' | 'base64url'): string | Uint8Array {
      const bytes = hash.digest();
      if (!encoding) return bytes;
      if (encoding === 'hex') return bytesToHex(bytes);
      return btoa(String.fromCharCode(...bytes))
        .replaceAll('+', '-')
        .replaceAll('/', '_')
        .replaceAll('=', '');
    },
  };
  return chain;
}
