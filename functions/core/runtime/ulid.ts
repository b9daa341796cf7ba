import { randomInt } from 'node:crypto';
import { decodeTime, isValid, monotonicFactory } from 'ulid';

/** `randomInt` buffers random numbers; the library's own source makes sixteen system calls per ULID. */
const next = monotonicFactory(() => randomInt(2 ** 32) / 2 ** 32);

export const newUlid = (): string => next();

export const isUlid = (text: string): boolean => text.length === 26 && isValid(text);

/** When a ULID was created, in milliseconds since the epoch. */
export const timeOfUlid = (ulid: string): number => decodeTime(ulid);
