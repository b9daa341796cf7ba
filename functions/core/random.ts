import { randomBytes } from 'node:crypto';

/** Enough for dozens of calls: asking the system for random bytes costs more than using them. */
const storedBytes = 4_096;

let stored: Buffer = Buffer.alloc(0);

/** Cryptographically strong random bytes from a store that is filled in advance. @param size - at most 4,096 */
export function storedRandomBytes(size: number): Buffer {
  if (stored.length < size) stored = randomBytes(storedBytes);
  const taken = stored.subarray(0, size);
  stored = stored.subarray(size);
  return taken;
}
