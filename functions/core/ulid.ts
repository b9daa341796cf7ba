import { randomInt } from 'node:crypto';
import { decodeTime, encodeTime, isValid, monotonicFactory } from 'ulid';

/** Node fetches random numbers by the thousand; the library by itself asks the system sixteen times for each ULID. */
const next = monotonicFactory(() => randomInt(2 ** 32) / 2 ** 32);

/** A new revision: a ULID, so that revisions sort by the time they were written. */
export const newUlid = (): string => next();

/** When a revision was made, in milliseconds since the epoch. */
export const ulidTimeMs = (rev: string): number => decodeTime(rev);

/** The lowest revision of a moment, to compare revisions with. */
export const minUlidAt = (timeMs: number): string => encodeTime(timeMs, 10);

/** Whether a text has the form of a revision, as every service_id does. */
export const isUlid = (text: string): boolean => text.length === 26 && isValid(text);
