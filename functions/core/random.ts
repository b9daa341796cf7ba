import { randomBytes } from 'node:crypto';

/** Enough for dozens of calls, because every request of random bytes from the system costs more than all of their uses. */
const storedBytes = 4_096;

let stored: Buffer = Buffer.alloc(0);

/** Cryptographically strong random bytes, of which a number is fetched in advance. @param size - at most 4,096 */
export function storedRandomBytes(size: number): Buffer {
  if (stored.length < size) stored = randomBytes(storedBytes);
  const taken = stored.subarray(0, size);
  stored = stored.subarray(size);
  return taken;
}
