import { randomInt } from 'node:crypto';
import { isValid, monotonicFactory } from 'ulid';

/** Node fetches random numbers by the thousand; the library by itself asks the system sixteen times for each ULID. */
const next = monotonicFactory(() => randomInt(2 ** 32) / 2 ** 32);

/** A new revision: a ULID, so that revisions sort by the time they were written. */
export const newUlid = (): string => next();

/** Whether a text has the form of a revision, as every service_id does. */
export const isUlid = (text: string): boolean => text.length === 26 && isValid(text);
